"""Nothing in, the bundled survey and its promise out: 303 students compare six universities (data/README.md)."""

from __future__ import annotations

from importlib.resources import as_file, files

from quietrank.promise.privacy import Privacy
from quietrank.votes.read import Votes, read_votes

UNIVERSITIES = ("Barcelona", "London", "Milano", "Paris", "St.Gallen", "Stockholm")


def demo_votes() -> Votes:
    """The survey's votes; which six universities were compared is no secret."""
    with as_file(files("quietrank") / "data" / "cems.csv") as path:
        return read_votes(path, items=UNIVERSITIES)


def demo_privacy(epsilon: float) -> Privacy:
    """Every student was asked all 15 pairs, each once."""
    return Privacy(epsilon, unit="person", one_per_pair=True, design="uniform")
