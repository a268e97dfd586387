"""Item strengths, or a published release, and a seed in; synthetic votes out. Seeds are used here, and in no release.

Two forms: people who each compare a number of pairs drawn uniformly with replacement, and a comparison graph in
which each pair is compared once with probability p. The winner is drawn by the Bradley–Terry model,
P(i beats j) = 1/(1 + exp(θ_j − θ_i)). Votes from a published model are one vote each by people who do not exist.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from quietrank.arrays import Flags, Floats, Integers
from quietrank.errors import QuietrankError, option
from quietrank.maths.davidson import tie, win_rate
from quietrank.maths.links import LOGISTIC, Link
from quietrank.promise.arguments import file_path, number, parse, whole_number
from quietrank.promise.declare import declare
from quietrank.promise.items import check_names
from quietrank.publish.files import VOTES, check_output, written_whole

if TYPE_CHECKING:
    import pyarrow as pa

    from quietrank.estimate.noisy import GroupedTally, NoisyTally
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.model import PublishedModel
    from quietrank.publish.release import Release

Columns = dict[str, NDArray[Any]]
"""votes as named columns of one length"""

CHUNK = 1 << 20
MOST_ITEMS = 1_000_000
MOST_VOTES = 10**12
"""more than any disk holds"""
MOST_IN_MEMORY = 10**8
"""a few gigabytes; the command `simulate` writes more to a file"""
MOST_STRENGTH = 100.0
"""beyond it, one of two items always wins"""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some votes as index arrays; `person` is None in a comparison graph."""

    person: Integers | None
    winner: Integers
    loser: Integers
    tie: Flags | None = None
    """which are ties, where the model has them: then nobody won"""


def simulate(
    items: int | None = None,
    people: int | None = None,
    per_person: int | None = None,
    *,
    p: float | None = None,
    strengths: Mapping[str, float] | str | os.PathLike[str] | None = None,
    seed: int | None = None,
) -> pa.Table:
    """Synthetic votes as a pyarrow table, with the columns person, winner and loser, that `read_votes` reads.

    items       how many items, called item-1, item-2 and so on, with the strengths of the paper
    strengths   instead of items: the strength θ of each by name, from -100 to 100, or the path of a CSV file with the
                columns item and strength. One wins against another with probability 1/(1 + exp(θ_other − θ_one)).
    people      how many people there are
    per_person  how many pairs each of them compares, drawn uniformly at random
    p           instead of people and per_person: each pair is compared once with this probability, by nobody in
                particular
    seed        a whole number, 0 or more; the same one gives the same votes. None: new ones each time.

    >>> import quietrank as qr
    >>> table = qr.simulate(strengths={"tea": 1.0, "coffee": 0.5, "water": 0.0}, people=20, per_person=3, seed=1)
    >>> table.num_rows, table.column_names
    (60, ['person', 'winner', 'loser'])
    """
    import pyarrow

    rng = np.random.default_rng(None if seed is None else _whole("seed", seed, 0))
    names, theta = _strengths(items, strengths, rng)
    batches = _batches(theta, people, per_person, p, rng)
    return pyarrow.concat_tables([pyarrow.table(_columns(batch, names)) for batch in batches])


def _strengths(items: object, declared: object, rng: np.random.Generator) -> tuple[list[str], Floats]:
    """Names and strengths θ: the paper's, or as declared."""
    if (items is None) == (declared is None):
        raise QuietrankError("say what is compared: items=4, or strengths={'tea': 1.0, 'water': 0.0}; not both")
    if declared is None:
        n = _whole("items", items, 2)
        require_possible(n, 0)
        return item_names(n), paper_strengths(n, rng)
    if not isinstance(declared, Mapping):
        return read_strengths(file_path(declared, "strengths"))
    thetas = [number(theta) for theta in declared.values()]
    known = [theta for theta in thetas if theta is not None and abs(theta) <= MOST_STRENGTH]
    if len(known) < max(2, len(thetas)):
        raise QuietrankError(
            "strengths must give at least two items a number each, from "
            f"{-MOST_STRENGTH:g} to {MOST_STRENGTH:g}; got strengths={declared!r}"
        )
    return list(declare(declared).names), np.array(known)


