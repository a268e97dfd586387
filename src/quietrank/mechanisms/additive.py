"""A promise, a statistic and a mechanism's name in; the additive noise that keeps the promise out. Needs no votes.

Everything is computed from public values: the list of items and askable pairs, the options, and nothing else. The
noise is calibrated from the sensitivity up, and `require_kept` recomputes its loss before a release may draw it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import sqrt

from quietrank import noise
from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.laws import GaussianLaw, LaplaceLaw, Law, ZonotopeLaw
from quietrank.promise.accounting import Cost, as_written, delta_of, rho_for
from quietrank.promise.graph import Graph, double_cover
from quietrank.promise.items import Items
from quietrank.promise.privacy import Neighbours, Privacy, Unit
from quietrank.statistics.sensitivity import (
    EXPOSURE_SHARE,
    PERSON_GRID,
    Clip,
    Sensitivity,
    Statistic,
    gauge,
    half_vote,
    norm_of_one_vote,
    sensitivity,
    squared_l2,
)

FINE = Fraction(1, 2 * PERSON_GRID)
"""The lattice of K-norm noise, in votes: its values are rounded real numbers, so it is fine whatever the unit."""

MOST_SUM_ZERO = 24
"""Up to this many entries, Laplace noise is drawn given that it sums to zero, as net wins do.

