"""A `Case` in, p-values out: the noise of a release has the distribution it claims, and is fresh in every draw.

Draws come from the one crossing, alternating between two neighbouring tallies, or two sets of tallies, one per group.
Each part of the claimed law is turned into bins of known probability, and the counts are compared by Pearson's
chi-square test.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from quietrank.arrays import Floats, Integers
from quietrank.auditing import list_law, norms, trace
from quietrank.errors import PrivacyError
from quietrank.mechanisms.mechanism import Calibrated, Noise
from quietrank.noise import knorm, lattice, normal
from quietrank.noise.selection import TopNoise
from quietrank.noise.tiles import positive_weights
from quietrank.promise.accounting import Charge
from quietrank.votes.tallies import Tallies

Sides = tuple[Tallies, Tallies]
"""the tallies of two neighbours"""

BINS = 24
FEWEST = 8.0
"""the least expected number of draws in a bin"""
FINE = 1000.0
"""from this scale on, in steps, two draws of the same value in a row are a sign that something is wrong"""
REMAINDERS = 16
"""of the noise in steps; at σ = 1000 they are equally likely but for 10^-30000 of them"""
GAMMA_TAILS = special.gammainc, special.gammaincc
BLOCK = 24
"""draws that are compared as a whole: two blocks of fresh noise agree with probability below 10^-9 at any scale"""

MANY_LISTS = 300
"""the same for lists of names, of which there are few"""


@dataclass(frozen=True)
class Fit:
    """How well one part of the law fits."""

    part: str
    p_value: float


def deviations(calibrated: Calibrated, sides: Sides, draws: int) -> Integers:
    """Released values minus exact ones, one row per draw and group, alternating between both sides; of lists, the lists
    themselves."""
    if isinstance(calibrated.noise, TopNoise):
        return np.concatenate([one.values for k in range(draws) for one in trace.cross(sides[k % 2], calibrated)])
    exact = [trace.statistics(side, calibrated) for side in sides]
    noises = [[one.values for one in trace.cross(sides[k % 2], calibrated)] - exact[k % 2] for k in range(draws)]
    return np.concatenate(noises)


def fits(calibrated: Calibrated, noises: Integers) -> list[Fit]:
    """One p-value for each part of the claimed law."""
    noise = calibrated.noise
    if isinstance(noise, lattice.LaplaceNoise):
        parts = list(_lattice(noises, lambda k: laplace_cdf(k, noise.scale)))
    elif isinstance(noise, normal.RoundedGaussianNoise):
        parts = list(gaussian_parts(noises, noise.scale))
    elif isinstance(noise, knorm.BallNoise):
        parts = list(_balls(noise, noises.astype(np.float64)))
    elif isinstance(noise, knorm.KNormNoise):
        parts = list(_k_norm(calibrated, noise, noises))
    else:
        parts = list(_by_its_law(calibrated, noises))
    return [*parts, Fit("in turns", independent(noises[:, 0]))]


def list_fits(calibrated: Calibrated, sides: Sides, draws: int) -> list[Fit]:
    """One p-value for the lists of each side and group, against their exact probabilities, and one for their order."""
    noise, parts, first = calibrated.noise, [], None
    assert isinstance(noise, TopNoise)
    for name, side in zip(("one side", "the other"), sides, strict=True):
        released = [[tuple(one.values.tolist()) for one in trace.cross(side, calibrated)] for _ in range(draws // 2)]
        for counts, lists in zip(trace.statistics(side, calibrated), zip(*released, strict=True), strict=True):
            known = list_law.all_lists(noise, tuple(map(int, counts)))
            first = first or (known, lists)
            parts.append(Fit(name, _list_fit(known, lists)))
    assert first is not None
    return [*parts, Fit("in turns", _in_turns(*first))]


def _list_fit(known: dict[tuple[int, ...], float], lists: Sequence[tuple[int, ...]]) -> float:
    seen, likely_first = Counter(lists), sorted(known.items(), key=lambda pair: -pair[1])
    counts = np.array([seen[names] for names, _ in likely_first])
    return pearson(counts, np.array([probability for _, probability in likely_first]))


def _in_turns(known: dict[tuple[int, ...], float], lists: Sequence[tuple[int, ...]]) -> float:
    """Whether the likeliest list is followed by itself as often as independent draws would be."""
    best = max(known, key=lambda names: known[names])
    hits = np.array([names == best for names in lists[: len(lists) // 2 * 2]]).reshape(-1, 2)
    p = known[best]
    expected = np.array([(1 - p) ** 2, p * (1 - p), p * (1 - p), p**2])
    return pearson(np.bincount(2 * hits[:, 0] + hits[:, 1], minlength=4), expected)


# ---- the laws -----------------------------------------------------------------------------------------------------


def laplace_cdf(k: Floats, scale: float) -> Floats:
    """P(Z ≤ k) for P(z) ∝ q^|z|, q = exp(−1/scale)."""
    q = math.exp(-1 / scale)
    far = np.exp(-np.abs(np.where(k >= 0, k + 1, k)) / scale) / (1 + q)
    return np.where(k >= 0, 1 - far, far)


def gaussian_cdf(k: Floats, scale: float) -> Floats:
    """P(Z ≤ k) for the nearest whole number Z to real-valued noise: Φ((k + ½)/σ)."""
    return np.asarray(special.ndtr((k + 0.5) / scale))


def laplace_parts(noises: Integers, scale: float) -> Iterator[Fit]:
    """Also Σ|z|/b, a sum of exponential waiting times as long as the lattice is fine."""
    yield from _lattice(noises, lambda k: laplace_cdf(k, scale))
    if scale < FINE:
        return
    tails = [tail(noises.size, float(np.abs(noises).sum() / scale)) for tail in GAMMA_TAILS]
    yield Fit("size", float(2 * min(tails)))


def gaussian_parts(noises: Integers, scale: float) -> Iterator[Fit]:
    """Also Σz²/σ², which is chi-square, and the remainders of fine noise, which are equally likely: noise that is
    rounded to a coarser lattice than the tally's leaves the last digits of the tally as they are."""
    yield from _lattice(noises, lambda k: gaussian_cdf(k, scale))
    if scale < FINE:
        return
    tails = [tail(noises.size / 2, float(((noises / scale) ** 2).sum()) / 2) for tail in GAMMA_TAILS]
    yield Fit("size", float(2 * min(tails)))
    counts = np.bincount((noises % REMAINDERS).reshape(-1), minlength=REMAINDERS)
    yield Fit("last digits", pearson(counts, np.full(REMAINDERS, 1 / REMAINDERS)))


