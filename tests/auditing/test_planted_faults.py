"""Planted faults: each is switched on by injection, and the audit, which passes without it, fails with it.

docs/audit.md has the table. The faults live here and nowhere in the library.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from quietrank import crossing, pipeline
from quietrank.arrays import Integers
from quietrank.auditing import checks
from quietrank.auditing.case_lists import CHORD, GROUPS
from quietrank.auditing.cases import Case, make_case
from quietrank.auditing.checks import Sizes
from quietrank.auditing.report import Finding
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC
from quietrank.mechanisms import ball, gaussian
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.noise import knorm, lattice, normal
from quietrank.promise import curve
from quietrank.promise.privacy import GroupOf, Privacy
from quietrank.promise.promise import PERSON_GRID, Bounded, Clip, Move, Promise, whole_squares
from quietrank.statistics.method import Method, Ties
from quietrank.statistics.net_wins import NetWinsAndExposures
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.ties import WithTies
from quietrank.statistics.wins import Wins
from quietrank.votes import bound as bounding
from quietrank.votes import check, snapshot, tally
from quietrank.votes import read as votes
from quietrank.votes.tallies import Tallies, Tally

Plant = Callable[[pytest.MonkeyPatch], None]

SMALL = Sizes(
    pairs=6,
    releases=1,
    draws=1200,
    runs=12_000,
    most_runs=12_000,
    gaussian_runs=30_000,
    slow_runs=100,
    tries=4,
    streams=0,
    beside=0,
    all_pairs=False,
)
RISK = 1e-8
"""a correct library fails a test of this file less than once in a million runs"""

PERTURBED = PERTURBED_MLE
VOTES = make_case(LAPLACE, "comparison", method=Method.WINS, items=3)
ADDED_VOTES = make_case(LAPLACE, "comparison", "add-remove", method=Method.WINS)
PEOPLE = make_case(LAPLACE, "person", method=Method.WINS, max_per_person=3)
TWO_ITEMS = make_case(LAPLACE, "person", method=Method.WINS, items=2, max_per_person=3)
PEOPLE_NET = make_case(LAPLACE, "person", method=Method.NET_WINS, items=3, max_per_person=3)
PAIRS = make_case(ZONOTOPE, "person", method=Method.NET_WINS, items=3, one_per_pair=True)
CLIPPED = make_case(GAUSSIAN, "person", method=Method.NET_WINS, max_per_person=3, delta=1e-3)
CLIPPED_FEW = make_case(GAUSSIAN, "person", method=Method.NET_WINS, items=3, max_per_person=3, delta=1e-3)
GAUSSIAN_VOTES = make_case(GAUSSIAN, "comparison", method=Method.NET_WINS, items=3, delta=1e-3)
MANY_ITEMS = make_case(GAUSSIAN, "comparison", method=Method.NET_WINS, items=40, delta=1e-3)
PUBLIC = make_case(LAPLACE, "person", "outcome", method=Method.NET_WINS, max_per_person=3)
MLE = make_case(PERTURBED, "comparison", "add-remove")
MLE_PEOPLE = make_case(PERTURBED, "person", max_per_person=3)
SPLIT_VOTES = make_case(LAPLACE, "comparison", groups=GROUPS)
SPLIT_PEOPLE = make_case(LAPLACE, "person", method=Method.WINS, items=3, max_per_person=3, groups=GROUPS)
SPLIT_COVER = make_case(ZONOTOPE, "person", one_per_pair=True, groups=GROUPS)
SPLIT_COVER_OF_TWO = make_case(ZONOTOPE, "person", items=2, one_per_pair=True, groups=GROUPS)
SPLIT_NET = make_case(ZONOTOPE, "person", method=Method.NET_WINS, one_per_pair=True, groups=GROUPS)
SPLIT_MLE = make_case(PERTURBED, "comparison", groups=GROUPS)
ASKED = make_case(ZONOTOPE, "person", method=Method.NET_WINS, one_per_pair=True, pairs=CHORD)
CAPPED = make_case(LAPLACE, "comparison", "add-remove", method=Method.WINS, items=2, max_per_person=3)
CAPPED_MLE = make_case(PERTURBED, "comparison", "add-remove", max_per_person=3)
SECANT = make_case(PERTURBED, "comparison", link="hyperbolic-secant")
PUBLISHED = make_case(PERTURBED, "comparison", calibration="published")
UNANSWERED = make_case(LAPLACE, "comparison", design="uniform", leaves_out=True)
TIES = make_case(LAPLACE, "person", max_per_person=3, ties=Ties.DAVIDSON)
FREE_TIES = make_case(LAPLACE, "person", design="uniform", max_per_person=3, ties=Ties.DAVIDSON)
CLIPPED_TIES = make_case(GAUSSIAN, "person", max_per_person=3, delta=1e-3, ties=Ties.DAVIDSON)
BALLS = make_case(BALL, "person", method=Method.NET_WINS, max_per_person=3)
BALLS_OF_TWO = make_case(BALL, "person", method=Method.NET_WINS, items=2, max_per_person=3)
WIN_BALLS = make_case(BALL, "person", method=Method.WINS, items=6, max_per_person=3)
MIXED_BALLS = make_case(BALL, "person", max_per_person=3)
SPREAD_BALLS = make_case(BALL, "person", method=Method.NET_WINS, max_per_person=3, groups=GROUPS, group_of=GroupOf.VOTE)
CLIPPED_EXPOSURES = make_case(GAUSSIAN, "person", method=Method.WIN_RATE, max_per_person=3, delta=1e-3)
GROWING = make_case(LAPLACE, "person", method=Method.NET_WINS, one_per_pair=True)


def bounds(case: Case) -> Finding:
    return checks.bounds_check([case], SMALL, [case])


def growing(case: Case) -> Finding:
    return checks.growing_check(case, SMALL)


def loss(case: Case) -> Finding:
    return checks.loss_check([case], SMALL)


def fit(case: Case) -> Finding:
    return checks.noise_check(case, SMALL, RISK)


def sealed(case: Case) -> Finding:
    return checks.seal_check(case, SMALL, RISK)


def black_box(case: Case) -> Finding:
    parts = [checks.draw_scores(case, of_one, 12_000) for of_one in (True, False)]
    return checks.black_box_finding(case, parts, RISK)


# ---- the faults ---------------------------------------------------------------------------------------------------


def half_the_laplace_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = lattice.add_laplace
    monkeypatch.setattr(lattice, "add_laplace", lambda values, scale: draw(values, scale / 2))


def half_the_sum_zero_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = knorm.SumZero.draw
    monkeypatch.setattr(knorm.SumZero, "draw", lambda self: [z // 2 for z in draw(self)])


def half_the_zonotope_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = knorm.Zonotope.draw
    monkeypatch.setattr(knorm.Zonotope, "draw", lambda self: [z // 2 for z in draw(self)])


def half_the_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    _gaussian_noise_times(monkeypatch, 0.5)


def a_little_less_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn 5 % too small."""
    _gaussian_noise_times(monkeypatch, 0.95)


