"""A `Case` in, how far its statistic moves when votes of one person are appended to the file while it is counted, out.

If a weight comes from one reading of a file and the sum from another, nobody is bounded: a person who had one vote at
the first reading and thousands at the second counts for thousands. A file may grow while it is read, and the count must
then be refused before anything is debited, or be that of one file: the one before, the one after, or one in between.
These differ in one person's votes, so they are neighbours, and noise covers their distance.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quietrank.arrays import Integers
from quietrank.auditing import norms, trace
from quietrank.auditing.bounds import part_of
from quietrank.auditing.cases import Case
from quietrank.errors import VotesError

ROWS = 40_000
"""rows at the beginning, so that counting them takes a while"""
APPENDED = 20_000
"""additional votes of one person"""
SEED = 9


@dataclass(frozen=True)
class Growth:
    """What was seen in many tries."""

    tries: int
    refused: int
    furthest: float
    """the largest distance from the nearer of the two files, as a part of the bound"""
    debited: bool
    """whether a count was refused after it was paid for"""

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        too_far = [f"moves {self.furthest:.7g} times as far as derived"] if self.furthest > 1 else []
        return (*too_far, *["refused after the debit"] * self.debited)


def check(case: Case, tries: int, rows: int = ROWS) -> Growth:
    """Count `tries` times, and append at a random moment of each count: one in each of `tries` parts of its time."""
    rng = np.random.default_rng(SEED)
    refused, debited, furthest = 0, False, 0.0
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        growing = _Growing.written(case, Path(folder) / "votes.csv", rows, rng)
        before, after, duration = growing.before_and_after(case)
        for k in range(tries):
            statistic, charges = growing.counted(case, (k + rng.random()) / tries * duration)
            if statistic is None:
                refused, debited = refused + 1, debited or charges > 0
            else:
                furthest = max(furthest, min(_part(case, statistic - exact) for exact in (before, after)))
    return Growth(tries, refused, furthest, debited)


def _part(case: Case, difference: Integers) -> float:
    calibrated = case.calibrated
    moved, allowed = norms.moved(calibrated, difference), norms.allowed(calibrated)
    # A float slightly above 1 may be rounded to 1, so fractions are compared.
    part = part_of(case, moved, allowed)
    return max(part, float(np.nextafter(1, 2))) if moved > allowed else min(part, 1.0)


@dataclass(frozen=True)
class _Growing:
    """A file of votes that can be restored to its first size."""

    path: Path
    size: int
    more: bytes

    @classmethod
    def written(cls, case: Case, path: Path, rows: int, rng: np.random.Generator) -> _Growing:
        """Ten votes from each of many people, and one vote from `u`, whose other votes are appended later."""
        names = [name.encode() for name in case.items.names]
        n = len(names)
        first = rng.integers(0, n, rows)
        second = (first + rng.integers(1, n, rows)) % n
        lines = [
            b"p%d,%b,%b,a\n" % (k // 10, names[i], names[j])
            for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
        ]
        vote = b"u,%b,%b,a\n" % (names[0], names[1])
        whole = b"person,item_a,item_b,outcome\n" + vote + b"".join(lines)
        path.write_bytes(whole)
        return cls(path, len(whole), vote * APPENDED)

    def before_and_after(self, case: Case) -> tuple[Integers, Integers, float]:
        """The exact statistics of the file while nobody touches it, and how long a count takes."""
        before = self._statistic(case)
        began = time.perf_counter()
        self._statistic(case)  # again, because the first count also loads the libraries
        duration = time.perf_counter() - began
        self._append()
        return before, self._statistic(case), duration

    def counted(self, case: Case, delay: float) -> tuple[Integers | None, int]:
        """The statistic of the file, which grows after `delay` seconds, or None if refused; and how many debits."""
        os.truncate(self.path, self.size)
        ledger = trace.Recorder()
        writer = threading.Timer(delay, self._append)
        writer.start()
        try:
            return self._statistic(case, ledger), len(ledger.charges)
        except VotesError:
            return None, len(ledger.charges)
        finally:
            writer.join()

    def _statistic(self, case: Case, ledger: trace.Recorder | None = None) -> Integers:
        """Read, count, pay and draw, as a release does; the exact statistic."""
        calibrated = case.calibrated
        counted = trace.count(case, trace.read(case, self.path))
        trace.cross(counted, calibrated, ledger)
        return trace.statistics(counted, calibrated)

    def _append(self) -> None:
        with self.path.open("ab") as stream:
            stream.write(self.more)
