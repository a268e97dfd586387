"""The first sentence of a release: right in every case, and never more than the rank sets say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.promise.privacy import Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Certainty, Release, Row
from quietrank.publish.tabular import NoiseRecord
from quietrank.render.headline import headline, headline_grouped, listed, percent

NAMES = ("London", "Paris", "Milano", "Barcelona", "St.Gallen", "Stockholm", "Oslo", "Bern")
Sets = Sequence[tuple[int, int]]


def release(
    sets: Sets, tiers: Sequence[int] | None = None, *, names: Sequence[str] = NAMES, level: float = 0.9,
    simultaneous: bool = False, method: str = "bradley-terry",
) -> Release:  # fmt: skip
    """A release with these rank sets; every item a tier of its own if none are given."""
    tiers = tiers or range(1, len(sets) + 1)
    rows = tuple(
        Row(rank, names[rank - 1], -float(rank), rank_low=low, rank_high=high, tier=tier)
        for rank, ((low, high), tier) in enumerate(zip(sets, tiers, strict=True), 1)
    )
    certainty = Certainty(level, simultaneous, 3, 0.05, 1.0)
    return Release(rows, Privacy(1, "comparison"), NoiseRecord("laplace", ()), method, certainty=certainty)


def unknown(method: str, names: Sequence[str] = NAMES) -> Release:
    rows = tuple(Row(rank, name, -float(rank)) for rank, name in enumerate(names, 1))
    return Release(rows, Privacy(1, "comparison"), NoiseRecord("laplace", ()), method)


CASES = {
    "a clear first and a run": (
        release([(1, 1), (2, 2), (3, 5), (3, 5), (3, 5), (6, 6)], [1, 2, 3, 3, 3, 4]),
        "London is first; ranks 3 to 5 cannot be told apart at 90 % confidence.",
    ),
    "a run of two": (
        release([(1, 1), (2, 3), (2, 3)], [1, 2, 2]),
        "London is first; ranks 2 and 3 cannot be told apart at 90 % confidence.",
    ),
    "two runs": (
        release([(1, 1), (2, 3), (2, 3), (4, 6), (4, 6), (4, 6)], [1, 2, 2, 3, 3, 3]),
        "London is first; neither ranks 2 and 3 nor ranks 4 to 6 can be told apart at 90 % confidence.",
    ),
    "a chain is told apart from its first only": (
        release([(1, 1), (2, 4), (2, 4), (2, 5), (4, 5)], [1, 2, 2, 2, 2]),
        "London is first; ranks 3 to 5 cannot be told apart from rank 2 at 90 % confidence.",
    ),
    "a chain of three": (
        release([(1, 1), (2, 3), (2, 4), (3, 4)], [1, 2, 2, 2]),
        "London is first; ranks 3 and 4 cannot be told apart from rank 2 at 90 % confidence.",
    ),
    "a chain and a run": (
        release([(1, 1), (2, 3), (2, 4), (3, 4), (5, 6), (5, 6)], [1, 2, 2, 2, 3, 3]),
        "London is first; ranks 5 and 6 cannot be told apart, and ranks 3 and 4 cannot be told apart from rank 2 "
        "at 90 % confidence.",
    ),
    "many runs": (
        release([(1, 1), (2, 3), (2, 3), (4, 5), (4, 5), (6, 8), (6, 8), (6, 8)], [1, 2, 2, 3, 3, 4, 4, 4]),
        "London is first; these 8 items form 4 tiers, and within a tier none can be told apart from its first at 90 % "
        "confidence.",
    ),
    "two may be first": (
        release([(1, 2), (1, 2), (3, 3)], [1, 1, 2]),
        "London or Paris may be first at 90 % confidence.",
    ),
    "three may be first, and a run": (
        release([(1, 3), (1, 3), (1, 3), (4, 5), (4, 5)], [1, 1, 1, 2, 2]),
        "London, Paris or Milano may be first; ranks 4 and 5 cannot be told apart at 90 % confidence.",
    ),
    "many may be first": (
        release([(1, 7), (1, 7), (1, 7), (1, 7), (1, 7), (1, 7), (1, 7), (8, 8)], [1, 1, 1, 1, 1, 1, 1, 2]),
        "London is ahead, but any of 7 items may be first at 90 % confidence.",
    ),
    "the first's own set is clear, another's is not": (
        release([(1, 1), (1, 3), (2, 3)], [1, 2, 2]),
        "London or Paris may be first; ranks 2 and 3 cannot be told apart at 90 % confidence.",
    ),
    "only the first's own set is wide": (
        release([(1, 3), (2, 3), (2, 3)], [1, 2, 2]),
        "London is ahead, but may be as low as rank 3; ranks 2 and 3 cannot be told apart at 90 % confidence.",
    ),
    "wide sets without a tier of two": (
        release([(1, 1), (2, 2), (2, 3)]),
        "London is first; 1 of these 3 ranks is not determined at 90 % confidence.",
    ),
    "everything separate, item by item": (
        release([(1, 1), (2, 2), (3, 3)]),
        "London is first, and every rank here, taken by itself, is determined at 90 % confidence.",
    ),
    "everything separate, together": (
        release([(1, 1), (2, 2), (3, 3)], simultaneous=True, level=0.95),
        "London is first, and these 3 ranks together are determined at 95 % confidence.",
    ),
    "two items, separate": (release([(1, 1), (2, 2)]), "London is first at 90 % confidence."),
    "two items, not separate": (
        release([(1, 2), (1, 2)], [1, 1]),
        "No two of these 2 items can be told apart at 90 % confidence.",
    ),
    "nothing separate": (
        release([(1, 4)] * 4, [1] * 4, level=0.975),
        "No two of these 4 items can be told apart at 97.5 % confidence.",
    ),
    "no certainty, counts": (
        unknown("net-wins"),
        "London is first by these counts; how sure that is cannot be said.",
    ),
    "no certainty, win counts": (
        unknown("wins"),
        "London is first by these counts; how sure that is cannot be said.",
    ),
    "no certainty, scores": (
        unknown("bradley-terry"),
        "London is first by these scores; how sure that is cannot be said.",
    ),
    "no certainty, rates": (
        unknown("win-rate"),
        "London is first by these win rates; how sure that is cannot be said.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_answers_the_question(case: str) -> None:
    """Each kind of result has its sentence."""
    given_release, sentence = CASES[case]
    assert headline(given_release) == sentence


TOPS: list[tuple[Sets, list[int] | None, int, str]] = [
    ([(1, 1), (2, 4), (2, 4), (2, 4)], [1, 2, 2, 2], 1, "London is first at 90 % confidence."),
    ([(1, 3), (1, 3), (1, 3), (4, 4)], [1, 1, 1, 2], 1, (
        "London is ahead, but may be as low as rank 3 at 90 % confidence."
    )),
    (
        [(1, 3), (1, 3), (1, 3), (4, 4)], [1, 1, 1, 2], 2,
        "London is ahead, but may be as low as rank 3; ranks 1 and 2 cannot be told apart at 90 % confidence.",
    ),
    ([(1, 2), (1, 2), (3, 3), (4, 4)], [1, 1, 2, 3], 2, (
        "No two of these 2 items can be told apart at 90 % confidence."
    )),
    ([(1, 4)] * 4, [1] * 4, 2, (
        "London is ahead, but may be as low as rank 4; ranks 1 and 2 cannot be told apart at 90 % confidence."
    )),
    ([(1, 1), (2, 4), (2, 4), (2, 4)], [1, 2, 2, 2], 3, (
        "London is first; ranks 2 and 3 cannot be told apart at 90 % confidence."
    )),
    ([(1, 1), (2, 2), (3, 3), (4, 4)], None, 3, (
        "London is first, and every rank here, taken by itself, is determined at 90 % confidence."
    )),
]  # fmt: skip


@pytest.mark.parametrize(("sets", "tiers", "k", "sentence"), TOPS)
def test_a_top_list_does_not_forget_the_others(sets: Sets, tiers: list[int] | None, k: int, sentence: str) -> None:
    """Rank sets refer to all items, so items that are not shown may be first as well."""
    assert headline(release(sets, tiers).top(k)) == sentence


def test_a_certainty_without_rank_sets_says_nothing() -> None:
    """A file may have been edited by hand: what is missing is not taken for certain."""
    one = release([(1, 1), (2, 2), (3, 3)])
    edited = replace(one, ranking=(replace(one.ranking[0], rank_low=None), *one.ranking[1:]))
    assert headline(edited).endswith("how sure that is cannot be said.")


def test_names_cannot_move_the_cursor() -> None:
    """Control characters and direction marks are shown as escapes."""
    names = ("\x1b[2Ja", "\u202eb", "c\nd")
    assert headline(release([(1, 3)] * 2 + [(3, 3)], [1, 1, 2], names=names)).isprintable()
    assert headline(unknown("wins", names)).startswith("\\x1b[2Ja is first")


# ---- what it must never say ------------------------------------------------------------------------------------------


@st.composite
def releases(draw: Any) -> Release:
    """Rank sets that contain their rank, tiers in order; otherwise anything, also what no mechanism would give."""
    n = draw(st.integers(2, 8))
    sets = [(draw(st.integers(1, rank)), draw(st.integers(rank, n))) for rank in range(1, n + 1)]
    sets[-1] = (sets[-1][0], n)
    tiers = [1]
    for _ in range(n - 1):
        tiers.append(tiers[-1] + draw(st.integers(0, 1)))
    return release(sets, tiers, simultaneous=draw(st.booleans())).top(draw(st.integers(1, n)))


FROM = r"ranks? [\d a-z]+ cannot be told apart from rank \d+"
"""what is said of a tier where only its first member counts"""


@given(releases())
def test_it_never_claims_more_than_the_rank_sets(one: Release) -> None:
    """A first is clear only if its set is 1 and nobody else's has a 1; all ranks are certain only if all sets are."""
    said, rows = headline(one), one.ranking
    sets = [(int(row.rank_low or 0), int(row.rank_high or 0)) for row in rows]
    if "London is first" in said:
        assert sets[0] == (1, 1)
        assert all(low > 1 for low, _ in sets[1:])
    if "determined" in said and "not determined" not in said:
        assert all(low == high for low, high in sets)
        assert ("together" in said) is (one.certainty is not None and one.certainty.simultaneous)
    if "No two" in said:
        assert all(each == (1, len(rows)) for each in sets)
    runs = re.findall(r"ranks (\d+) (?:to|and) (\d+)", re.sub(FROM, "", said))
    for first, last in runs:
        run = sets[int(first) - 1 : int(last)]
        assert all(low <= int(first) and high >= int(last) for low, high in run)
    assert said.count(".") == 1 + said.count("St.Gallen")
    assert len(said) < 200


