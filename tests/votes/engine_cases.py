"""Votes as people keep them, in every shape and with everything that engines treat differently: tables and options."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

from tests.votes.counted import ALONE, BOUNDS, OF_SETS

ITEMS = ("A1", "a1", "b c", "ç", "c\u0327", "vodka", "Ω")
"""apart only by case, and by the form of an accent; Ibis's own strip would take the v off in Spark"""
PEOPLE = (
    "Ann", "ann", "ann ", " ann", "é", "e\u0301", "É", "ß", "ss", "İ", "i", "ı", "I", "日本", "😀", "p\\1", "it's", "%",
    "0", "00", None, "",
)  # fmt: skip
ANSWERS = (
    *("a", "b", "tie") * 4, "A", " B ", "TIE", "Draw\n", "\tleft", "RIGHT", "First", "second", "f", "won", "A1", "a1",
    "ç", "c\u0327", "Ω", "vodka", " Ω", "1", "2", "-1", "−1", "+1", "1.0", "0.5", ".5", "0", "tie (bothbad)", "TİE",
    "tıe", "a\u00a0", "a\u2028", "ｔｉｅ", "junk", "", " ", None,
)  # fmt: skip
GROUPS = ("n", "N", "ñ", "s")

Row = tuple[str | None, ...]


def votes_of_all_kinds(size: int) -> st.SearchStrategy[list[Row]]:
    """person, item_a, item_b, outcome, region: some people are heavy, some pairs turned and asked again; some rows are
    wrong."""
    names = st.sampled_from((*ITEMS * 3, None, "", "unknown", "A1 "))
    person = st.sampled_from((*PEOPLE, *("Ann", "ann", "é") * 5))
    group = st.sampled_from((*GROUPS * 4, None, "", "ⓝ"))
    row = st.tuples(person, names, names, st.sampled_from(ANSWERS), group)
    return st.lists(row, min_size=size, max_size=size)


def drawn(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """So many examples, the same in every run. Each costs seconds in a real engine, so they are drawn once, and the
    first, which is the simplest, is left out."""
    examples: list[Any] = []

    @settings(
        max_examples=number + 1, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(example: Any) -> None:
        examples.append(example)

    collect()
    return examples[1 : number + 1]


def table_of(rows: Sequence[Row], columns: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array([row[k] for row in rows], pa.string()) for k, name in enumerate(columns)})


LONG = ("person", "item_a", "item_b", "outcome", "region")
EXAMPLES = [table_of(rows, LONG) for rows in drawn(votes_of_all_kinds(120), 3)]


@dataclass(frozen=True)
class Case:
    """A table, what is said about it, and how people may be bounded in it."""

    table: Any
    options: dict[str, Any] = field(default_factory=dict)
    bounds: Sequence[str] = ("comparison", "person, L = 3")
    items: tuple[str, ...] = ITEMS


NAMED = [
    ("Ann", "A1", "a1"), ("ann", "a1", "A1"), ("é", "ç", "c\u0327"), ("e\u0301", "vodka", "Ω"), ("Ann", "b c", "vodka"),
    ("Ann", "A1", "b c"), ("Ann", "b c", "A1"), ("ann", "Ω", "ç"), ("é", "Ω", "vodka"), ("ß", "A1", "vodka"),
]  # fmt: skip
"""person, winner, loser"""
DESIGN = "version,set,1,2,3\n1,1,A1,a1,vodka\n1,2,ç,c\u0327,Ω\n2,1,Ω,vodka,\n"
"""the text of a design file; a test writes it to a file"""
ASKED = ("A1", "b c", "ç", "vodka", "Ω")
"""in names of columns, which some engines compare without case"""
PAIRS = list(itertools.combinations(ASKED, 2))


def cases() -> dict[str, Case]:
    """Every shape of votes, by name."""
    return {**_long(), **_counted(), **_wide(), **_sets(), **_people()}


def _columns(**columns: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: list(cells) for name, cells in columns.items()})


def _long() -> dict[str, Case]:
    people, winners, losers = zip(*NAMED, strict=True)
    named = {"person": people, "winner": winners, "loser": losers}
    models = {"person": people, "model_a": winners, "model_b": losers}
    number = range(len(NAMED))
    flags = [("true", "False", " f ", "0", "YES", "x", "no", "t", "1.0", "N")[k] for k in number]
    one = [[int(k % 3 == which) for k in number] for which in range(3)]
    hot = {"winner_model_a": one[0], "winner_model_b": one[1], "winner_tie": one[2]}
    coded = [("0", "1", "0.0", "0.5", "1", "N/A", "n/a ", "", "ÜBERSPRUNGEN", "Übersprungen")[k] for k in number]
    return {
        "winner and loser": Case(_columns(**named), bounds=list(BOUNDS)),
        "ties by words": Case(_columns(**named, tie=flags)),
        "ties by truth": Case(_columns(**named, tie=[k % 3 == 0 for k in number])),
        "one-hot, numbers": Case(_columns(**models, **hot)),
        "one-hot, truth": Case(_columns(**models, **{name: [bool(v) for v in cells] for name, cells in hot.items()})),
        "a declared coding": Case(
            _columns(**models, outcome=coded), {"outcomes": "1/0.5/0", "missing": ["n/a", "übersprungen"]}
        ),
        "numbers as outcomes": Case(
            _columns(**models, outcome=[(1.0, -1.0, None, 2.0, 0.5)[k % 5] for k in number]), {"skip_invalid": True}
        ),
        "items from votes": Case(_columns(**named), {"items_from_votes": True}),
    }


