"""A wide table in which every row is another person's in, its bounded sums out: no row per vote is ever made.

A person's weight is min(2^20, ⌊L·2^20/c⌋) for c answers. Where no id appears twice, c is the number of answers in the
row, so that the weight comes from the very row that it is applied to: whichever rows the query saw, no person moved the
sums further than promised. The same query says whether an id appears twice or a cell cannot be read. Then its sums are
thrown away, and the votes are counted from a snapshot like any others, to the same numbers. Whoever asks about the
votes again, for their scatter, does so in a snapshot of the wide table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quietrank.arrays import Integers
from quietrank.promise.privacy import Unit
from quietrank.promise.promise import PERSON_GRID, Bounded
from quietrank.votes.read import Votes
from quietrank.votes.sample import in_sample, require_ids
from quietrank.votes.shapes.wide import Wide
from quietrank.votes.sources import reading, temporary_table

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weight that the first item of each pair won and lost, and that of ties, in half votes; how many votes and people
    there were."""

    a: Integers
    b: Integers
    wins: Integers
    losses: Integers
    ties: Integers
    votes: int
    people: int

    @property
    def by_pair(self) -> dict[str, Integers]:
        return {"a": self.a, "b": self.b, "wins": self.wins, "losses": self.losses, "ties": self.ties}

    @property
    def by_item(self) -> dict[str, Integers]:
        """Every pair from both sides."""
        sides = {"item": (self.a, self.b), "wins": (self.wins, self.losses), "losses": (self.losses, self.wins)}
        sides["ties"] = (self.ties, self.ties)
        return {name: np.concatenate(both) for name, both in sides.items()}


def applies(votes: Votes, bounded: Bounded) -> bool:
    """Whether the query below does what bounding and counting do; only public properties are looked at."""
    shape = votes.shape
    if not isinstance(shape, Wide) or not votes.source.ours:
        return False
    if votes.groups is not None or votes.skip_invalid or votes.where is not None:
        return False
    limited = bounded.unit is Unit.PERSON and bounded.clip is None and bounded.max_per_person is not None
    pairs = {(min(pair), max(pair)) for pair in shape.places}
    return limited and not bounded.answers_only and not (bounded.one_per_pair and len(pairs) < len(shape.places))


@contextmanager
def wide_snapshot(votes: Votes) -> Iterator[ir.Table]:
    """A snapshot of the wide table, to be read more than once: the person, and y_0, y_1, … for the pairs."""
    with temporary_table(votes.source, votes.by_row()) as table:
        votes.source.require_unchanged()
        yield table


def count_rows(votes: Votes, bounded: Bounded, table: ir.Table) -> RowSums | None:
    """The sums of `votes.by_row()`, or of a snapshot of it; None if a row is invalid, or a person has several."""
    engine, pairs = table.get_backend(), _pairs(votes)
    # −1 stands for no answer: with y the weight that was won minus the weight without answer, and that weight.
    sums = ", ".join(
        f"sum(w * y_{k}), sum(w * CAST(y_{k} < 0 AS INT)), sum(w * CAST(y_{k} = 1 AS INT))" for k in range(len(pairs))
    )
    query = f"SELECT count(*), count(w), count(DISTINCT person), sum(w), {sums} FROM {_weighed(table, pairs, bounded)}"
    with reading(votes.source, "counting votes"):
        ((rows, sound, people, weight, *sums),) = engine.con.execute(query).fetchall()
    votes.source.require_unchanged()
    if not rows == sound == people or rows == 0:
        return None
    signed, unanswered, tied = np.array(sums, dtype=np.int64).reshape(-1, 3).T
    wins, total = signed + unanswered, 2 * (int(weight) - unanswered)
    a, b = np.array(pairs, dtype=np.int64).T
    return RowSums(a, b, wins, total - wins, 2 * tied, rows * len(pairs), people)


def item_sums(votes: Votes, bounded: Bounded, table: ir.Table, bits: int = 0) -> ir.Table:
    """What each item of each person has won, in half votes, and the weight of the votes on it: person (numbered), item,
    won, weight; all in the units of the weights, as `scatter_sums` adds them up from votes. Of one person in 2^bits."""
    import ibis

    require_ids(votes, bits)
    if bits:  # by the id, before people are numbered
        table = table.filter(in_sample(table.person, bits))
    pairs, items = _pairs(votes), range(len(votes.items))
    terms: list[list[str]] = [["0"] for _ in items]
    met: list[list[str]] = [["0"] for _ in items]
    for k, (a, b) in enumerate(pairs):
        answered = f"CAST(y_{k} >= 0 AS INT)"
        terms[a].append(f"y_{k} * {answered}")
        terms[b].append(f"(2 - y_{k}) * {answered}")
        met[a].append(answered)
        met[b].append(answered)
    won, weight = (", ".join(f"w * ({' + '.join(of_item)})" for of_item in sums) for sums in (terms, met))
    rows = f"SELECT row_number() OVER () AS person, [{won}] AS won, [{weight}] AS weight"
    query = (
        f"SELECT person, unnest({list(items)}) AS item, unnest(won) AS won, unnest(weight) AS weight "
        f"FROM ({rows} FROM {_weighed(table, pairs, bounded)})"
    )
    schema = ibis.schema({"person": "int64", "item": "int64", "won": "int64", "weight": "int64"})
    return table.get_backend().sql(query, schema=schema)


def _pairs(votes: Votes) -> tuple[tuple[int, int], ...]:
    assert isinstance(votes.shape, Wide)
    return votes.shape.places


def _weighed(table: ir.Table, pairs: tuple[tuple[int, int], ...], bounded: Bounded) -> str:
    """The SQL of the rows with w, their weight; NULL where an answer cannot be read (`least` alone would pass over)."""
    answered = " + ".join(f"CAST(y_{k} >= 0 AS INT)" for k in range(len(pairs)))
    share = f"least({PERSON_GRID}, CAST({(bounded.max_per_person or 0) * PERSON_GRID} AS BIGINT) // c)"
    return (
        f"(SELECT *, CAST(CASE WHEN c = 0 THEN 0 WHEN c > 0 THEN {share} END AS BIGINT) AS w "
        f"FROM (SELECT *, {answered} AS c FROM ({table.get_backend().compile(table)})))"
    )
