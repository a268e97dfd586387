"""What accuracy to expect of a survey that has not been run: numbers of people and items in, a `Plan` out; no votes."""