def _gaussian_noise_times(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    noise = normal.RoundedGaussianNoise
    draw = noise.add_to
    monkeypatch.setattr(noise, "add_to", lambda self, values: draw(noise(self.scale * factor), values))


def a_sigma_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibrated 5 % too small, and the loss is not recomputed."""
    derive = gaussian.scale_for
    monkeypatch.setattr(gaussian, "scale_for", lambda squared, mu: 0.95 * derive(squared, mu))
    monkeypatch.setattr(gaussian, "curve_delta", lambda epsilon, mu: 0.0)


def a_curve_of_half_of_mu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve of μ is taken for that of 2μ, by the calibration and by the check alike."""
    delta, largest = curve.curve_delta, curve.curve_mu
    monkeypatch.setattr(gaussian, "curve_delta", lambda epsilon, mu: delta(epsilon, mu / 2))
    monkeypatch.setattr(gaussian, "curve_mu", lambda epsilon, delta: 2 * largest(epsilon, delta))


def noise_rounded_before_it_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """To half votes, where a person's votes have a finer lattice: its last digits come out as they are."""
    noise = normal.RoundedGaussianNoise
    draw = noise.add_to

    def add_to(self: normal.RoundedGaussianNoise, values: Integers) -> Integers:
        coarse = draw(noise(self.scale / PERSON_GRID), np.zeros_like(values))
        return np.asarray(values + PERSON_GRID * coarse)

    monkeypatch.setattr(noise, "add_to", add_to)


def the_published_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """L instead of 2L for a person's wins under replace."""
    monkeypatch.setattr(Wins, "l1", lambda self, change, limits, share: limits.weight)


def _whole(number: int) -> Any:
    import ibis

    return ibis.literal(number, type="int64")


def no_bounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "_scaled_down", lambda rows, limit, people: rows.mutate(weight=_whole(PERSON_GRID)))


