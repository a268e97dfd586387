"""A release in; every part of it that noise was drawn for, each with its own figures, out.

A release says in short what its noise was. What was drawn may be more than one thing: net wins and exposures have balls
of their own, a total beside the counts has noise of its own, and the scatter of people and the histogram of a limit are
mechanisms of their own. Here they are listed, from the noise that was calibrated again (`noise.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from quietrank.evidence.noise import ImpossibleNoiseError, RecomputedNoise, UnknownNoiseError, recompute
from quietrank.evidence.subject import Subject
from quietrank.mechanisms.limit import BINS, LimitNoise
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.scatter import STEPS, ScatterNoise
from quietrank.noise.knorm import BallNoise, KNormNoise, SumZero, Zonotope
from quietrank.noise.lattice import LaplaceNoise
from quietrank.noise.normal import RoundedGaussianNoise
from quietrank.promise.privacy import plain_number

Part = dict[str, Any]
"""what was drawn, of what, and its figures"""


def drawn(subject: Subject) -> list[Part]:
    """Every part; for one group where there are several, since each group has the same."""
    release = subject.one
    stated: Part = {"noise": release.mechanism.name, "on": "what is published", **dict(release.mechanism.figures)}
    try:
        known = recompute(subject, release)
    except (UnknownNoiseError, ImpossibleNoiseError):
        return [stated]
    if known.complaints or not isinstance(known.noise, Calibrated):
        return [stated, *_bought(known)]
    # The figures of a list of names, or of scores, say all.
    return [*(list(_of_counts(known.noise)) or [stated]), *_bought(known)]


def in_words(part: Part) -> str:
    """One part in a line."""
    values = {name: value for name, value in part.items() if name not in ("noise", "on")}
    figures = ", ".join(f"{name} = {_text(value)}" for name, value in values.items())
    return f"{part['noise']} on {part['on']}: {figures}."


def _text(value: Any) -> str:
    return plain_number(float(f"{value:.6g}")) if isinstance(value, int | float) else str(value)


# ---- the counts -----------------------------------------------------------------------------------------------------


def _of_counts(calibrated: Calibrated) -> Iterator[Part]:
    """The parts of the noise on the counts; none of a list of names, or of scores."""
    noise, step, figures = calibrated.noise, calibrated.step, dict(calibrated.figures)
    names, epsilon = _entries(calibrated), calibrated.promise.privacy.epsilon
    together = {"sensitivity": figures.get("sensitivity"), "epsilon": epsilon}
    if isinstance(noise, BallNoise):
        yield from _balls(calibrated, noise)
    elif isinstance(noise, LaplaceNoise):
        yield {
            "noise": "discrete Laplace, independent", "on": names, "norm": "L1", **together,
            "scale": noise.scale * float(step), "step": float(step), **_share(calibrated),
        }  # fmt: skip
    elif isinstance(noise, RoundedGaussianNoise):
        yield {
            "noise": "Gaussian, rounded", "on": names, "norm": "L2", **together,
            "delta": calibrated.promise.privacy.delta, "scale": noise.scale * float(step), "step": float(step),
            **_share(calibrated),
        }  # fmt: skip
    elif isinstance(noise, KNormNoise) and isinstance(noise.body, SumZero):
        on = names if noise.total is None else str(calibrated.statistic).partition("-and-total")[0]
        norm = "L1" if noise.total is None else "L1, over all parts"
        yield {
            "noise": "Laplace given a sum of zero, rounded", "on": on, "norm": norm, **together,
            "scale": float(noise.body.scale * Fraction(step)), "entries": noise.body.size, "step": float(step),
        }  # fmt: skip
        if noise.total is not None:
            yield {
                "noise": "discrete Laplace", "on": "the total beside them", "norm": "L1, over all parts", **together,
                "scale": noise.total.scale * float(step), "step": float(step), **_share(calibrated),
            }  # fmt: skip
    elif isinstance(noise, KNormNoise) and isinstance(noise.body, Zonotope):
        body = noise.body
        extra = {} if body.extra is None else {
            "half_width_of_extra_entries": float(body.extra), "extra_entries": body.extra_entries,
        }  # fmt: skip
        yield {
            "noise": "uniform on a scaled zonotope, rounded", "on": names, "norm": figures.get("norm"), **together,
            "scale": float(body.unit * step), "dimension": body.dimension, "step": float(step), **extra,
        }  # fmt: skip


def _balls(calibrated: Calibrated, noise: BallNoise) -> Iterator[Part]:
    """One for each part of the statistic; R bounds the weighted sum of the L2 norms of what a unit changes in them."""
    step, reach = calibrated.step, dict(calibrated.figures)["sensitivity"]
    first = noise.balls[0].unit
    for (name, _), ball in zip(calibrated.statistic.squares, noise.balls, strict=True):
        share = {"share": float(calibrated.share)} if name == "exposure" else {}
        yield {
            "noise": "ball, rounded", "on": name.replace("_", " "), "sensitivity": reach,
            "norm": "sum over all balls of weight times L2" if len(noise.balls) > 1 else "L2",
            "epsilon": calibrated.promise.privacy.epsilon, "weight": float(first / ball.unit),
            "scale": float(ball.unit * step), "dimension": ball.dimension, "step": float(step), **share,
        }  # fmt: skip


def _entries(calibrated: Calibrated) -> str:
    return str(calibrated.statistic).replace("-", " ")


def _share(calibrated: Calibrated) -> Part:
    """α or β: a total or exposures get their noise after multiplication by it."""
    return {} if calibrated.share == 1 else {"share": float(calibrated.share)}


# ---- what was bought besides ----------------------------------------------------------------------------------------


def _bought(known: RecomputedNoise) -> Iterator[Part]:
    if known.scatter is not None:
        yield _scatter(known.scatter)
    if known.limit is not None:
        yield _limit(known.limit)


def _scatter(scatter: ScatterNoise) -> Part:
    steps = round(scatter.noise.scale * scatter.loss.epsilon)
    return {
        "noise": "discrete Laplace", "on": "the scatter of people", "norm": "L1",
        "cap_of_one_person": float(scatter.most), "sensitivity": float(scatter.most) * steps / STEPS,
        "epsilon": scatter.epsilon, "scale": scatter.noise.scale * scatter.step, "step": scatter.step,
    }  # fmt: skip


def _limit(limit: LimitNoise) -> Part:
    scale = limit.noise.scale
    return {
        "noise": "discrete Laplace, independent", "on": f"a histogram of votes per person, {BINS} bins", "norm": "L1",
        "sensitivity": round(scale * limit.loss.epsilon), "epsilon": limit.epsilon, "scale": scale, "step": 1,
    }  # fmt: skip
