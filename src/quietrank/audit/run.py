"""Options in, an `Audit` out: every check on every case, in as many processes as there are cores.

Four checks. `bounds`: on neighbouring files no statistic moves further than derived, and nothing else moves. `loss`:
where the density of the output is known, no output tells neighbours apart by more than ε. `black box`: many runs give a
lower bound of ε that holds with a stated confidence. `noise`: the noise drawn has the distribution it claims, it is
fresh, and the ledger was debited before.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quietrank import mechanism, noise, tally
from quietrank.additive import Calibrated, MechanismName
from quietrank.audit import blackbox, bounds, distribution, losses, neighbours, observe, seal
from quietrank.audit.cases import DELTA, LIMIT, Case, all_cases, make_case
from quietrank.audit.neighbours import Neighbouring
from quietrank.audit.report import Audit, Finding, Histogram
from quietrank.errors import PrivacyError
from quietrank.estimators.methods import Method
from quietrank.privacy import Neighbours, Unit
from quietrank.tally import PairTally, Tally
from quietrank.words import parse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Progress = Callable[[int, int], None]
Job = Callable[[], Any]

EPSILONS = (0.1, 1.0, 4.0)
RISK = 1e-3
"""the probability with which a correct library fails somewhere: 99.9 % confidence, shared by all random tests"""
ROUNDING = 1e-9
"""what floating point may add to a computed loss, relative"""
PART = 100_000
"""black-box runs are drawn in parts of this many, so that all cores have work"""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    pairs: int
    """neighbouring files per case"""
    releases: int
    """of them taken to the end, as whole releases"""
    draws: int
    """of noise, for the fit"""
    runs: float
    """black-box runs per neighbour at ε ≥ 1, as 1/ε² below; four times as many for the first of each kind"""
    most_runs: int
    gaussian_runs: int
    """for the case that shall show how near the bound comes; a tenth for others"""
    slow_runs: int
    """of the perturbed MLE, which takes a millisecond"""


FULL = Sizes(9, 2, 4000, 30_000, 2_800_000, 1_000_000, 3_000)
QUICK = Sizes(4, 1, 1500, 10_000, 60_000, 60_000, 300)


# ---- what is attacked ---------------------------------------------------------------------------------------------


def black_box_cases(epsilons: Sequence[float], *, quick: bool) -> Iterator[Case]:
    """Two items, where the worst case is attained most often; the first of each kind at every ε."""
    first = {
        MechanismName.LAPLACE: partial(make_case, MechanismName.LAPLACE, "comparison"),
        MechanismName.ZONOTOPE: partial(make_case, MechanismName.ZONOTOPE, "person", one_per_pair=True),
        MechanismName.GAUSSIAN: partial(make_case, MechanismName.GAUSSIAN, "comparison", delta=DELTA),
    }
    for name, make in first.items():
        for epsilon in epsilons:
            if not (name is MechanismName.GAUSSIAN and epsilon < 1 and len(epsilons) > 1):
                yield make(method=Method.NET_WINS, epsilon=epsilon, items=2)
    middle = 1.0 if 1.0 in epsilons else epsilons[0]
    yield make_case(
        MechanismName.ZONOTOPE, "person", method=Method.NET_WINS, epsilon=middle, items=3, one_per_pair=True
    )
    yield make_case(MechanismName.LAPLACE, "person", method=Method.WINS, epsilon=middle, items=2, max_per_person=LIMIT)
    yield make_case(MechanismName.PERTURBED_MLE, "comparison", "add-remove", epsilon=middle, items=2)
    if not quick:
        yield from _other_black_boxes(middle)


def _other_black_boxes(epsilon: float) -> Iterator[Case]:
    """What is left of mechanism × unit × neighbours."""
    for name, unit, relation in itertools.product(MechanismName, Unit, Neighbours):
        bound: dict[str, Any] = {"max_per_person": LIMIT} if unit is Unit.PERSON else {}
        if name is MechanismName.ZONOTOPE:
            bound = {"one_per_pair": True}
        if name is MechanismName.GAUSSIAN:
            bound["delta"] = DELTA
        impossible = name is MechanismName.AUTO or (name is MechanismName.ZONOTOPE and unit is Unit.COMPARISON)
        if impossible or (name is MechanismName.PERTURBED_MLE and relation is Neighbours.OUTCOME):
            continue
        method = Method.WINS if name is MechanismName.LAPLACE and unit is Unit.COMPARISON else Method.NET_WINS
        yield make_case(name, unit, relation, method=method, epsilon=epsilon, items=2, **bound)


def noise_cases(epsilon: float, *, quick: bool) -> Iterator[Case]:
    """Every kind of noise: independent, given a sum of zero, with a total, from both bodies, coarse and fine."""
    laplace, zonotope, gaussian = MechanismName.LAPLACE, MechanismName.ZONOTOPE, MechanismName.GAUSSIAN
    people: dict[str, Any] = {"epsilon": epsilon, "max_per_person": LIMIT}
    pairs: dict[str, Any] = {"epsilon": epsilon, "one_per_pair": True}
    yield make_case(laplace, "comparison", method=Method.WINS, epsilon=epsilon, items=3)
    yield make_case(laplace, "person", method=Method.WIN_RATE, design="uniform", items=3, **people)
    yield make_case(zonotope, "person", method=Method.NET_WINS, items=3, **pairs)
    yield make_case(zonotope, "person", method=Method.WIN_RATE, items=3, **pairs)
    yield make_case(gaussian, "comparison", method=Method.NET_WINS, items=3, epsilon=epsilon, delta=DELTA)
    if quick:
        return
    yield make_case(laplace, "person", "add-remove", method=Method.WINS, items=4, **people)
    yield make_case(laplace, "comparison", method=Method.WIN_RATE, items=3, epsilon=epsilon)
    yield make_case(laplace, "comparison", "outcome", method=Method.NET_WINS, items=5, epsilon=epsilon)
    yield make_case(zonotope, "person", "add-remove", method=Method.WIN_RATE, design="uniform", items=4, **pairs)
    yield make_case(zonotope, "person", "outcome", method=Method.NET_WINS, items=6, **pairs)
    yield make_case(gaussian, "person", method=Method.WIN_RATE, items=3, delta=DELTA, **people)


# ---- the checks, each in a process of its own -----------------------------------------------------------------------


def bounds_check(cases: Sequence[Case], sizes: Sizes) -> Finding:
    """All statistics of one mechanism, unit and relation."""
    began = time.perf_counter()
    found = [(case, bounds.check(case, sizes.pairs, sizes.releases)) for case in cases]
    first = cases[0]
    wrong = [f"{case.name}: {what}" for case, moves in found for what in moves.complaints]
    return Finding(
        check="bounds",
        subject=f"{first.mechanism}, {first.privacy.unit}, {first.privacy.neighbours}",
        epsilon=first.privacy.epsilon,
        measured=first.privacy.epsilon * max(moves.furthest for _, moves in found),
        passed=not wrong,
        runs=sum(moves.pairs for _, moves in found),
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"{len(found)} statistics reach their bound and stay within; nothing else moves",
        unit="pairs of files",
    )


def loss_check(cases: Sequence[Case], sizes: Sizes) -> Finding:
    """The exact loss at sampled outputs of a few pairs of neighbours, of one mechanism, unit, relation and ε."""
    began = time.perf_counter()
    first, largest, drawn = cases[0], 0.0, 0
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        for case in cases:
            for pair, outputs in _for_loss(case, sizes):
                found, number = _pair_loss(case, pair, outputs, Path(folder), sizes.draws // 10)
                largest, drawn = max(largest, found), drawn + number
    exact = f"exact ε at δ = {first.privacy.delta:g}" if first.mechanism is MechanismName.GAUSSIAN else "largest loss"
    return Finding(
        check="loss",
        subject=f"{first.mechanism}, {first.privacy.unit}, {first.privacy.neighbours}",
        epsilon=first.privacy.epsilon,
        measured=largest,
        passed=largest <= first.privacy.epsilon * (1 + ROUNDING),
        runs=drawn,
        seconds=time.perf_counter() - began,
        detail=f"{exact} at any output, {len(cases)} statistics",
        unit="outputs",
    )


def _for_loss(case: Case, sizes: Sizes) -> Iterator[tuple[Neighbouring, Floats | None]]:
    """Pairs of neighbours, with outputs where these are constructed and not drawn."""
    usable = (pair for pair in neighbours.neighbouring(case, sizes.pairs) if not pair.skip_invalid)
    yield from ((pair, None) for pair in itertools.islice(usable, 3 if sizes is FULL else 2))
    if case.mechanism is MechanismName.PERTURBED_MLE and len(case.items) == 4:
        yield seal.constructed(case)


def _pair_loss(case: Case, pair: Neighbouring, outputs: Floats | None, folder: Path, draws: int) -> tuple[float, int]:
    if case.mechanism is MechanismName.PERTURBED_MLE:
        first, second = _pair_tallies(case, pair, folder)
        at = seal.ideal_outputs(case, first, max(10, draws // 8)) if outputs is None else outputs
        return seal.largest_loss(seal.plan_of(case), first, second, at), len(at)
    calibrated, one, other = _statistics(case, pair, folder)
    drawn = np.concatenate([blackbox.draw(calibrated, side, draws) for side in (one, other)])
    if isinstance(calibrated.noise, noise.GaussianNoise):
        # A loss above ε is allowed, with probability δ: what counts is the tail of its distribution.
        return losses.gaussian_epsilon(calibrated.noise.scale, other - one, calibrated.privacy.delta), len(drawn)
    return float(np.abs(losses.losses(calibrated, one, other, drawn)).max()), len(drawn)


def noise_check(case: Case, sizes: Sizes, risk: float) -> Finding:
    """Fit, freshness, and the ledger first."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        sides, calibrated = _tallies(case, neighbours.worst(case), Path(folder))
        found = distribution.fits(calibrated, distribution.deviations(calibrated, sides, sizes.draws))
        wrong = [f"{fit.part}: p = {fit.p_value:.1e}" for fit in found if fit.p_value < risk / len(found)]
        wrong += distribution.repeated(calibrated, sides)
        events = [distribution.order_of_events(calibrated, sides[0], refuse=refuse) for refuse in (False, True)]
        if events != [["debit", "draw"], ["debit", "refused"]]:
            wrong.append(f"the ledger does not come first: {', '.join(events[0])}; {', '.join(events[1])}")
    return _noise_finding(case, wrong, found, sizes.draws, began)