def _batches(theta: Floats, people: object, per_person: object, p: object, rng: np.random.Generator) -> Iterator[Batch]:
    """Votes of people, or of a comparison graph; as many as memory holds."""
    pairs = len(theta) * (len(theta) - 1) / 2
    if p is not None and people is None and per_person is None:
        share = number(p)
        if share is None or not 0 <= share <= 1:
            raise QuietrankError(f"p must be a number from 0 to 1; got p={p!r}")
        _require_in_memory(pairs * share)
        return graph_votes(theta, share, rng)
    if p is not None or people is None or per_person is None:
        raise QuietrankError("say how to compare: people=50 and per_person=6, or p=0.5 alone")
    size, each = _whole("people", people, 1), _whole("per_person", per_person, 1)
    _require_in_memory(size * each)
    return people_votes(theta, size, each, rng)


def _whole(name: str, argument: object, least: int) -> int:
    value = whole_number(argument)
    if value is None or value < least:
        raise QuietrankError(f"{name} must be a whole number, {least} or more; got {name}={argument!r}")
    return value


def _require_in_memory(votes: float, command: str = "simulate") -> None:
    if votes > MOST_IN_MEMORY:
        raise QuietrankError(
            f"at most {MOST_IN_MEMORY} votes fit in a table; ask for fewer, or write them to a file with the command "
            f"quietrank {command}"
        )


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


def people_votes(
    theta: Floats, people: int, per_person: int, rng: np.random.Generator, link: Link = LOGISTIC, nu: float = 0.0
) -> Iterator[Batch]:
    """Each person compares `per_person` pairs drawn uniformly with replacement; with ties by Davidson's ν, if given."""
    votes, n = people * per_person, len(theta)
    for start in range(0, votes, CHUNK):
        index = np.arange(start, min(start + CHUNK, votes))
        i = rng.integers(n, size=len(index))
        j = rng.integers(n - 1, size=len(index))
        j += j >= i  # uniform over the other items
        person = index // per_person
        yield _decide_or_tie(theta, i, j, rng, person, nu) if nu > 0 else _decide(theta, i, j, rng, person, link)


def graph_votes(theta: Floats, p: float, rng: np.random.Generator) -> Iterator[Batch]:
    """Each pair is compared once with probability p."""
    n = len(theta)
    for i in range(n - 1):
        j = np.arange(i + 1, n)[rng.random(n - 1 - i) < p]
        yield _decide(theta, np.full(len(j), i), j, rng, None)


def _decide(
    theta: Floats, i: Integers, j: Integers, rng: np.random.Generator, person: Integers | None, link: Link = LOGISTIC
) -> Batch:
    with np.errstate(over="ignore"):  # the difference of two huge scores is infinite, and one always wins
        i_wins = rng.random(len(i)) < link.cdf(theta[i] - theta[j])
    return Batch(person, np.where(i_wins, i, j), np.where(i_wins, j, i))


def _decide_or_tie(
    theta: Floats, i: Integers, j: Integers, rng: np.random.Generator, person: Integers, nu: float
) -> Batch:
    with np.errstate(over="ignore"):
        difference = theta[i] - theta[j]
    drawn, tied = rng.random(len(i)), tie(difference, nu)
    i_wins = drawn < win_rate(difference, nu) - tied / 2
    return Batch(person, np.where(i_wins, i, j), np.where(i_wins, j, i), drawn >= 1 - tied)


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


# ---- votes from a published model -------------------------------------------------------------------------------


class Layout(StrEnum):
    """Which columns synthetic votes have."""

    LONG = "long"
    """person, winner, loser"""
    ARENA = "arena"
    """model_a, model_b, winner, judge"""


LayoutWord = Layout | Literal["long", "arena"]
"""what callers may write: the word, or the member it stands for"""

SYNTHETIC = "synthetic votes, drawn from a published model: nobody cast them"


def synthetic(
    published: Release | GroupedRelease | NoisyTally | GroupedTally,
    votes: int,
    *,
    shape: LayoutWord = "long",
    group: str | None = None,
    seed: int | None = None,
) -> pa.Table:
    """Votes drawn from a published model, as a pyarrow table that `read_votes` reads. Costs nothing: nobody cast them.

    published  a `Release` with method="bradley-terry", on any scale, or a `NoisyTally`, whose scores are computed first
    votes      how many; every pair is equally likely, and nobody casts two. There are ties if the model has them.
    shape      the columns. "long": person, winner, loser, and tie if there are any. "arena": model_a, model_b, winner,
               judge. In both of them the column synthetic is always true, and people are called synthetic-1,
               synthetic-2 and so on.
    group      which ranking is meant, where there is one for each group
    seed       a whole number, 0 or more; the same one gives the same votes. None: new ones each time.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> release = qr.rank(votes, qr.Privacy(epsilon=1, unit="comparison"), method="bradley-terry")
    >>> table = qr.synthetic(release, votes=100, seed=1)
    >>> table.num_rows, table.column_names
    (100, ['person', 'winner', 'loser', 'synthetic'])
    """
    import pyarrow

    from quietrank.publish.model import published_model

    number_of_votes = _whole("votes", votes, 1)
    _require_in_memory(number_of_votes, "synthetic")
    parts = synthetic_columns(published_model(published, group), number_of_votes, shape, seed)
    return pyarrow.concat_tables([pyarrow.table(part, metadata={"quietrank": SYNTHETIC}) for part in parts])


