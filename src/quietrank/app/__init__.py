"""quietrank in a browser: the same steps as on the command line, as pages that this machine serves to its user."""
