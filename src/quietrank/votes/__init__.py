"""CONFIDENTIAL: files, tables and frames of votes in, exact tallies out; the only package that sees rows."""