def weights_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bounding, "quotient", lambda dividend, divisor: ((dividend + divisor - 1) // divisor).cast("int64")
    )


def a_seed_in_every_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def seeded(values: Integers, scale: float) -> Integers:
        return values + np.round(np.random.default_rng(1).laplace(0, scale, len(values))).astype(np.int64)

    monkeypatch.setattr(lattice, "add_laplace", seeded)


def a_seed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator of this process: good noise, and the same in every copy of the process."""
    rng = np.random.default_rng(2)

    def seeded(values: Integers, scale: float) -> Integers:
        p = -np.expm1(-1 / scale)
        return values + rng.geometric(p, len(values)) - rng.geometric(p, len(values))

    monkeypatch.setattr(lattice, "add_laplace", seeded)


def noise_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, kept = lattice.add_laplace, list[Integers]()

    def reused(values: Integers, scale: float) -> Integers:
        if kept:
            return values + kept.pop()
        noisy = draw(values, scale)
        kept.append(noisy - values)
        return noisy

    monkeypatch.setattr(lattice, "add_laplace", reused)


def fine_noise_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, kept = knorm.SumZero.draw, list[list[int]]()

    def reused(self: knorm.SumZero) -> list[int]:
        if kept:
            return kept.pop()
        kept.append(draw(self))
        return list(kept[0])

    monkeypatch.setattr(knorm.SumZero, "draw", reused)


def items_from_the_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    read = votes.read_votes

    def from_votes(source: object, items: object, **options: Any) -> votes.Votes:
        return read(source, items_from_votes=True, **options)

    monkeypatch.setattr(votes, "read_votes", from_votes)


def ties_as_full_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A win for both sides."""

    def generous(rows: Any) -> tuple[Any, Any]:
        won, lost = (rows.y > 0).cast("int64"), (rows.y < 2).cast("int64")
        return rows.weight * won * 2, rows.weight * lost * 2

    monkeypatch.setattr(tally, "_won_and_lost", generous)
    monkeypatch.setattr(tally, "_stand_alone", lambda read, privacy: False)


def two_spellings_of_one_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """`u` where the first item is named first, `u ` elsewhere: two people, and twice the weight."""
    read = votes.Votes.rows

    def split(self: votes.Votes, *, numbered: bool = False) -> Any:
        import ibis

        rows = read(self, numbered=numbered)
        if self.shape.gives_places:  # a wide file has each person once
            return rows
        return rows.mutate(person=ibis.ifelse(rows.a == self.items.names[0], rows.person, rows.person + " "))

    monkeypatch.setattr(votes.Votes, "rows", split)


def debit_after_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "cross", _late(crossing.cross))


def _late(cross: Callable[..., Any]) -> Callable[..., Any]:
    def late(*arguments: Any, ledger: Any = None, **options: Any) -> Any:
        costs = []

        class Later:
            def debit(self, charge: Any) -> str:
                costs.append(charge)
                return "1"

        noisy = cross(*arguments, ledger=Later(), **options)
        if ledger is not None:
            ledger.debit(costs[0])
        return noisy

    return late


def unsealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "add_laplace", lambda values, scale: values)


