"""Item strengths and a seed in, synthetic votes out. Seeds are used here, and in no release.

Two forms: people who each compare a number of pairs drawn uniformly with replacement, and a comparison graph in
which each pair is compared once with probability p. The winner is drawn by the Bradley–Terry model,
P(i beats j) = 1/(1 + exp(θ_j − θ_i)).
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quietrank.arrays import Floats, Integers
from quietrank.errors import QuietrankError, option
from quietrank.promise.items import check_names
from quietrank.publish.files import VOTES, check_output, written_whole

CHUNK = 1 << 20
MOST_ITEMS = 1_000_000
MOST_VOTES = 10**12
"""more than any disk holds"""
MOST_STRENGTH = 100.0
"""beyond it, one of two items always wins"""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some votes as index arrays; `person` is None in a comparison graph."""

    person: Integers | None
    winner: Integers
    loser: Integers


def require_possible(items: int, votes: int) -> None:
    """Refuse more items or votes than a machine could write."""
    if items > MOST_ITEMS:
        raise QuietrankError(f"at most {MOST_ITEMS} items can be simulated; got {option('items', items)}")
    if votes > MOST_VOTES:
        raise QuietrankError(
            f"at most {MOST_VOTES:g} votes can be simulated, got {votes:g}; lower {option('people')} or "
            f"{option('per_person')}"
        )


def paper_strengths(n: int, rng: np.random.Generator) -> Floats:
    """The published strengths: a quarter of the items with e^θ = 1, the rest uniform on (0.2, 0.7), centred."""
    top = max(1, round(n / 4))
    theta = np.log(np.concatenate([np.ones(top), rng.uniform(0.2, 0.7, n - top)]))
    return np.asarray(theta - theta.mean())


def people_votes(theta: Floats, people: int, per_person: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Each person compares `per_person` pairs drawn uniformly with replacement."""
    votes, n = people * per_person, len(theta)
    for start in range(0, votes, CHUNK):
        index = np.arange(start, min(start + CHUNK, votes))
        i = rng.integers(n, size=len(index))
        j = rng.integers(n - 1, size=len(index))
        j += j >= i  # uniform over the other items
        yield _decide(theta, i, j, rng, person=index // per_person)


def graph_votes(theta: Floats, p: float, rng: np.random.Generator) -> Iterator[Batch]:
    """Each pair is compared once with probability p."""
    n = len(theta)
    for i in range(n - 1):
        j = np.arange(i + 1, n)[rng.random(n - 1 - i) < p]
        yield _decide(theta, np.full(len(j), i), j, rng, person=None)


def _decide(theta: Floats, i: Integers, j: Integers, rng: np.random.Generator, person: Integers | None) -> Batch:
    i_wins = rng.random(len(i)) < 1 / (1 + np.exp(theta[j] - theta[i]))
    return Batch(person, np.where(i_wins, i, j), np.where(i_wins, j, i))


def item_names(n: int) -> list[str]:
    """item-1 … item-n, padded so that they sort."""
    digits = len(str(n))
    return [f"item-{number:0{digits}d}" for number in range(1, n + 1)]


def read_strengths(path: Path) -> tuple[list[str], Floats]:
    """Items and strengths θ from a CSV file with the columns item and strength."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [(row["item"], float(row["strength"])) for row in csv.DictReader(stream)]
    except (OSError, csv.Error, KeyError, TypeError, ValueError):
        raise QuietrankError(
            f"cannot read strengths from {path}; give a CSV file with the columns item and strength (a number)"
        ) from None
    if len(rows) < 2 or not all(abs(strength) <= MOST_STRENGTH for _, strength in rows):
        raise QuietrankError(
            f"{path} must hold at least two items with finite strengths, from {-MOST_STRENGTH:g} to {MOST_STRENGTH:g}"
        )
    check_names([name for name, _ in rows])
    return [name for name, _ in rows], np.array([strength for _, strength in rows])


def write_votes(batches: Iterator[Batch], names: list[str], out: Path | None) -> int:
    """Write votes that `rank` reads (person, winner, loser) to a file, or as CSV to stdout; returns their number."""
    if out is None:
        return _write_csv(batches, names, sys.stdout)
    check_output(out, VOTES)
    with written_whole(out, VOTES, overwrite=False) as draft:
        if draft.suffix == ".parquet":
            return _write_parquet(batches, names, draft)
        opener: Any = gzip.open if draft.suffix == ".gz" else open
        with opener(draft, "wt", encoding="utf-8", newline="") as stream:
            return _write_csv(batches, names, stream)


def _write_csv(batches: Iterator[Batch], names: list[str], stream: IO[str]) -> int:
    writer = csv.writer(stream, lineterminator="\n")
    count = 0
    for batch in batches:
        columns = _columns(batch, names)
        if count == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        count += len(batch.winner)
    return count


def _write_parquet(batches: Iterator[Batch], names: list[str], out: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, writer = 0, None
    for batch in batches:
        table = pa.table(_columns(batch, names))
        writer = writer or pq.ParquetWriter(out, table.schema)
        writer.write_table(table)
        count += table.num_rows
    if writer is not None:
        writer.close()
    return count


def _columns(batch: Batch, names: list[str]) -> dict[str, NDArray[Any]]:
    label = np.array(names)
    person = {} if batch.person is None else {"person": batch.person + 1}
    return person | {"winner": label[batch.winner], "loser": label[batch.loser]}
