"""A `Case` in, a finding out: on neighbouring files no statistic moves further than derived, and nothing else moves."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from quietrank.auditing import neighbours, norms, trace
from quietrank.auditing.cases import Case
from quietrank.auditing.neighbours import Neighbouring
from quietrank.auditing.trace import Seen
from quietrank.errors import QuietrankError
from quietrank.estimate.methods import Expected
from quietrank.mechanisms.scatter import Around
from quietrank.noise import normal
from quietrank.promise.privacy import Neighbours, Unit

ENOUGH = 0.99
"""Some pair must reach this part of the bound: otherwise the bound is too loose, and noise is wasted."""


SAMPLES = (0, 1)
"""k: the scatter is that of everybody, and of about half of the people, of whom some leave the sample and some enter"""


@dataclass(frozen=True)
class Moves:
    """What was seen on many pairs of neighbours."""

    pairs: int
    furthest: float
    """the largest movement, as a part of the bound"""
    within: bool
    """whether no movement exceeded the bound, in exact arithmetic"""
    changed: tuple[str, ...]
    """what else differed between neighbours, although it must not"""
    tight: bool = True
    """whether some pair must reach the bound"""
    scatter: float = 0.0
    """the largest loss of a scatter, as a part of what it costs"""
    histogram: float = 0.0
    """the same of a histogram of votes per person"""

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        complaints = [f"{name} differs between neighbours" for name in self.changed]
        if not self.within:
            complaints.append(f"moves {self.furthest:.7g} times as far as derived")
        if self.scatter > 1:
            complaints.append(f"the scatter moves {self.scatter:.7g} times as far as its noise covers")
        if self.histogram > 1:
            complaints.append(f"the histogram moves {self.histogram:.7g} times as far as its noise covers")
        if self.within and self.tight and self.furthest < ENOUGH:
            complaints.append(f"reaches only {self.furthest:.3f} of the bound, which is slack")
        return tuple(complaints)


def check(case: Case, pairs: int, releases: int = 1, beside: int = len(Around), *, all_pairs: bool = True) -> Moves:
    """Run `pairs` pairs of neighbouring files through reading, bounding and counting; `releases` of them to the end.
    Of the first `beside`, what may be bought beside the counts is measured as well: the scatter and the histogram.
    Without `all_pairs` it ends where something is wrong."""
    furthest, scatter, histogram, within, changed = 0.0, 0.0, 0.0, True, set()
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        for index, pair in enumerate(neighbours.neighbouring(case, pairs)):
            one, other = _sides(case, pair, Path(folder))
            changed |= _different(one.public, other.public)
            if one.values.size and one.values.shape == other.values.shape:
                moved, allowed = _movement(case, one, other)
                within = within and moved <= allowed
                furthest = max(furthest, part_of(case, moved, allowed))
            if index < releases or pair.skip_invalid:
                changed |= _released_differently(case, pair, Path(folder))
            if index < min(beside, len(Around)) and case.privacy.unit is Unit.PERSON:
                around = list(Around)[index]
                scatter = max(scatter, *(_scatter_moves(case, pair, around, bits, Path(folder)) for bits in SAMPLES))
                histogram = max(histogram, _histogram_moves(case, pair, Path(folder)))
            if not all_pairs and (changed or not within):
                break
    # Of noise that only its law describes, the loss at one point is compared; with δ > 0 that may be far below ε.
    tight = case.perturbed is not None or norms.is_known(case.calibrated) or case.privacy.delta == 0
    return Moves(pairs, furthest, within, tuple(sorted(changed)), tight, scatter, histogram)


def _sides(case: Case, pair: Neighbouring, folder: Path) -> tuple[Seen, Seen]:
    one, other = (trace.see(case, votes) for votes in _files(case, pair, folder))
    return one, other


def _files(case: Case, pair: Neighbouring, folder: Path) -> Iterator[Any]:
    """Both sides as files of the same name, each read again."""
    for rows in (pair.one, pair.other):
        path = trace.write_votes(case, rows, folder / "votes.csv", by_winner=pair.by_winner, wide=pair.wide)
        yield trace.read(case, path, skip_invalid=pair.skip_invalid)


def _movement(case: Case, one: Seen, other: Seen) -> tuple[Fraction, Fraction]:
    """How far the statistic moved and how far it may."""
    difference = other.values - one.values
    if case.perturbed:
        # Each side's unit has votes of total weight at most L over all groups, and takes no weight from other votes.
        moved = int(np.abs(difference).sum()) * Fraction(one.public["step"])
        return moved, Fraction(case.privacy.limit * (1 if case.privacy.counted_as is Neighbours.ADD_REMOVE else 2))
    calibrated = case.calibrated
    return norms.moved(calibrated, difference), norms.allowed(calibrated)


def _scatter_moves(case: Case, pair: Neighbouring, around: Around, bits: int, folder: Path) -> float:
    """The loss of the scatter between these neighbours, as a part of what it costs; around the worst expectations."""
    signs = np.resize([1.0, -1.0], len(case.items))
    expected = Expected(around, {Around.EXPOSURES: (1 + signs) / 2, Around.PAIRS: 16 * signs}.get(around, signs / 2))
    try:
        sides = (trace.scatters(case, votes, expected, bits) for votes in _files(case, pair, folder))
        (one, noise), (other, _) = sides
    except QuietrankError:
        return 0.0  # a file that cannot be used; `see` compares how it is refused
    return float(np.abs(one - other).sum()) / noise.noise.scale / noise.epsilon


def _histogram_moves(case: Case, pair: Neighbouring, folder: Path) -> float:
    """The loss of a histogram of votes per person between these neighbours, as a part of what it costs."""
    try:
        one, other = (trace.histogram(case, votes) for votes in _files(case, pair, folder))
    except QuietrankError:
        return 0.0
    if one is None or other is None:
        return 0.0  # votes per person are public
    return float(np.abs(one[0] - other[0]).sum()) / one[1].noise.scale / one[1].epsilon


def part_of(case: Case, moved: Fraction, allowed: Fraction) -> float:
    """The movement as a part of the bound; the ratio of norms, where their squares are compared."""
    squares = isinstance(case.calibrated.noise, normal.RoundedGaussianNoise)
    return math.sqrt(moved / allowed) if squares else float(moved / allowed)


def _released_differently(case: Case, pair: Neighbouring, folder: Path) -> set[str]:
    """Whole releases: with γ as declared and, for the perturbed MLE, also with the library's default γ."""
    changed = set()
    for gamma in {case.perturbed.gamma if case.perturbed else None, None}:
        first, second = (trace.release_outline(case, votes, gamma=gamma) for votes in _files(case, pair, folder))
        changed |= {f"release: {name}" for name in _different(first, second)}
    return changed


def _different(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """The names under which the two differ."""
    return {name for name in one.keys() | other.keys() if not _same(one.get(name), other.get(name))}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)