def _by_its_law(calibrated: Calibrated, noises: Integers) -> Iterator[Fit]:
    """Rounded noise against the distribution of an entry, where its law knows that, and against its size."""
    law, step, first = calibrated.law, float(calibrated.step), noises[:, : len(calibrated.promise.items)]
    if law.cdf(np.zeros(1)) is not None:
        yield from _lattice(first, lambda k: np.asarray(law.cdf((k + 0.5) * step)))
    squares = (first * step).astype(np.float64) ** 2 / law.spread.value**2
    error = squares.mean(axis=1).std() / math.sqrt(len(squares))
    yield Fit("size", float(special.erfc(abs(squares.mean() - 1) / (error * math.sqrt(2)))))


def _lattice(noises: Integers, cdf: Callable[[Floats], Floats]) -> Iterator[Fit]:
    """Every entry together, and the first alone."""
    yield Fit("all entries", lattice_fit(noises.reshape(-1), cdf))
    yield Fit("first entry", lattice_fit(noises[:, 0], cdf))


def lattice_fit(values: Integers, cdf: Callable[[Floats], Floats]) -> float:
    """Bins with edges on the lattice, so that their probabilities are exact."""
    spread = max(1.0, float(np.median(np.abs(values))))
    # The edges follow a fixed rule from the size of the noise; any edges would do.
    edges = np.unique(np.round(spread * np.linspace(-4, 4, BINS + 1)))
    below = np.concatenate([[0.0], cdf(edges), [1.0]])
    counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
    return pearson(counts, np.diff(below))


def _k_norm(calibrated: Calibrated, noise: knorm.KNormNoise, noises: Integers) -> Iterator[Fit]:
    points = norms.signed(calibrated, noises).astype(np.float64)
    if isinstance(noise.body, knorm.Zonotope):
        yield from _zonotope(noise.body, points)
        return
    n, scale = noise.body.size, float(noise.body.scale)
    yield from _sum_zero(points[:, :n], scale)
    if noise.total is not None:
        total = noise.total.scale
        for entry in noises[:, n:].T:
            yield Fit("total or ties", lattice_fit(entry, lambda k: laplace_cdf(k, total)))