def seal_check(case: Case, sizes: Sizes, risk: float) -> Finding:
    """The perturbed MLE: the noise inside, the solver, and the seal."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        tallies = _pair_tallies(case, next(neighbours.neighbouring(case, 1)), Path(folder))
        found = seal.fits(case, tallies[0], sizes.draws // 4)
        wrong = [f"{fit.part}: p = {fit.p_value:.1e}" for fit in found if fit.p_value < risk / len(found)]
        wrong += seal.flaws(case, tallies, sizes.draws // 40).found
    return _noise_finding(case, wrong, found, sizes.draws // 4, began)


def _noise_finding(case: Case, wrong: list[str], fits: list[distribution.Fit], draws: int, began: float) -> Finding:
    parts = ", ".join(fit.part for fit in fits)
    return Finding(
        check="noise",
        subject=case.name,
        epsilon=case.privacy.epsilon,
        measured=None,
        passed=not wrong,
        runs=draws,
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"as claimed ({parts}; smallest p {min(fit.p_value for fit in fits):.2g}), fresh",
        unit="draws",
    )


@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihood ratios at outputs of one side."""

    case: Case
    of_one: bool
    values: Floats
    seconds: float


def draw_scores(case: Case, of_one: bool, runs: int) -> Scores:
    """Part of the runs of a black-box attack."""
    began = time.perf_counter()
    pair = neighbours.worst(case)
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        if case.mechanism is MechanismName.PERTURBED_MLE:
            tallies = _pair_tallies(case, pair, Path(folder))
            outputs = seal.released(case, tallies[0 if of_one else 1], runs)
            values = losses.perturbed_losses(seal.plan_of(case), *tallies, outputs)
        else:
            calibrated, one, other = _statistics(case, pair, Path(folder))
            values = blackbox.scores(calibrated, one, other, runs, of_one=of_one)
    return Scores(case, of_one, values, time.perf_counter() - began)


