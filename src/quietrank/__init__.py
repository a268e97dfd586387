"""Private rankings from pairwise votes."""

__version__ = "0.1.0"