def _counted() -> dict[str, Case]:
    sides = {"a": ITEMS[:4], "b": ITEMS[3:]}
    wins: dict[str, list[Any]] = {
        "wins_a": ["3", " 4\n", "0", "12.0"],
        "wins_b": [1, 0, 2, 2**39],
        "tie": [0.0, 1.0, 7.0, 2.0],
    }
    outcome = {"outcome": ["a", "b", "tie", "tie"]}
    wrong = ["3", "12\u2028", "-1", "1e3"]
    return {
        "wins of each side": Case(_columns(**sides, **wins), bounds=ALONE),
        "numbers of votes": Case(_columns(**sides, **outcome, n=["1", "2.", "00", " 7"]), {"count": "n"}, ALONE),
        "whole numbers of votes": Case(_columns(**sides, **outcome, n=[1, 2, 0, 2**30]), {"count": "n"}, ALONE),
        "unreadable numbers of votes": Case(
            _columns(**sides, **outcome, n=wrong), {"count": "n", "skip_invalid": True}, ALONE
        ),
    }


def _wide() -> dict[str, Case]:
    words = ("1", "-1", "0.5", "", " a ", "B", None, "TIE", "2", "A1", "junk", "0", "1.0")
    people = ("Ann", "ann", "é", "e\u0301", "ß", "ann ")

    def cells(values: Sequence[Any]) -> dict[str, list[Any]]:
        return {
            f"{a} vs {b}": [values[(3 * k + j) % len(values)] for j in range(len(people))]
            for k, (a, b) in enumerate(PAIRS)
        }

    bounds = [name for name in BOUNDS if "answers only" not in name]
    some: dict[str, Any] = {"items": ASKED, "bounds": ["comparison", "person, L = 3", "person, one per pair, L = 2"]}
    return {
        "wide": Case(_columns(person=people, **cells(words)), {"skip_invalid": True}, bounds, ASKED),
        "wide, all readable": Case(_columns(person=people, **cells(words[:6])), **some),
        "wide, numbers": Case(_columns(person=people, **cells((1, -1, None, 2))), **some),
        "wide, declared numbers": Case(_columns(person=people, **cells((1, 0, None))), {"outcomes": "1/0"}, **some),
        "wide, a person twice": Case(_columns(person=[*people[:5], "Ann"], **cells((1, -1, None, 2))), **some),
        "wide, nobody is named": Case(_columns(**cells((1, -1, None, 2))), **some),
    }


def _sets() -> dict[str, Case]:
    people = ("Ann", "Ann", "é", "e\u0301", "ann", "ß", "ann")
    shown: list[list[str | None]] = [
        ["A1", "a1", "vodka"], ["ç", "c\u0327", "Ω"], ["Ω", "vodka", None], ["b c", "A1", "Ω"], ["A1", "a1", "b c"],
        ["A1", "A1", "Ω"], ["vodka", None, None],
    ]  # fmt: skip
    chosen = [
        ("A1", "vodka"), ("c\u0327", "ç"), ("vodka", "Ω"), ("Ω", "A1"), (None, None), ("A1", "Ω"), ("vodka", None)
    ]  # fmt: skip
    best, worst = zip(*chosen, strict=True)
    columns = {f"item{k + 1}": [one[k] for one in shown] for k in range(3)}
    answers = {"person": people, "best": best, "worst": worst}
    listed = ["A1;a1;vodka", "ç | c\u0327|Ω", "Ω,vodka", " b c ; A1;Ω; \n", "A1;a1;b c;ç", "A1;A1;Ω", "vodka"]
    known: dict[str, list[Any]] = {"version": [1, 1, 2, 2, 1, 1, 9], "set": ["1", "2", "1", "1", "1", "2", "1"]}
    positions = {"best": ["1", "2", " 1", "2 ", None, "4", "1"], "worst": ["3", "1", "2", "1", None, "1", ""]}
    skip = {"skip_invalid": True}
    return {
        "sets in columns": Case(_columns(**answers, **columns), skip, OF_SETS),
        "sets by position": Case(_columns(person=people, **positions, **columns), {"positions": True, **skip}),
        "sets in a cell": Case(
            _columns(**answers, items=listed), {"shape": "best-worst", "set_size": 3, **skip}, OF_SETS
        ),
        "sets of a design file": Case(
            _columns(**answers, **known), {"shape": "best-worst", "design_file": DESIGN, **skip}
        ),
    }


def _people() -> dict[str, Case]:
    """People who are not named by text."""
    import datetime as dt
    from decimal import Decimal

    _, winners, losers = zip(*NAMED, strict=True)
    votes, who = {"winner": winners, "loser": losers}, [k % 3 for k in range(len(NAMED))]
    days = [dt.date(2026, 1, 1 + k) for k in who]
    kinds: dict[str, list[Any]] = {
        "whole numbers": [2**60 + k for k in who],
        "numbers with a gap": [float(k) for k in who],
        "decimals": [Decimal(f"{k}.50") for k in who],
        "dates": days,
        "times": [dt.datetime(2026, 1, 1, 0, 0, k, 5) for k in who],
        "truth": [k == 0 for k in who],
    }
    return {f"people as {kind}": Case(_columns(person=people, **votes)) for kind, people in kinds.items()}


def rankings() -> dict[str, Case]:
    return {
        "rankings in a cell": Case(
            _columns(person=["p", "q", "é"], ranking=["A1>ç=Ω", "b c > A1", " Ω > vodka > a1"]),
            {"shape": "rankings"}, ["comparison", "person, L = 3"],
        ),
        "rankings by place": Case(
            _columns(person=["p", "q", "é"], choice_1=["A1", "ç", "Ω"], choice_2=["ç", "c\u0327", None]),
            {"shape": "rankings"},
        ),
        "rankings by item": Case(
            _columns(person=["p", "q"], A1=["1", " 2 "], Ω=["2.0", None]), {"shape": "rankings"}, items=("A1", "Ω")
        ),
    }  # fmt: skip