@given(releases())
def test_it_names_the_level(one: Release) -> None:
    """Every claim about certainty comes with its level."""
    assert headline(one).endswith("at 90 % confidence.")


# ---- groups ----------------------------------------------------------------------------------------------------------

CLEAR: Sets = [(1, 1), (2, 3), (2, 3)]
OPEN: Sets = [(1, 3), (1, 3), (1, 3)]
PARIS = ("Paris", "London", "Milano")


def grouped(*groups: tuple[str, Release]) -> GroupedRelease:
    return GroupedRelease("land", groups)


GROUPS = {
    "London is first in all 2 groups, each at 90 % confidence.": [("de", release(CLEAR)), ("fr", release(CLEAR))],
    "London is first in de, Paris is first in fr, each at 90 % confidence.": [
        ("de", release(CLEAR)), ("fr", release(CLEAR, names=PARIS))
    ],
    "London is first in de; who is first cannot be said in fr, at 90 % confidence.": [
        ("de", release(CLEAR)), ("fr", release(OPEN))
    ],
    "Who is first cannot be said in any group, at 90 % confidence.": [("de", release(OPEN)), ("fr", release(OPEN))],
    "London is first in de, at 90 % confidence.": [("de", release(CLEAR))],
    "London is first in all 2 groups by these figures; how sure that is cannot be said.": [
        ("de", release(CLEAR)), ("fr", unknown("bradley-terry"))
    ],
    "7 of 8 groups have a first item, London in 4 of them; who is first cannot be said in 7, each at 90 % "
    "confidence.": [
        *((str(k), release(CLEAR, names=(NAMES, PARIS)[k % 2])) for k in range(7)), ("7", release(OPEN))
    ],
    "London is first in 5 groups; who is first cannot be said in \\x1bx, each at 90 % confidence.": [
        *((str(k), release(CLEAR)) for k in range(5)), ("\x1bx", release(OPEN))
    ],
}  # fmt: skip


@pytest.mark.parametrize("sentence", GROUPS)
def test_groups_have_one_sentence_together(sentence: str) -> None:
    """Who is first in which; many groups are counted instead."""
    assert headline_grouped(grouped(*GROUPS[sentence])) == sentence


def test_words_and_numbers() -> None:
    assert [percent(0.9), percent(0.975), percent(0.999)] == ["90 %", "97.5 %", "99.9 %"]
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "or")] == ["a", "a and b", "a, b or c"]