def _sum_zero(points: Floats, scale: float) -> Iterator[Fit]:
    """½‖z‖₁ is Gamma(n − 1), the number of positive entries has known weights, and the parts are uniform."""
    n = points.shape[1]
    size = np.abs(points).sum(axis=1) / 2
    yield Fit("size", uniform_fit(special.gammainc(n - 1, size / (scale / 2))))
    yield Fit("sign", pearson(np.bincount(points[:, 0] > 0, minlength=2), np.array([0.5, 0.5])))
    if n == 2:
        return
    positive = (points > 0).sum(axis=1)
    weights = np.array(positive_weights(n), dtype=np.float64)
    yield Fit("positive entries", pearson(np.bincount(positive, minlength=n)[1:n], weights / weights.sum()))
    # Given k positive entries, one of them has a part of their sum with P(part > x) = (1 − x)^(k − 1).
    chosen = (points[:, 0] > 0) & (positive > 1)
    part = points[chosen, 0] / size[chosen]
    yield Fit("parts", uniform_fit(1 - np.maximum(0.0, 1 - part) ** (positive[chosen] - 1)))


def _zonotope(body: knorm.Zonotope, points: Floats) -> Iterator[Fit]:
    """‖r·u‖ is Gamma(d), because ‖u‖ is the d-th root of a uniform number; each facet gets its share of directions."""
    d = body.dimension
    gauges = norms.zonotope_gauges(body, points)
    yield Fit("gauge", uniform_fit(special.gammainc(d, gauges / float(body.unit))))
    if body.extra is not None:
        # The cones over the two ends of an extra interval hold one part in d.
        for place in range(body.extra_entries):
            by_extra = np.abs(points[:, body.graph.vertices + place]) / float(body.extra) >= gauges * (1 - 1e-12)
            yield Fit("extra entry", pearson(np.bincount(by_extra, minlength=2), np.array([1 - 1 / d, 1 / d])))
    elif (number := _equal_facets(body)) is not None:
        _, counts = np.unique(norms.facets(body, points), return_counts=True)
        missing = np.zeros(max(0, number - len(counts)), dtype=np.int64)
        yield Fit("facets", pearson(np.concatenate([counts, missing]), np.full(max(number, len(counts)), 1 / number)))


def _balls(noise: knorm.BallNoise, points: Floats) -> Iterator[Fit]:
    """For each ball: ‖z‖/unit is Gamma(d), and the direction of z is uniform, so that (a·z/‖z‖)² is Beta(½, (d − 1)/2)
    for any fixed direction a: along an entry, and across all of them."""
    lengths, start = norms.ball_lengths(noise, points), 0
    for ball, length in zip(noise.balls, lengths.T, strict=True):
        d, part = ball.dimension, points[:, start : start + ball.size]
        start += ball.size
        yield Fit("length", uniform_fit(special.gammainc(d, length)))
        yield Fit("sign", pearson(np.bincount(part[:, 0] > 0, minlength=2), np.array([0.5, 0.5])))
        if ball.unit > FINE:
            parity = np.bincount(part[:, 0].astype(np.int64) % 2, minlength=2)
            yield Fit("last digit", pearson(parity, np.array([0.5, 0.5])))
        for name, axis in () if d == 1 else _axes(ball):
            along = (part @ axis / (length * float(ball.unit))) ** 2
            yield Fit(name, uniform_fit(special.betainc(0.5, (d - 1) / 2, np.clip(along, 0, 1))))


def _axes(ball: knorm.Ball) -> Iterator[tuple[str, Floats]]:
    """Two fixed directions within the span: of the first entry, and of entries that alternate in sign."""
    first, across = np.zeros(ball.size), np.resize([1.0, -1.0], ball.size)
    first[0] = 1.0
    for name, axis in (("first entry", first), ("across entries", across)):
        inside = axis - axis.mean() if ball.sum_zero else axis
        yield name, inside / np.linalg.norm(inside)


def _equal_facets(body: knorm.Zonotope) -> int | None:
    """The number of facets where symmetry makes their cones equal: no cycle, where K is a box, or one cycle."""
    graph = body.graph
    degrees = {len(around) for around in graph.neighbours}
    if len(graph.edges) == graph.dimension:
        return 2 * len(graph.edges)
    if degrees == {2} and len(set(graph.component)) == 1:
        return len(graph.edges) * (len(graph.edges) - 1)
    return None


# ---- tests --------------------------------------------------------------------------------------------------------


def uniform_fit(values: Floats) -> float:
    """Whether these are uniform on (0, 1)."""
    counts = np.bincount(np.minimum((values * BINS).astype(np.int64), BINS - 1), minlength=BINS)
    return pearson(counts, np.full(BINS, 1 / BINS))