At n entries its standard deviation is √((2n − 1)(n − 1)/(n(n + 1))) scales instead of the √(2(1 − 1/n)) that centred
independent noise has: 16 % less at n = 4, 7 % at 10, 3 % at 24. docs/proofs/zonotope.md has the table."""

MOST_ZONOTOPE_PAIRS = 20_000
"""A draw takes about 25 ms and 0.6 GB at this many pairs (all of 200 items), and both grow with their square."""

TYPICAL_RATE_VARIANCE = 0.018
"""The variance of win rates among items of typical spread (scores with a standard deviation of 0.6)."""


class MechanismName(StrEnum):
    """Where the noise goes in, and of what kind it is."""

    AUTO = "auto"
    LAPLACE = "laplace"
    """on the tally, calibrated in the L1 norm"""
    ZONOTOPE = "zonotope"
    """on the tally, calibrated to one answer per person and pair"""
    GAUSSIAN = "gaussian"
    """on the tally, calibrated in the L2 norm; needs δ > 0"""
    PERTURBED_MLE = "perturbed-mle"
    """inside the likelihood"""


Figure = float | str


@dataclass(frozen=True)
class Calibrated:
    """Noise that keeps a promise, and all that is public about it."""

    mechanism: MechanismName
    privacy: Privacy
    """the promise that is kept: δ = 0 for pure mechanisms, the clipping bound filled in"""
    statistic: Statistic
    groups: bool
    """whether the votes are split by group, one release for each"""
    noise: noise.Noise
    step: Fraction
    """the lattice of the released values, in votes"""
    share: Fraction
    """α or β, where the statistic is (s, αT) or (s, βd); else 1"""
    clip: Clip | None
    law: Law
    cost: Cost
    figures: tuple[tuple[str, Figure], ...]


def calibrate(
    items: Items, privacy: Privacy, statistic: Statistic, mechanism: MechanismName, *, groups: bool = False
) -> Calibrated:
    """The noise of `mechanism` on `statistic` that keeps the promise of `privacy` for these items."""
    maker = {
        MechanismName.LAPLACE: _laplace,
        MechanismName.ZONOTOPE: _zonotope,
        MechanismName.GAUSSIAN: _gaussian,
    }[mechanism]
    return maker(items, privacy, statistic, groups)


def for_items(privacy: Privacy, items: Items) -> Privacy:
    """The promise with L filled in: with one answer per pair nobody weighs more than all askable pairs."""
    if not privacy.one_per_pair:
        return privacy
    return privacy.changed(max_per_person=min(privacy.max_per_person or items.askable, items.askable))


# ---- Laplace ------------------------------------------------------------------------------------------------------


def _laplace(items: Items, privacy: Privacy, statistic: Statistic, groups: bool) -> Calibrated:
    privacy = privacy.changed(delta=0.0, clip=None)
    reach = _l1_reach(items, privacy, statistic, groups)
    size = statistic.per_item * len(items)
    sum_zero = statistic is not Statistic.WINS and size <= MOST_SUM_ZERO
    step = min(reach.step, FINE) if sum_zero else reach.step
    scale = noise.laplace_scale(reach.in_steps(step), as_written(privacy.epsilon))
    total = statistic is Statistic.NET_WINS_AND_TOTAL
    drawn: noise.Noise = noise.LaplaceNoise(scale)
    if sum_zero:
        drawn = noise.KNormNoise(
            noise.SumZero(size, Fraction(scale)),
            losses_mirrored=statistic is Statistic.WINS_AND_LOSSES,
            total=noise.LaplaceNoise(scale) if total else None,
        )
    share = reach.step / half_vote(privacy)
    law = LaplaceLaw(statistic, len(items), scale * float(step), sum_zero, float(share))
    figures: dict[str, Figure] = {
        "sensitivity": float(reach.l1),
        "norm": "L1",
        "scale": scale * float(step),
        "form": "given a sum of zero" if sum_zero else "independent",
    }
    return Calibrated(
        MechanismName.LAPLACE, privacy, statistic, groups, drawn, step, share, None, law,
        Cost.pure(privacy.epsilon), tuple(figures.items()),
    )  # fmt: skip


def _l1_reach(items: Items, privacy: Privacy, statistic: Statistic, groups: bool) -> Sensitivity:
    # The graph of all pairs of many items would be large, and its cut is known.
    pairs = len(items) if items.pairs is None else items.graph
    return sensitivity(privacy, statistic, pairs, groups=groups)


# ---- zonotope -----------------------------------------------------------------------------------------------------


def _zonotope(items: Items, privacy: Privacy, statistic: Statistic, groups: bool) -> Calibrated:
    if items.askable > MOST_ZONOTOPE_PAIRS:
        raise PrivacyError(
            f"the zonotope mechanism takes too long for {items.askable} pairs (at most {MOST_ZONOTOPE_PAIRS}); use "
            f"{option('mechanism', 'laplace')} with {option('max_per_person')}, or {option('mechanism', 'gaussian')} "
            f"with {option('delta')}"
        )
    privacy = privacy.changed(delta=0.0, clip=None)
    reach = gauge(privacy, statistic, groups=groups)
    joint, graph = statistic is Statistic.WINS_AND_LOSSES, zonotope_graph(items, statistic)
    extra = Fraction(2 * privacy.limit) if statistic is Statistic.NET_WINS_AND_TOTAL else None
    unit = reach / Fraction(as_written(privacy.epsilon))  # of K, in votes
    body = noise.Zonotope(graph, unit / FINE, extra)
    law = ZonotopeLaw(statistic, graph, float(unit), None if extra is None else float(extra))
    figures: dict[str, Figure] = {
        "sensitivity": float(reach),
        "norm": "zonotope of the double cover" if joint else "zonotope",
        "scale": float(unit),
        "dimension": float(body.dimension),
        "pairs": float(items.askable),
    }
    return Calibrated(
        MechanismName.ZONOTOPE, privacy, statistic, groups, noise.KNormNoise(body, joint), FINE, Fraction(1), None, law,
        Cost.pure(privacy.epsilon), tuple(figures.items()),
    )  # fmt: skip


def zonotope_graph(items: Items, statistic: Statistic) -> Graph:
    """The graph whose zonotope K is: of the askable pairs, or its double cover for wins and losses."""
    return double_cover(items.graph) if statistic is Statistic.WINS_AND_LOSSES else items.graph


# ---- Gaussian -----------------------------------------------------------------------------------------------------


def _gaussian(items: Items, privacy: Privacy, statistic: Statistic, groups: bool) -> Calibrated:
    if privacy.delta == 0:
        raise PrivacyError(
            f"the Gaussian mechanism needs {option('delta')} above 0; add {option('delta', '1e-6')}, or use "
            f"{option('mechanism', 'laplace')}"
        )
    reach, clip = squared_l2(privacy, statistic, Fraction(1)), None
    if privacy.unit is Unit.PERSON:
        privacy = privacy.changed(clip=privacy.clip or default_clip(items, privacy, statistic))
        clip = Clip.of(privacy, statistic, privacy.clip or 0.0)
    share = EXPOSURE_SHARE if statistic is Statistic.NET_WINS_AND_EXPOSURES else Fraction(1)
    step = half_vote(privacy) * share
    squared = reach * _norm_squared(privacy, statistic, clip) / step**2
    rho = rho_for(as_written(privacy.epsilon), as_written(privacy.delta))
    scale = noise.gaussian_scale(squared, rho)
    sigma = scale * float(step)
    figures: dict[str, Figure] = {
        "sensitivity": sqrt(squared) * float(step),
        "norm": "L2",
        "scale": sigma,
        "rho": noise.gaussian_rho(scale, squared),
    }
    return Calibrated(
        MechanismName.GAUSSIAN, privacy, statistic, groups, noise.GaussianNoise(scale), step, share, clip,
        GaussianLaw(statistic, len(items), sigma, float(share)),
        Cost(privacy.epsilon, privacy.delta, noise.gaussian_rho(scale, squared)), tuple(figures.items()),
    )  # fmt: skip


def _norm_squared(privacy: Privacy, statistic: Statistic, clip: Clip | None) -> Fraction:
    """C²: as clipped, or of one vote where votes stand alone."""
    return norm_of_one_vote(privacy, statistic) if clip is None else clip.norm**2


def default_clip(items: Items, privacy: Privacy, statistic: Statistic) -> float:
    """C from public values: the norm of a typical person's contribution, to two digits.

    A person who casts L votes on random pairs of n items of typical spread has E‖s‖² = L/2 + L(L − 1)·(4/n)·v, v the
    variance of win rates, and E‖d‖² = 2L(1 − 2/n) + 4L²/n; ‖wins‖² + ‖losses‖² = (‖d‖² + 4‖s‖²)/2.
    """
    L, n = privacy.limit, len(items)
    net_wins = L / 2 + L * (L - 1) * 4 / n * TYPICAL_RATE_VARIANCE
    met = 2 * L * (1 - 2 / n) + 4 * L**2 / n
    if privacy.neighbours is Neighbours.OUTCOME:
        square = met / 4
    else:
        square = {
            Statistic.NET_WINS: net_wins,
            Statistic.WINS: (met + 4 * net_wins) / 4,
            Statistic.WINS_AND_LOSSES: (met + 4 * net_wins) / 2,
            Statistic.NET_WINS_AND_EXPOSURES: net_wins + float(EXPOSURE_SHARE) ** 2 * met,
        }[statistic]
    return float(f"{sqrt(square):.2g}")


# ---- what every release checks ------------------------------------------------------------------------------------


def require_kept(items: Items, calibrated: Calibrated) -> None:
    """Recompute what the noise loses, from the sensitivity anew and by the noise's own privacy map."""
    privacy, drawn = calibrated.privacy, calibrated.noise
    epsilon = as_written(privacy.epsilon)
    if isinstance(drawn, noise.GaussianNoise):
        kept = _gaussian_kept(calibrated, drawn)
    elif isinstance(drawn, noise.KNormNoise) and isinstance(drawn.body, noise.Zonotope):
        kept = _zonotope_kept(items, calibrated, drawn.body)
    else:
        steps = _l1_reach(items, privacy, calibrated.statistic, calibrated.groups).in_steps(calibrated.step)
        kept = all(noise.laplace_privacy_loss(scale, steps) <= epsilon for scale in _laplace_scales(drawn))
    if not kept:
        raise PrivacyError(
            f"the {calibrated.mechanism} noise does not keep epsilon={privacy.epsilon}, delta={privacy.delta}; "
            "nothing was released"
        )