def stopped_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three digits are enough for anybody."""
    solve = perturbed.minimise  # type: ignore[attr-defined]
    monkeypatch.setattr(perturbed, "minimise", lambda f, tolerance: [round(float(x), 3) for x in solve(f, tolerance)])


def a_seal_that_forgets_the_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = perturbed.seal_sensitivity
    monkeypatch.setattr(perturbed, "seal_sensitivity", lambda n, beta, step: whole(n, beta, step) - n)


def the_ball_in_the_bounding_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z(G) lies in the box of half-width n − 1; the ball in that box has the same radius, and Z(G) sticks out of it."""

    def in_the_ball(self: knorm.Zonotope) -> list[int]:
        n, d = self.graph.vertices, self.dimension
        rng = np.random.default_rng(secrets.randbits(128))
        direction = rng.normal(size=n)
        direction -= direction.mean()
        direction *= (n - 1) * rng.random() ** (1 / d) / np.linalg.norm(direction)
        return [round(z) for z in (direction * rng.gamma(d + 1) * float(self.unit)).tolist()]

    monkeypatch.setattr(knorm.Zonotope, "draw", in_the_ball)


def _recounted(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[votes.Votes, Bounded, Callable[[Bounded], Tally]], Tally]
) -> None:
    """Votes are counted by `change`, which gets a way to count them as they should be."""
    count = tally.count_votes

    def changed(read: votes.Votes, bounded: Bounded, **options: Any) -> Tallies:
        def honest(by: Bounded) -> Tally:
            (one,) = count(read, by, **options)
            assert isinstance(one, Tally)
            return one

        return Tallies.of(change(read, bounded, honest))

    monkeypatch.setattr(tally, "count_votes", changed)


def clipped_after_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    """One factor for the whole sum, so that its norm is at most C for each of four people."""

    def late(read: votes.Votes, bounded: Bounded, count: Callable[[Bounded], Tally]) -> Tally:
        if bounded.clip is None:
            return count(bounded)
        whole = count(replace(bounded, clip=None, max_per_person=10**6))
        norm = float(np.linalg.norm(whole.net_wins * float(whole.step)))
        factor = min(1.0, 4 * float(bounded.clip.norm) / max(norm, 1e-9))
        # Passed off as clipped: without this the crossing itself would refuse it.
        wins, losses = (np.asarray(side * factor, dtype=np.int64) for side in (whole.wins, whole.losses))
        return replace(whole, wins=wins, losses=losses, bounded=bounded)

    _recounted(monkeypatch, late)


def gamma_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Privacy, "votes_are_public", property(lambda self: True))


def clip_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rank = pipeline.rank

    def looking(read: votes.Votes, privacy: Privacy, **options: Any) -> Any:
        rows = read.source.table.count().to_pyarrow().as_py()
        return rank(read, privacy.changed(clip=float(rows)), **options)

    monkeypatch.setattr(pipeline, "rank", looking)


def lattice_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def looking(read: votes.Votes, bounded: Bounded, count: Callable[[Bounded], Tally]) -> Tally:
        whole = count(bounded)
        return replace(whole, step=whole.step / 2 ** (whole.rows % 3))

    _recounted(monkeypatch, looking)


