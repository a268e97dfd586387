"""Nothing in; the tables of docs/noise.md out: the noise of every mechanism, for surveys of different kinds.

`python docs/make_noise.py` writes them between the marks in the page. Nothing is simulated: these are the laws that
releases are drawn from.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from quietrank.errors import QuietrankError
from quietrank.mechanisms.choose import candidates, choose, expected_noise
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method

PAGE = Path(__file__).parent / "noise.md"
DELTA = 1e-6
SURVEYS = {
    "all pairs, 4 items": (4, 6, True),
    "all pairs, 6 items": (6, 15, True),
    "all pairs, 10 items": (10, 45, True),
    "15 of 190 pairs, 20 items": (20, 15, True),
    "15 votes on any pairs, 20 items": (20, 15, False),
    "50 votes on any pairs, 20 items": (20, 50, False),
    "5 votes on any pairs, 100 items": (100, 5, False),
    "one vote each, 20 items": (20, 1, False),
}
"""items, the most votes of one person, and whether each pair is asked once"""
COUNTS = [name for name, mechanism in MECHANISMS.items() if mechanism.automatic]


def page_with_tables(page: str) -> str:
    """The page with its tables written anew."""
    for design in ("uniform", "private"):
        begin, end = f"<!-- {design} -->", f"<!-- end of {design} -->"
        page = re.sub(f"{begin}.*?{end}", f"{begin}\n{_table(design)}\n{end}", page, flags=re.DOTALL)
    return page


def _table(design: str) -> str:
    heads = ["survey", *COUNTS, "auto takes"]
    rows = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    rows += [_row(name, design, *survey) for name, survey in SURVEYS.items()]
    return "\n".join(rows)


def _row(name: str, design: str, items: int, votes: int, once: bool) -> str:
    noises = {}
    for mechanism in COUNTS:
        needs_delta = mechanism == "gaussian"
        privacy = Privacy(1, "person", DELTA if needs_delta else 0.0, "replace", design, votes, once)  # type: ignore[arg-type]
        promise = Promise(privacy, declare([f"item {k}" for k in range(items)]))
        if any(each.name == mechanism for each in candidates(promise, Method.AUTO)):
            try:
                noises[mechanism] = expected_noise(choose(promise, Method.AUTO, MECHANISMS[mechanism]).noise)
            except QuietrankError:
                continue
    pure = {one: noise for one, noise in noises.items() if one != "gaussian"}
    best, with_delta = min(pure, key=pure.__getitem__), min(noises, key=noises.__getitem__)
    taken = best if best == with_delta else f"{best}; with δ {with_delta}"
    cells = [f"{noises[one]:.3g}" if one in noises and math.isfinite(noises[one]) else "–" for one in COUNTS]
    return f"| {name} | " + " | ".join(cells) + f" | {taken} |"


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
