"""The command line: one file per command, and the options that they share."""
