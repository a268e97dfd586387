"""Results in, what people look at out: tables for the terminal, and the look of figures."""
