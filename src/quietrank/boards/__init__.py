"""Boards: a ranking that is published every week or every night, for one promise that is paid once."""