def _zonotope_kept(items: Items, calibrated: Calibrated, body: noise.Zonotope) -> bool:
    """Whether K is the body of these items' askable pairs, and large enough."""
    statistic, limit = calibrated.statistic, calibrated.privacy.limit
    total = statistic is Statistic.NET_WINS_AND_TOTAL
    if body.graph != zonotope_graph(items, statistic):
        return False
    if (body.extra is not None) != total or (body.extra is not None and body.extra < 2 * limit):
        return False
    reach = gauge(calibrated.privacy, statistic, groups=calibrated.groups)
    return reach / (body.unit * calibrated.step) <= Fraction(as_written(calibrated.privacy.epsilon))


def _laplace_scales(drawn: noise.Noise) -> list[float]:
    """The scales of all Laplace parts: a float is an exact fraction, so nothing is lost on the way back."""
    if isinstance(drawn, noise.LaplaceNoise):
        return [drawn.scale]
    if isinstance(drawn, noise.KNormNoise) and isinstance(drawn.body, noise.SumZero):
        return [float(drawn.body.scale), *([] if drawn.total is None else [drawn.total.scale])]
    raise AssertionError(f"no privacy map for {type(drawn).__name__}")


def _gaussian_kept(calibrated: Calibrated, drawn: noise.GaussianNoise) -> bool:
    privacy, statistic = calibrated.privacy, calibrated.statistic
    square = squared_l2(privacy, statistic, _norm_squared(privacy, statistic, calibrated.clip))
    rho = noise.gaussian_rho(drawn.scale, square / calibrated.step**2)
    return delta_of(rho, as_written(privacy.epsilon)) <= as_written(privacy.delta)
