"""A release's version of quietrank in, what a paper cites out: the fields of CITATION.cff, which a test compares."""

from __future__ import annotations

TITLE = "quietrank: private rankings from pairwise votes"
AUTHORS = "The quietrank authors"
METHOD_TITLE = "Optimal Differentially Private Ranking from Pairwise Comparisons"
METHOD_AUTHORS = ("Cai", "Chakraborty", "Wang")
METHOD_YEAR = 2025
METHOD_NOTES = "arXiv 2507.09388"


def in_words(made_with: str) -> str:
    """The software, as it stands in a list of references."""
    return f"{AUTHORS}: {TITLE}. Software{_version(made_with, ', version ')}."


def bibtex(made_with: str) -> str:
    """The software and the paper whose method it implements, as entries for BibTeX."""
    version = _version(made_with, "\n  version = {", "},")
    return (
        f"@software{{quietrank,\n  author = {{{{{AUTHORS}}}}},\n  title = {{{TITLE}}},{version}\n}}\n"
        f"@misc{{private-ranking,\n  author = {{{' and '.join(METHOD_AUTHORS)}}},\n  title = {{{METHOD_TITLE}}},\n"
        f"  year = {{{METHOD_YEAR}}},\n  note = {{{METHOD_NOTES}}},\n}}"
    )


def _version(made_with: str, before: str, after: str = "") -> str:
    """The version in words such as "quietrank 0.1.0"; nothing for other words."""
    name, _, version = made_with.partition(" ")
    return f"{before}{version}{after}" if name == "quietrank" and version else ""
