"""A wide table in which every row is another person's in, its bounded sums out: one query, no snapshot.

A person's weight is min(2^20, ⌊L·2^20/c⌋) for c answers. Where no id appears twice, c is the number of answers in the
row, so that the weight comes from the very row that it is applied to: whichever rows the query saw, no person moved the
sums further than promised. The same query says whether an id appears twice or a cell cannot be read. Then its sums are
thrown away, and the votes are counted from a snapshot like any others, to the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quietrank.arrays import Integers
from quietrank.promise.privacy import Unit
from quietrank.promise.promise import PERSON_GRID, Bounded
from quietrank.votes.read import Votes
from quietrank.votes.shapes.wide import Wide
from quietrank.votes.sources import reading


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


def counted(votes: Votes, bounded: Bounded) -> RowSums | None:
    """The sums; None if a row is invalid, or a person has several."""
    assert isinstance(votes.shape, Wide)
    pairs, limit = votes.shape.places, (bounded.max_per_person or 0) * PERSON_GRID
    engine = votes.source.table.get_backend()
    answers = engine.compile(votes.by_row())
    query = _SUMS.format(
        source=answers,
        limit=limit,
        grid=PERSON_GRID,
        # An answer that cannot be read is NULL, and makes the row's weight NULL (which least alone would pass over).
        answered=" + ".join(f"CAST(y_{k} >= 0 AS INT)" for k in range(len(pairs))),
        # −1 stands for no answer: with y the weight that was won minus the weight without answer, and that weight.
        sums=", ".join(
            f"sum(w * y_{k}), sum(w * CAST(y_{k} < 0 AS INT)), sum(w * CAST(y_{k} = 1 AS INT))"
            for k in range(len(pairs))
        ),
    )
    with reading(votes.source):
        ((rows, sound, people, weight, *sums),) = engine.con.execute(query).fetchall()
    votes.source.require_unchanged()
    if not rows == sound == people or rows == 0:
        return None
    signed, unanswered, tied = np.array(sums, dtype=np.int64).reshape(-1, 3).T
    wins, total = signed + unanswered, 2 * (int(weight) - unanswered)
    a, b = np.array(pairs, dtype=np.int64).T
    return RowSums(a, b, wins, total - wins, 2 * tied, rows * len(pairs), people)


_SUMS = """
    SELECT count(*), count(w), count(DISTINCT person), sum(w), {sums}
    FROM (SELECT *, CAST(CASE WHEN c = 0 THEN 0 WHEN c > 0 THEN least({grid}, CAST({limit} AS BIGINT) // c) END
                         AS BIGINT) AS w
          FROM (SELECT *, {answered} AS c FROM ({source})))"""
