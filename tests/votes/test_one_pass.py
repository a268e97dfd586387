"""One pass: what Spark runs gives what bounding and counting give, tried in our own engine, for every bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from quietrank.promise.privacy import GroupOf, Privacy, Unit
from quietrank.promise.promise import Bounded, Clip, RangeClip
from quietrank.votes import one_pass
from quietrank.votes.engines.duckdb import DuckDB
from quietrank.votes.tally import count_votes
from tests.helpers import Vote, from_arrow, vote_lists

NORMS: dict[str, tuple[tuple[str, Fraction], ...]] = {
    "net wins": (("net_wins", Fraction(1)),),
    "wins and losses": (("wins", Fraction(1)), ("losses", Fraction(1))),
    "all": (("net_wins", Fraction(1)), ("exposure", Fraction(1, 4)), ("ties", Fraction(1)), ("total", Fraction(1, 16))),
}
EACH, ONE = Privacy(1, "person", max_per_person=3), Privacy(1, "person", max_per_person=2, one_per_pair=True)
BOUNDS = {
    "each vote": Bounded.by(Privacy(1, "comparison"), None),
    "total": Bounded.by(EACH, None),
    "one per pair": Bounded.by(ONE, None),
    "kept together": Bounded.by(EACH, RangeClip(Fraction(3, 2), NORMS["net wins"], 3)),
    "answers kept together": Bounded.by(ONE, RangeClip(Fraction(3, 2), NORMS["net wins"], 2)),
    **{f"clipped {name}": Bounded.by(EACH, Clip(Fraction(13, 10), norm)) for name, norm in NORMS.items()},
    **{f"answers clipped {name}": Bounded.by(ONE, Clip(Fraction(13, 10), norm)) for name, norm in NORMS.items()},
}


def _counted(votes: list[Vote], bounded: Bounded, groups: str | None) -> list[Any]:
    options: dict[str, Any] = {}
    if groups is not None:
        options = {"by": "outcome", "groups": ["a", "b", "tie", "none"], "by_person": groups == "person"}
    bad: list[Vote] = [
        ("", "A1", "ç", "a"),
        ("p1", "A1", "nobody", "b"),
        ("p1", "A1", "ç", "?"),
        ("pé", "Ω", "A1", "?"),
    ]
    read = from_arrow([*bad, *votes, *bad], skip_invalid=True, **options)
    tallies = count_votes(read, bounded, may_be_empty=True)
    each = [(t.by_item.wins.tolist(), t.by_item.losses.tolist(), t.by_item.ties) for t in tallies]
    return [tallies.rows, tallies.people, each]


@pytest.mark.parametrize("groups", [None, "vote", "person"])
@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.few(1)
def test_one_pass_counts_what_several_do(name: str, groups: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, ties, rows and people, with bad rows among them, bit for bit."""
    bounded = BOUNDS[name]
    if groups == "vote" and bounded.unit is Unit.PERSON:
        from dataclasses import replace

        bounded = replace(bounded, group_of=GroupOf.VOTE)
    used: list[bool] = []
    honest = one_pass.everything

    def noted(marked: Any, bounded: Bounded) -> Any:
        used.append(True)
        return honest(marked, bounded)

    @given(vote_lists())
    @settings(max_examples=3)
    def compare(votes: list[Vote]) -> None:
        monkeypatch.setattr(DuckDB, "windows", False)
        usual = _counted(votes, bounded, groups)
        monkeypatch.setattr(DuckDB, "windows", True)
        monkeypatch.setattr(one_pass, "everything", noted)
        assert _counted(votes, bounded, groups) == usual

    compare()
    assert used
