"""Releases made by hand for the tests of what is rendered: no votes, no noise, every figure known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quietrank.mechanisms.scatter import Around, Scatter
from quietrank.promise.privacy import Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Certainty, Release, Row
from quietrank.publish.tabular import NoiseRecord

CITIES = ("London", "Paris", "Milano", "Oslo")

NASTY = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onfocus='x",
    "]]> --> </style> </title>",
    "</script><img src=x onerror=alert(1)>",
    "\u202eright\u200fto left\u2066",
    "\x1b[2Jgone\nnext",
    "a | b `c` *d* _e_ [f](g) $h$ \\",
    "&lt;b&gt; & ${x} $policy",
)
"""names that try to get out of where they stand"""

LAPLACE = NoiseRecord(
    "laplace", (("statistic", "net-wins"), ("sensitivity", 2.0), ("norm", "L1"), ("scale", 2.0), ("noise_sd", 2.8))
)
PERSON = Privacy(1, "person", one_per_pair=True, design="uniform")


def release(names: Sequence[str] = CITIES, **more: Any) -> Release:
    """The first is clear; the second and the third cannot be told apart; the others are."""
    last = len(names)
    rows = tuple(
        Row(
            rank, name, 1.5 - rank, rank_low=2 if rank == 3 else rank, rank_high=3 if rank == 2 else rank,
            score_low=1.2 - rank, score_high=1.8 - rank, tier=max(1, rank - (rank > 2)),
            probability_first=1.0 if rank == 1 else 0.0, probability_top=(last - rank) / last,
        )
        for rank, name in enumerate(names, 1)
    )  # fmt: skip
    values: dict[str, Any] = {
        "certainty": Certainty(0.9, False, 3, 0.05, 1.2),
        "scatter": Scatter(Around.VOTES, 10.0, 1.0, 7.5, 0.05),
        "assumptions": ("It is assumed that <nobody> lied.",),
        "ledger_entry": "7-abc",
    }
    return Release(rows, PERSON, LAPLACE, "bradley-terry", **values | more)


def unsure(names: Sequence[str] = CITIES, **more: Any) -> Release:
    """Nothing is known about its certainty."""
    one = release(names, certainty=None, scatter=None, **more)
    rows = tuple(Row(row.rank, row.item, row.score) for row in one.ranking)
    return replace(one, ranking=rows, method="net-wins")


def grouped(groups: Sequence[str] = ("de", "fr"), names: Sequence[str] = CITIES, by: str = "land") -> GroupedRelease:
    return GroupedRelease(by, tuple((group, release(names)) for group in groups))
