"""Tables as people have them in, one row per vote out: one file per shape."""