def pearson(counts: Integers, probabilities: Floats) -> float:
    """The p-value of Pearson's chi-square test, with small bins merged."""
    total = int(counts.sum())
    merged: list[list[float]] = []
    for count, probability in zip(counts.tolist(), probabilities.tolist(), strict=True):
        if merged and (merged[-1][1] < FEWEST or probability * total < FEWEST):
            merged[-1][0] += count
            merged[-1][1] += probability * total
        else:
            merged.append([count, probability * total])
    if len(merged) < 2:
        return 1.0 if total else 0.0
    statistic = sum((count - expected) ** 2 / max(expected, 1e-9) for count, expected in merged)
    return float(special.gammaincc((len(merged) - 1) / 2, statistic / 2))


def independent(entry: Integers) -> float:
    """Whether all four combinations of the signs of a draw and of the next one, which is on the neighbour or for the
    other group, are equally frequent."""
    pairs = entry[: len(entry) // 2 * 2].reshape(-1, 2)
    pairs = pairs[(pairs != 0).all(axis=1)]
    which = 2 * (pairs[:, 0] > 0) + (pairs[:, 1] > 0)
    return pearson(np.bincount(which, minlength=4), np.full(4, 0.25))


# ---- entropy ------------------------------------------------------------------------------------------------------


def repeated(calibrated: Calibrated, sides: Sides) -> list[str]:
    """Whether noise repeats: in a row, in two releases, or in two processes that started alike."""
    block = MANY_LISTS if isinstance(calibrated.noise, TopNoise) else BLOCK
    first, second = (deviations(calibrated, sides, block).tolist() for _ in range(2))
    complaints = []
    if first == second:
        complaints.append("two releases in one process had the same noise")
    draws = in_children(lambda: deviations(calibrated, sides, block).tobytes())
    if len(set(draws)) != len(draws):
        complaints.append("two processes that started alike drew the same noise")
    if isinstance(calibrated.noise, TopNoise):
        return complaints
    together = [tuple(draw) for draw in first + second]
    fine = calibrated.law.spread.value > FINE * float(calibrated.step)
    if fine and sum(a == b for a, b in itertools.pairwise(together)) > 2:
        complaints.append("noise was used twice in a row")
    return complaints


def in_children(work: Callable[[], bytes], children: int = 2) -> list[bytes]:
    """What forked copies of this process draw: a generator seeded before the fork would give all of them the same.

    A copy has the objects of the engine that counts votes, without its threads, and may crash when it clears them away:
    so it clears nothing away, and if it dies without an answer, it has drawn nothing.
    """
    if not hasattr(os, "fork"):
        return []
    answers = []
    for _ in range(children):
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            gc.disable()
            try:
                os.write(send, work())
            finally:
                os._exit(0)
        os.close(send)
        with os.fdopen(receive, "rb") as stream:
            answers.append(stream.read())
        os.waitpid(child, 0)
    return [answer for answer in answers if answer]


# ---- the ledger comes first ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WatchedLedger:
    """Records when it is debited; refuses if told to."""

    events: list[str]
    refuse: bool

    def debit(self, charge: Charge) -> str:
        self.events.append("debit")
        if self.refuse:
            raise PrivacyError("refused, to see what happens")
        return "1"


def order_of_events(release: Callable[[WatchedLedger], object], draws: int) -> list[str]:
    """What is wrong with the order: it must be one `debit`, then `draws` times `draw`, and no draw after a refusal.

    `release` makes a release that the given ledger pays for, and records its draws in the ledger's events.
    """
    seen = []
    for refuse in (False, True):
        ledger = WatchedLedger([], refuse)
        try:
            release(ledger)
        except PrivacyError:
            ledger.events.append("refused")
        seen.append(ledger.events)
    if seen == [["debit", *["draw"] * draws], ["debit", "refused"]]:
        return []
    return [f"the ledger does not come first: {', '.join(seen[0])}; {', '.join(seen[1])}"]


def ledger_first(calibrated: Calibrated, tallies: Tallies) -> list[str]:
    """The same for noise on tallies."""

    def release(ledger: WatchedLedger) -> object:
        watched = replace(calibrated, noise=_watched(calibrated.noise, ledger.events))
        return trace.cross(tallies, watched, ledger)

    return order_of_events(release, len(tallies))


def _watched(noise: Noise, events: list[str]) -> Noise:
    """The same noise, of a class that records when it is drawn."""
    kind: Any = type(noise)

    def add_to(self: Noise, values: Integers) -> Integers:
        events.append("draw")
        return np.asarray(kind.add_to(self, values))

    copied = copy.copy(noise)
    object.__setattr__(copied, "__class__", type(kind.__name__, (kind,), {"add_to": add_to}))
    return copied