def black_box_finding(case: Case, parts: Sequence[Scores], risk: float) -> Finding:
    one, other = (np.concatenate([part.values for part in parts if part.of_one is side]) for side in (True, False))
    bound = blackbox.lower_bound(one, other, delta=case.privacy.delta, risk=risk)
    return Finding(
        check="black box",
        subject=case.name,
        epsilon=case.privacy.epsilon,
        measured=bound.epsilon,
        passed=bound.epsilon <= case.privacy.epsilon,
        runs=2 * bound.runs,
        seconds=sum(part.seconds for part in parts),
        detail=f"ε is at least this, {bound.epsilon / case.privacy.epsilon:.2f} of what is claimed"
        + (f", at δ = {case.privacy.delta:g}" if case.privacy.delta else ""),
        unit="runs",
        histogram=Histogram.of(one, other, case.privacy.epsilon),
    )


def _statistics(case: Case, pair: Neighbouring, folder: Path) -> tuple[Calibrated, Integers, Integers]:
    sides, calibrated = _tallies(case, pair, folder)
    return calibrated, mechanism.exact_values(sides[0], calibrated), mechanism.exact_values(sides[1], calibrated)


def _tallies(case: Case, pair: Neighbouring, folder: Path) -> tuple[tuple[Tally, Tally], Calibrated]:
    (one, calibrated), (other, _) = (observe.exact(case, rows, folder) for rows in (pair.one, pair.other))
    return (one, other), calibrated


