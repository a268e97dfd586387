"""Settings in; every mean with its standard error out. Parallel, resumable, and the same however it was run.

Repetitions are computed in chunks. A finished chunk is a small JSON file below DIR/parts, written under another name
and renamed, so that an interrupted run loses only the unfinished chunks and continues with the same command. Each
repetition has its own seed, BLAS runs on one thread, and means are taken over the stored repetitions in order: the
number of workers, interruptions and chunk sizes leave no trace in the result.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path

import numpy as np

from quietrank.errors import QuietrankError, ReleaseError, option
from quietrank.paper import experiments
from quietrank.paper.experiments import Cell, Point
from quietrank.processes import results
from quietrank.publish.files import MEANS, check_output, written_whole

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Curves = dict[Point, list[float]]
Progress = Callable[[float, float], None]  # cost of the chunk just finished, cost of all


@dataclass(frozen=True)
class Settings:
    """What to run and where to save it; repetitions=None means each experiment's own number."""

    out: Path
    figures: tuple[str, ...] = experiments.FIGURES
    repetitions: int | None = None
    quick: bool = False
    seed: int = 1
    workers: int = 2  # 0: in this process

    def __post_init__(self) -> None:
        if self.repetitions is not None and self.repetitions < 1:
            raise QuietrankError(f"repetitions must be >= 1, got repetitions={self.repetitions}")
        if self.workers < 0:
            raise QuietrankError(f"workers must be >= 0, got workers={self.workers}")
        if self.seed < 0:
            raise QuietrankError(f"seed must be >= 0, got seed={self.seed}")

    def runs(self, experiment: str) -> int:
        return self.repetitions or (experiments.QUICK if self.quick else experiments.REPETITIONS)[experiment]

    def cells(self) -> list[Cell]:
        return [cell for figure in self.figures for cell in experiments.cells(figure, self.quick)]


@dataclass(frozen=True)
class Row:
    """One line of the table of means."""

    experiment: str
    method: str
    metric: str
    n: int
    p: float | None
    m: int | None
    epsilon: float
    data: str
    runs: int
    mean: float
    standard_error: float


@dataclass(frozen=True)
class Chunk:
    """Some repetitions of a cell, and the file that holds their values."""

    cell: Cell
    start: int
    stop: int
    seed: int
    out: Path
    fingerprint: str

    @classmethod
    def of(cls, cell: Cell, start: int, stop: int, seed: int, out: Path) -> Chunk:
        return cls(cell, start, stop, seed, out, cell.fingerprint(seed))

    @property
    def path(self) -> Path:
        return self.out / "parts" / self.cell.experiment / f"{self.cell.name}-{self.start:04d}-{self.stop:04d}.json"

    @property
    def cost(self) -> float:
        return self.cell.cost * (self.stop - self.start)

    def load(self) -> Curves | None:
        """The stored values, or None if there are none or they belong to other settings."""
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            if stored["fingerprint"] != self.fingerprint:
                return None
            return {Point(a, b, float(e), d): list(map(float, values)) for a, b, e, d, values in stored["values"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def compute(self) -> None:
        curves: Curves = {}
        for repetition in range(self.start, self.stop):
            for point, value in experiments.repeat(self.cell, repetition, self.seed).items():
                curves.setdefault(point, []).append(value)
        values = [[c.method, c.metric, str(c.epsilon), c.data, numbers] for c, numbers in curves.items()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(f".{os.getpid()}.tmp")
        text = json.dumps({"fingerprint": self.fingerprint, "values": values})
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path)


def chunks(settings: Settings) -> list[Chunk]:
    """Everything to be computed."""
    parts = []
    for cell in settings.cells():
        runs = settings.runs(cell.experiment)
        for start in range(0, runs, cell.chunk):
            parts.append(Chunk.of(cell, start, min(start + cell.chunk, runs), settings.seed, settings.out))
    return parts


def require_place(out: Path) -> None:
    """Refuse, before anything is computed, a path that cannot be a folder, or one with a foreign table of means."""
    nearest = next(place for place in (out, *out.parents) if place.exists())
    if not nearest.is_dir():
        raise ReleaseError(f"{nearest} is not a folder; choose another place for the results with {option('out')}")
    if nearest == out:
        check_output(out / "means.csv", MEANS, overwrite=True)


def run(settings: Settings, progress: Progress = lambda done, total: None) -> list[Row]:
    """Compute what is missing, then read all parts, write DIR/means.csv and return its rows."""
    require_place(settings.out)
    todo = chunks(settings)
    total = sum(chunk.cost for chunk in todo)
    missing = [chunk for chunk in todo if chunk.load() is None]
    progress(total - sum(chunk.cost for chunk in missing), total)
    for chunk in _computed(missing, settings.workers):
        progress(chunk.cost, total)
    rows = summarise(todo)
    write_rows(rows, settings.out / "means.csv")
    return rows


def _computed(missing: list[Chunk], workers: int) -> Iterator[Chunk]:
    """Compute the chunks and yield each as it is finished."""
    if workers == 0 or not missing:
        for chunk in missing:
            chunk.compute()
            yield chunk
        return
    with _one_blas_thread():
        for number, _ in results([chunk.compute for chunk in missing], workers, "spawn"):
            yield missing[number]


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Workers inherit this: their linear algebra must neither depend on the number of cores nor compete for them."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def summarise(parts: list[Chunk]) -> list[Row]:
    """Means over the stored repetitions, in the order of their numbers."""
    curves: dict[tuple[Cell, Point], list[float]] = {}
    for chunk in parts:
        stored = chunk.load()
        if stored is None:
            raise QuietrankError(f"{chunk.path} is missing or was changed while running; start the same command again")
        for point, values in stored.items():
            curves.setdefault((chunk.cell, point), []).extend(values)
    return [_row(cell, point, values) for (cell, point), values in curves.items()]


def _row(cell: Cell, point: Point, values: list[float]) -> Row:
    mean, error = experiments.mean_and_error(np.array(values))
    return Row(
        cell.experiment, point.method, point.metric, cell.n, cell.p, cell.m, point.epsilon,
        point.data or cell.data, len(values), mean, error,
    )  # fmt: skip


def write_rows(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [column.name for column in fields(Row)]
    with written_whole(path, MEANS) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell_text(getattr(row, name)) for name in names] for row in rows)


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read_rows(path: Path) -> list[Row]:
    """What write_rows wrote."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return [_parse(row) for row in csv.DictReader(stream)]
    except OSError:
        raise QuietrankError(
            f"there are no results in {path.parent}; make them with: quietrank paper --out {path.parent}"
        ) from None
    except (csv.Error, KeyError, TypeError, ValueError):
        raise QuietrankError(f"{path} is not a table of means that quietrank paper wrote; run it again") from None


def _parse(row: dict[str, str]) -> Row:
    return Row(
        experiment=row["experiment"],
        method=row["method"],
        metric=row["metric"],
        n=int(row["n"]),
        p=float(row["p"]) if row["p"] else None,
        m=int(row["m"]) if row["m"] else None,
        epsilon=inf if row["epsilon"] == "inf" else float(row["epsilon"]),
        data=row["data"],
        runs=int(row["runs"]),
        mean=float(row["mean"]),
        standard_error=float(row["standard_error"]),
    )