def synthetic_columns(model: PublishedModel, votes: int, shape: object, seed: object) -> Iterator[Columns]:
    """That many votes of the model in this shape, some at a time."""
    chosen = parse(Layout, "shape", shape)
    if chosen is Layout.ARENA and {"model_a", "model_b"} & set(model.names):
        raise QuietrankError(f"an item is called like a column of {option('shape', 'arena')}; use the shape long")
    if votes > MOST_VOTES:
        raise QuietrankError(f"at most {MOST_VOTES:g} votes can be drawn; got {option('votes', votes)}")
    rng = np.random.default_rng(None if seed is None else _whole("seed", seed, 0))
    batches = people_votes(model.theta, votes, 1, rng, model.link, model.nu)
    shaped = _long if chosen is Layout.LONG else _arena
    return (shaped(batch, np.array(model.names, dtype=object), rng) for batch in batches)


def _long(batch: Batch, names: NDArray[Any], rng: np.random.Generator) -> Columns:
    votes = {"person": _nobody(batch), "winner": names[batch.winner], "loser": names[batch.loser]}
    if batch.tie is not None:
        votes["tie"] = batch.tie
    return votes | {"synthetic": np.ones(len(batch.winner), dtype=bool)}


def _arena(batch: Batch, names: NDArray[Any], rng: np.random.Generator) -> Columns:
    """The winner stands on either side with probability 1/2."""
    left = rng.random(len(batch.winner)) < 0.5
    a, b = np.where(left, batch.winner, batch.loser), np.where(left, batch.loser, batch.winner)
    winner = np.where(left, "model_a", "model_b")
    if batch.tie is not None:
        winner = np.where(batch.tie, "tie", winner)
    votes = {"model_a": names[a], "model_b": names[b], "winner": winner}
    return votes | {"judge": _nobody(batch), "synthetic": np.ones(len(a), dtype=bool)}


def _nobody(batch: Batch) -> NDArray[Any]:
    """Names of people who do not exist, one per vote."""
    assert batch.person is not None
    return np.char.add("synthetic-", (batch.person + 1).astype(str))


# ---- writing ----------------------------------------------------------------------------------------------------


def write_votes(batches: Iterator[Batch], names: list[str], out: Path | None) -> int:
    """Write votes that `rank` reads (person, winner, loser) to a file, or as CSV to stdout; returns their number."""
    return write_columns((_columns(batch, names) for batch in batches), out)


def write_columns(parts: Iterator[Columns], out: Path | None, note: str | None = None) -> int:
    """Write votes to a file, or as CSV to stdout; returns their number. A Parquet file carries the note."""
    if out is None:
        return _write_csv(parts, sys.stdout)
    check_output(out, VOTES)
    with written_whole(out, VOTES, overwrite=False) as draft:
        if draft.suffix == ".parquet":
            return _write_parquet(parts, draft, note)
        opener: Any = gzip.open if draft.suffix == ".gz" else open
        with opener(draft, "wt", encoding="utf-8", newline="") as stream:
            return _write_csv(parts, stream)


def _write_csv(parts: Iterator[Columns], stream: IO[str]) -> int:
    writer = csv.writer(stream, lineterminator="\n")
    count = 0
    for place, columns in enumerate(parts):
        if place == 0:  # not where nothing is counted yet: a part may be empty
            writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        count += len(next(iter(columns.values())))
    return count


def _write_parquet(parts: Iterator[Columns], out: Path, note: str | None) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, writer = 0, None
    for columns in parts:
        table = pa.table(columns, metadata=None if note is None else {"quietrank": note})
        writer = writer or pq.ParquetWriter(out, table.schema)
        writer.write_table(table)
        count += table.num_rows
    if writer is not None:
        writer.close()
    return count


def _columns(batch: Batch, names: list[str]) -> Columns:
    label = np.array(names)
    person = {} if batch.person is None else {"person": batch.person + 1}
    return person | {"winner": label[batch.winner], "loser": label[batch.loser]}