def _pair_tallies(case: Case, pair: Neighbouring, folder: Path) -> tuple[PairTally, PairTally]:
    one, other = (
        tally.tally_pairs(observe.read(case, observe.write_votes(case, rows, folder / "votes.csv")), case.privacy)
        for rows in (pair.one, pair.other)
    )
    return one, other


# ---- all of it ----------------------------------------------------------------------------------------------------


def audit(
    *,
    mechanism: str | None = None,
    unit: str | None = None,
    neighbours: str | None = None,
    epsilon: float | None = None,
    quick: bool = False,
    workers: int | None = None,
    risk: float = RISK,
    progress: Progress | None = None,
) -> Audit:
    """Try to break the promise of every mechanism, or of those asked for; on synthetic votes, with real noise.

    `risk` is the probability that a correct library fails the audit somewhere. With one worker everything runs in
    this process.
    """
    chosen = _Chosen(
        None if mechanism is None else parse(MechanismName, "mechanism", mechanism),
        None if unit is None else parse(Unit, "unit", unit),
        None if neighbours is None else parse(Neighbours, "neighbours", neighbours),
    )
    if epsilon is not None and not 0.001 <= epsilon <= 20:
        raise PrivacyError(f"epsilon must lie between 0.001 and 20 for an audit to say something; got {epsilon}")
    sizes = QUICK if quick else FULL
    epsilons = (1.0,) if quick else EPSILONS
    epsilons = epsilons if epsilon is None else (float(epsilon),)
    middle = 1.0 if 1.0 in epsilons else epsilons[0]
    attacked = chosen.among(black_box_cases(epsilons, quick=quick))
    jobs, judged = _jobs(chosen, attacked, sizes, middle, quick=quick, risk=risk)
    if not jobs:
        raise PrivacyError("no mechanism makes such a promise; leave out one of mechanism, unit and neighbours")
    began = time.perf_counter()
    done = list(_all(jobs, workers or os.cpu_count() or 1, progress))
    findings = [result for result in done if isinstance(result, Finding)]
    for case in attacked:
        parts = [result for result in done if isinstance(result, Scores) and result.case == case]
        findings.append(black_box_finding(case, parts, judged))
    return Audit(tuple(sorted(findings, key=_place)), risk, quick, time.perf_counter() - began)