def bad_rows_dropped_under_a_public_design(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = check.marked

    def dropping(read: votes.Votes, bounded: Bounded, rows: Any) -> Any:
        return mark(read, replace(bounded, answers_only=False), rows)

    monkeypatch.setattr(check, "marked", dropping)


def a_public_count_after_missing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of votes, taken after those without an answer were left out."""

    def counting_what_is_kept(read: votes.Votes, bounded: Bounded, rows: Any, counted: Any) -> int:
        return int(rows.filter(rows.use).count().to_pyarrow().as_py())

    monkeypatch.setattr(check, "require_usable", counting_what_is_kept)


def the_total_as_if_nothing_were_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Net wins alone, and the votes that count as their public total."""
    monkeypatch.setattr(Promise, "total_is_public", property(lambda self: self.votes_are_public))
    monkeypatch.setattr(crossing, "_public_total", lambda sums, calibrated: sums.total * float(sums.step))


def groups_as_if_nobody_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for one group alone: half of what a move needs, where what a person adds is as large as a replacement."""
    monkeypatch.setattr(Promise, "moves", property(lambda self: (Move(self.privacy.counted_as),)))


def group_sizes_as_public_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of all votes is public; that of a group is not."""
    monkeypatch.setattr(crossing, "_public_total", lambda counted, calibrated: float(counted.rows))


def people_in_several_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their votes count in each of their groups."""
    monkeypatch.setattr(check, "with_one_group", lambda rows, column="group": rows.mutate(one_group=True))


def a_seal_paid_once_for_two_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    split = perturbed.split_budget
    monkeypatch.setattr(perturbed, "split_budget", lambda epsilon, releases_per_unit: split(epsilon, 1))
    monkeypatch.setattr(perturbed, "_check", lambda plan, privacy, releases_per_unit: None)
    monkeypatch.setattr(Promise, "tallies_changed", 1)


def one_draw_inside_for_two_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, kept = lattice.truncated_laplace, list[list[int]]()

    def reused(size: int, scale: float) -> list[int]:
        if kept and len(kept[-1]) == size:
            return kept.pop()
        kept[:] = [draw(size, scale)]
        return list(kept[0])

    monkeypatch.setattr(lattice, "truncated_laplace", reused)


def capped_votes_as_added_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """One vote more, as if it displaced no other: add-remove instead of replace."""
    monkeypatch.setattr(Privacy, "counted_as", property(lambda self: self.neighbours))


def askable_pairs_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any pair is counted, and noise is for the declared ones."""
    monkeypatch.setattr(snapshot, "with_askable", lambda placed, items: placed.mutate(askable=True))


def the_constants_of_the_logistic_link(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kappa1", "kappa2"):
        monkeypatch.setitem(vars(HYPERBOLIC_SECANT), name, getattr(LOGISTIC, name))


def half_the_scale_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of λ, and the loss is not recomputed."""
    derive = perturbed.noise_scale  # type: ignore[attr-defined]
    monkeypatch.setattr(perturbed, "noise_scale", lambda *arguments: derive(*arguments) / 2)
    monkeypatch.setattr(perturbed, "privacy_loss", lambda *arguments: 0.0)


def half_the_noise_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """λ as it should be, and half of it drawn."""
    draw = lattice.truncated_laplace
    monkeypatch.setattr(lattice, "truncated_laplace", lambda size, scale: draw(size, scale / 2))


def weights_from_a_second_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer per pair: how often a person answered a pair is looked up first, and the votes are added up later."""
    read, paths = votes.read_votes, list[Path]()

    def noted(source: Path, **options: Any) -> votes.Votes:
        paths.append(source)
        return read(source, **options)

    def twice(whole: votes.Votes, bounded: Bounded, count: Callable[[Bounded], Tally]) -> Tally:
        said = Counter((person, frozenset(pair)) for person, pair in _won_pairs(paths[-1]))
        time.sleep(0.5)
        names, later = whole.items.names, list(_won_pairs(paths[-1]))
        wins, losses = np.zeros((2, len(names)), dtype=np.int64)
        for person, (winner, loser) in later:
            weight = 2 * (PERSON_GRID // said[person, frozenset((winner, loser))])
            wins[names.index(winner)] += weight
            losses[names.index(loser)] += weight
        return Tally(whole.items, wins, losses, bounded.half_vote, len(later), bounded)

    monkeypatch.setattr(votes, "read_votes", noted)
    _recounted(monkeypatch, twice)


def _won_pairs(path: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Person, winner and loser of each row of a file in which the first item named always wins."""
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        person, winner, loser, _ = line.split(",")
        yield person, (winner, loser)


def ties_not_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """K is released beside wins and losses as if it were free."""
    monkeypatch.setattr(WithTies, "l1", lambda self, change, limits, share: self.base.l1(change, limits, share))


def a_clip_without_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are clipped in the norm of the other counts alone: somebody who only ever ties is not clipped at all."""
    squares = bounding._squared_norms

    def without(rows: Any, terms: dict[str, int], apart: tuple[str, ...]) -> Any:
        return squares(rows, {name: weight for name, weight in terms.items() if name != "ties"}, apart)

    monkeypatch.setattr(bounding, "_squared_norms", without)


def ties_counted_after_bounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """K counts every tie as one, whatever the votes of its person weigh."""
    monkeypatch.setattr(tally, "_tied", lambda rows: rows.y * (2 - rows.y) * 2 * PERSON_GRID)


def half_the_reach_of_the_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ball.l2_sum_reach
    monkeypatch.setattr(ball, "l2_sum_reach", lambda *of: whole(*of) / 2)


def exposures_beside_net_wins_for_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ball of the exposures as if it cost nothing."""
    whole = ball.l2_sum_reach

    def free(promise: Promise, statistic: Statistic, clip: Clip | None, weights: ball.Weights) -> Fraction:
        return whole(promise, statistic, clip, (weights[0], *(0 * weight for weight in weights[1:])))

    monkeypatch.setattr(ball, "l2_sum_reach", free)


def groups_drawn_alone_as_if_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has its own ball, at the price of one joint ball: no √G."""
    whole = ball.l2_sum_reach
    monkeypatch.setattr(ball, "l2_sum_reach", lambda promise, *of: whole(replace(promise, groups=None), *of))


def a_radius_for_points_of_the_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gamma(d + 1), with a direction on the sphere: no noise near the centre."""
    whole, random = knorm.exponential_sum, secrets.SystemRandom().random  # type: ignore[attr-defined]
    monkeypatch.setattr(knorm, "exponential_sum", lambda uniforms: whole(uniforms) - arb(1 - random()).log())


def a_radius_of_one_dimension_less(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = knorm.exponential_sum  # type: ignore[attr-defined]
    monkeypatch.setattr(knorm, "exponential_sum", lambda uniforms: whole(uniforms[1:]))


def a_direction_from_a_cube(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform coordinates instead of normals: corners are more likely than sides."""
    monkeypatch.setattr(knorm, "normals", lambda uniforms: [2 * uniform - 1 for uniform in uniforms])


def rounded_before_adding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise on a coarse lattice, and a tally on a finer one, whose last digits come out as they are."""
    draw, coarse = knorm.Ball.draw, 1024
    monkeypatch.setattr(knorm.Ball, "draw", lambda self: [round(z / coarse) * coarse for z in draw(self)])


def rounded_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contributions are cut to a coarser grid, each item by itself: net wins no longer sum to zero."""

    def cut(read: votes.Votes, bounded: Bounded, count: Callable[[Bounded], Tally]) -> Tally:
        exact = count(bounded)
        return replace(exact, wins=exact.wins // 1000 * 1000, losses=exact.losses // 600 * 600)

    _recounted(monkeypatch, cut)


def the_reach_of_another_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """(s, βd) is released with the β of one choice and the reach of another, which is smaller: that of β = ½."""
    monkeypatch.setattr(NetWinsAndExposures, "l2", lambda self, change: Fraction(2))


def a_clip_of_another_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are clipped in the norm of (s, β'd), with half the β that is released."""
    squares = bounding._squared_norms

    def another(rows: Any, terms: dict[str, int], apart: tuple[str, ...]) -> Any:
        return squares(rows, {name: 1 if name == "exposure" else 4 * weight for name, weight in terms.items()}, apart)

    whole = whole_squares

    def finer(clip: Any) -> tuple[dict[str, int], int]:
        terms, scale = whole(clip)
        return terms, 2 * scale

    monkeypatch.setattr(bounding, "_squared_norms", another)
    monkeypatch.setattr(bounding, "whole_squares", finer)


FAULTS: list[tuple[Plant, Callable[[Case], Finding], Case, str]] = [
    (half_the_laplace_noise, fit, VOTES, "all entries"),
    (half_the_laplace_noise, black_box, TWO_ITEMS, ""),
    (half_the_sum_zero_noise, fit, PEOPLE_NET, "size"),
    (half_the_zonotope_noise, fit, PAIRS, "gauge"),
    (half_the_zonotope_noise, black_box, PAIRS, ""),
    (half_the_gaussian_noise, fit, GAUSSIAN_VOTES, "all entries"),
    (a_little_less_gaussian_noise, fit, MANY_ITEMS, "size"),
    (a_sigma_that_is_too_small, loss, GAUSSIAN_VOTES, ""),
    (a_sigma_that_is_too_small, loss, CLIPPED, ""),
    (a_curve_of_half_of_mu, loss, GAUSSIAN_VOTES, ""),
    (a_curve_of_half_of_mu, loss, CLIPPED, ""),
    (noise_rounded_before_it_is_added, fit, CLIPPED_FEW, "last digits"),
    (the_published_constant, bounds, PEOPLE, "times as far"),
    (the_published_constant, loss, PEOPLE, ""),
    (the_published_constant, black_box, TWO_ITEMS, ""),
    (no_bounding, bounds, PEOPLE, "times as far"),
    (weights_rounded_up, bounds, PEOPLE, "moves 1.0000"),
    (a_seed_in_every_draw, fit, VOTES, "two releases in one process"),
    (a_seed_at_the_start, fit, VOTES, "two processes"),
    (noise_used_twice, fit, VOTES, "in turns"),
    (fine_noise_used_twice, fit, PEOPLE_NET, "twice in a row"),
    (items_from_the_votes, bounds, VOTES, "items differs"),
    (ties_as_full_wins, bounds, ADDED_VOTES, "moves 2 times as far"),
    (two_spellings_of_one_person, bounds, PEOPLE, "people differs"),
    (debit_after_the_draw, fit, VOTES, "ledger does not come first"),
    (unsealed, sealed, MLE, "seal"),
    (stopped_early, sealed, MLE, "stops before its tolerance"),
    (a_seal_that_forgets_the_rounding, sealed, MLE, "forgets the rounding"),
    (the_ball_in_the_bounding_box, fit, PAIRS, "gauge"),
    (clipped_after_aggregation, bounds, CLIPPED, "times as far"),
    (gamma_from_an_unpaid_count, bounds, MLE_PEOPLE, "release: "),
    (gamma_from_an_unpaid_count, bounds, MLE, "release: "),
    (clip_from_an_unpaid_count, bounds, CLIPPED, "release: "),
    (lattice_from_an_unpaid_count, bounds, PEOPLE, "step differs"),
    (bad_rows_dropped_under_a_public_design, bounds, PUBLIC, "exposure differs"),
    (a_public_count_after_missing_answers, bounds, VOTES, "public_total differs"),
    (the_total_as_if_nothing_were_left_out, bounds, UNANSWERED, "public_total differs"),
    (groups_as_if_nobody_moved, bounds, SPLIT_COVER, "moves 2 times as far"),
    (groups_as_if_nobody_moved, loss, SPLIT_COVER, ""),
    (groups_as_if_nobody_moved, black_box, SPLIT_COVER_OF_TWO, ""),
    (group_sizes_as_public_totals, bounds, SPLIT_VOTES, "public_total differs"),
    (people_in_several_groups, bounds, SPLIT_NET, "times as far"),
    (noise_used_twice, fit, SPLIT_PEOPLE, "in turns"),
    (debit_after_the_draw, fit, SPLIT_PEOPLE, "ledger does not come first"),
    (debit_after_the_draw, sealed, SPLIT_MLE, "ledger does not come first"),
    (a_seal_paid_once_for_two_groups, sealed, SPLIT_MLE, "parts of ε exceed"),
    (one_draw_inside_for_two_groups, sealed, SPLIT_MLE, "used twice"),
    (capped_votes_as_added_ones, bounds, CAPPED, "moves 2 times as far"),
    (capped_votes_as_added_ones, loss, CAPPED, ""),
    (capped_votes_as_added_ones, black_box, CAPPED, ""),
    (capped_votes_as_added_ones, loss, CAPPED_MLE, ""),
    (askable_pairs_ignored, bounds, ASKED, "times as far"),
    (half_the_zonotope_noise, fit, ASKED, "gauge"),
    (the_constants_of_the_logistic_link, loss, SECANT, ""),
    (half_the_noise_inside, sealed, SECANT, "noise inside"),
    (stopped_early, sealed, SECANT, "stops before its tolerance"),
    (half_the_scale_inside, loss, PUBLISHED, ""),
    (half_the_noise_inside, sealed, PUBLISHED, "noise inside"),
    (weights_from_a_second_read, growing, GROWING, "times as far"),
    (ties_not_accounted_for, bounds, TIES, "moves 1.25 times as far"),
    (ties_not_accounted_for, loss, TIES, ""),
    (a_clip_without_ties, bounds, CLIPPED_TIES, "times as far"),
    (ties_counted_after_bounding, bounds, FREE_TIES, "times as far"),
    (half_the_reach_of_the_ball, bounds, BALLS, "times as far"),
    (half_the_reach_of_the_ball, loss, BALLS, ""),
    (half_the_reach_of_the_ball, black_box, BALLS_OF_TWO, ""),
    (exposures_beside_net_wins_for_free, bounds, MIXED_BALLS, "times as far"),
    (groups_drawn_alone_as_if_together, bounds, SPREAD_BALLS, "moves 1.41"),
    (a_radius_for_points_of_the_ball, fit, WIN_BALLS, "length"),
    (a_radius_of_one_dimension_less, fit, WIN_BALLS, "length"),
    (a_direction_from_a_cube, fit, WIN_BALLS, "first entry"),
    (rounded_before_adding, fit, WIN_BALLS, "last digit"),
    (rounded_item_by_item, bounds, BALLS, "times as far"),
    (clipped_after_aggregation, bounds, BALLS, "times as far"),
    (the_reach_of_another_share, bounds, CLIPPED_EXPOSURES, "times as far"),
    (a_clip_of_another_share, bounds, CLIPPED_EXPOSURES, "times as far"),
]
LONG = {exposures_beside_net_wins_for_free, groups_drawn_alone_as_if_together, rounded_item_by_item}
"""faults whose short form is in tests/mechanisms/test_ball.py"""
CHECKS = list(dict.fromkeys((attack, case) for _, attack, case, _ in FAULTS))
ONE_OF_EACH = [next(check for check in CHECKS if check[0] is attack) for attack in dict.fromkeys(a for a, _ in CHECKS)]


def _name(value: object) -> str:
    return value.name.replace(", ", "-") if isinstance(value, Case) else getattr(value, "__name__", "")


def _each_once() -> Iterator[Any]:
    """Every fault; where it is caught by several checks, the first always, and the others in the long form."""
    planted = set()
    for fault in FAULTS:
        yield pytest.param(*fault, marks=[pytest.mark.slow] * (fault[0] in planted or fault[0] in LONG))
        planted.add(fault[0])


@pytest.mark.parametrize(("plant", "attack", "case", "complaint"), list(_each_once()), ids=_name)
@pytest.mark.few(14)
def test_every_planted_fault_is_caught(
    monkeypatch: pytest.MonkeyPatch, plant: Plant, attack: Callable[[Case], Finding], case: Case, complaint: str
) -> None:
    """The check fails, and says why."""
    plant(monkeypatch)
    found = attack(case)
    assert not found.passed
    assert complaint in found.detail


@pytest.mark.parametrize(("attack", "case"), ONE_OF_EACH, ids=_name)
@pytest.mark.few(1)
def test_without_a_fault_each_kind_of_check_passes(attack: Callable[[Case], Finding], case: Case) -> None:
    """So that it was the fault that was caught. CI runs the quick audit, in which all kinds of cases pass."""
    found = attack(case)
    assert found.passed, found.detail


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "case"), [check for check in CHECKS if check not in ONE_OF_EACH], ids=_name)
def test_without_a_fault_the_same_checks_pass(attack: Callable[[Case], Finding], case: Case) -> None:
    """The long form: every case in which a fault was caught."""
    found = attack(case)
    assert found.passed, found.detail
