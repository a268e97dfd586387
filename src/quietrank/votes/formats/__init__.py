"""Files of one format in, what the engine has to read out: one file per format."""