@dataclass(frozen=True)
class _Chosen:
    mechanism: MechanismName | None
    unit: Unit | None
    neighbours: Neighbours | None

    def among(self, cases: Iterable[Case]) -> list[Case]:
        """Those asked for, each once."""
        wanted = (None, MechanismName.AUTO)
        found = [
            case
            for case in cases
            if (self.mechanism in wanted or case.mechanism is self.mechanism)
            and self.unit in (None, case.privacy.unit)
            and self.neighbours in (None, case.privacy.neighbours)
        ]
        return list(dict.fromkeys(found))


def _jobs(
    chosen: _Chosen, attacked: list[Case], sizes: Sizes, epsilon: float, *, quick: bool, risk: float
) -> tuple[list[Job], float]:
    """The work, the longest first, and the risk of each random test."""
    cases = chosen.among(all_cases(epsilon, quick=quick))
    groups: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.mechanism, case.privacy.unit, case.privacy.neighbours), []).append(case)
    fitted = chosen.among(noise_cases(epsilon, quick=quick))
    sealed = [case for case in cases if case.mechanism is MechanismName.PERTURBED_MLE][: 1 if quick else None]
    each = risk / max(1, len(attacked) + len(fitted) + len(sealed))
    jobs: list[Job] = []
    for case in sorted(attacked, key=lambda case: -_runs(case, sizes)):
        for of_one, runs in itertools.product((True, False), _parts(_runs(case, sizes))):
            jobs.append(partial(draw_scores, case, of_one, runs))
    jobs += [partial(bounds_check, group, sizes) for group in groups.values()]
    jobs += [partial(seal_check, case, sizes, each) for case in sealed]
    jobs += [partial(noise_check, case, sizes, each) for case in fitted]
    jobs += [partial(loss_check, group[:1] if quick else group, sizes) for group in groups.values()]
    if not quick:
        jobs += [partial(loss_check, [case], sizes) for case in attacked if case.privacy.epsilon != epsilon]
    return jobs, each


def _runs(case: Case, sizes: Sizes) -> int:
    """Black-box runs per neighbour: enough for 0.9 ε, or as many as the time allows."""
    if case.mechanism is MechanismName.PERTURBED_MLE:
        return sizes.slow_runs
    if case.mechanism is MechanismName.GAUSSIAN:
        first = case.privacy.unit is Unit.COMPARISON and case.privacy.neighbours is Neighbours.REPLACE
        return sizes.gaussian_runs if first else min(sizes.gaussian_runs, 60_000)
    first = case.method is Method.NET_WINS and case.privacy.neighbours is Neighbours.REPLACE
    runs = sizes.runs * max(1.0, 1 / case.privacy.epsilon**2)
    return min(sizes.most_runs, round(4 * runs if first else runs))


def _parts(runs: int) -> list[int]:
    return [min(PART, runs - start) for start in range(0, runs, PART)]


def _place(finding: Finding) -> tuple[int, str, float]:
    return ("bounds", "loss", "noise", "black box").index(finding.check), finding.subject, finding.epsilon


def _all(jobs: list[Job], workers: int, progress: Progress | None) -> Iterator[Any]:
    """The results as they come; more workers are copies of this process, made before anything else is done."""
    told = progress or (lambda done, total: None)
    if workers == 1 or not hasattr(os, "fork"):
        for number, job in enumerate(jobs, 1):
            yield job()
            told(number, len(jobs))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        waiting: list[Future[Any]] = [pool.submit(job) for job in jobs]
        try:
            for number, future in enumerate(as_completed(waiting), 1):
                yield future.result()
                told(number, len(jobs))
        finally:
            pool.shutdown(cancel_futures=True)
