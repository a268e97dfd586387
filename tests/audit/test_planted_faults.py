"""Planted faults: each is switched on by injection, and the audit, which passes without it, fails with it.

docs/audit.md has the table. The faults live here and nowhere in the library.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from quietrank import additive, bounding, check, mechanism, noise, perturbed, pipeline, sensitivity, tally, votes
from quietrank.additive import MechanismName
from quietrank.audit import run
from quietrank.audit.cases import Case, make_case
from quietrank.audit.report import Finding
from quietrank.audit.run import Sizes
from quietrank.estimators.methods import Method
from quietrank.noise import knorm, lattice
from quietrank.privacy import Privacy
from quietrank.sensitivity import PERSON_GRID, Statistic

Integers = NDArray[np.int64]
Plant = Callable[[pytest.MonkeyPatch], None]

SMALL = Sizes(pairs=6, releases=1, draws=1200, runs=12_000, most_runs=12_000, gaussian_runs=30_000, slow_runs=100)
RISK = 1e-8
"""a sound library fails a test of this file less than once in a million runs"""

LAPLACE, ZONOTOPE, GAUSSIAN, PERTURBED = (
    MechanismName.LAPLACE, MechanismName.ZONOTOPE, MechanismName.GAUSSIAN, MechanismName.PERTURBED_MLE
)  # fmt: skip
VOTES = make_case(LAPLACE, "comparison", method=Method.WINS, items=3)
ADDED_VOTES = make_case(LAPLACE, "comparison", "add-remove", method=Method.WINS)
PEOPLE = make_case(LAPLACE, "person", method=Method.WINS, max_per_person=3)
TWO_ITEMS = make_case(LAPLACE, "person", method=Method.WINS, items=2, max_per_person=3)
PEOPLE_NET = make_case(LAPLACE, "person", method=Method.NET_WINS, items=3, max_per_person=3)
PAIRS = make_case(ZONOTOPE, "person", method=Method.NET_WINS, items=3, one_per_pair=True)
CLIPPED = make_case(GAUSSIAN, "person", method=Method.NET_WINS, max_per_person=3, delta=1e-3)
COARSE = make_case(GAUSSIAN, "comparison", method=Method.NET_WINS, items=3, delta=1e-3)
PUBLIC = make_case(LAPLACE, "person", "outcome", method=Method.NET_WINS, max_per_person=3)
MLE = make_case(PERTURBED, "comparison", "add-remove")
MLE_PEOPLE = make_case(PERTURBED, "person", max_per_person=3)


def bounds(case: Case) -> Finding:
    return run.bounds_check([case], SMALL)


def loss(case: Case) -> Finding:
    return run.loss_check([case], SMALL)


def fit(case: Case) -> Finding:
    return run.noise_check(case, SMALL, RISK)


def sealed(case: Case) -> Finding:
    return run.seal_check(case, SMALL, RISK)


def black_box(case: Case) -> Finding:
    parts = [run.draw_scores(case, of_one, 12_000) for of_one in (True, False)]
    return run.black_box_finding(case, parts, RISK)


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
    draw = lattice.GaussianNoise.add
    monkeypatch.setattr(lattice.GaussianNoise, "add", lambda self, v: draw(lattice.GaussianNoise(self.scale / 2), v))


def the_published_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """L instead of 2L for a person's wins under replace."""
    derive = sensitivity.sensitivity

    def published(privacy: Privacy, statistic: Statistic, *rest: Any, **options: Any) -> sensitivity.Sensitivity:
        return replace(derive(privacy, statistic, *rest, **options), l1=Fraction(privacy.limit))

    monkeypatch.setattr(sensitivity, "sensitivity", published)
    monkeypatch.setattr(additive, "sensitivity", published)


def no_bounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "_scaled_down", lambda rows, limit: rows.mutate(weight=PERSON_GRID))


def weights_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bounding, "_quotient", lambda dividend, divisor: ((dividend + divisor - 1) // divisor).cast("int64")
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
        return (rows.weight * won * 2).sum(), (rows.weight * lost * 2).sum()

    monkeypatch.setattr(tally, "_won_and_lost", generous)


def two_spellings_of_one_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """`u` where the first item is named first, `u ` elsewhere: two people, and twice the weight."""
    read = votes.Votes.rows

    def split(self: votes.Votes, *, numbered: bool = False) -> Any:
        import ibis

        rows = read(self, numbered=numbered)
        return rows.mutate(person=ibis.ifelse(rows.a == self.items.names[0], rows.person, rows.person + " "))

    monkeypatch.setattr(votes.Votes, "rows", split)


def debit_after_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    cross = mechanism.add_noise

    def late(counted: Any, calibrated: additive.Calibrated, *, ledger: Any = None, rows_skipped: bool = False) -> Any:
        costs = []

        class Later:
            def debit(self, charge: Any) -> str:
                costs.append(charge)
                return "1"

        noisy = cross(counted, calibrated, ledger=Later(), rows_skipped=rows_skipped)
        if ledger is not None:
            ledger.debit(costs[0])
        return noisy

    monkeypatch.setattr(mechanism, "add_noise", late)


def unsealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "add_laplace", lambda values, scale: values)


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


def clipped_after_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    """One factor for the whole sum, so that its norm is at most C for each of four people."""
    count = tally.tally_votes

    def late(read: votes.Votes, privacy: Privacy, clip: sensitivity.Clip | None = None) -> tally.Tally:
        if clip is None:
            return count(read, privacy)
        whole = count(read, privacy.changed(clip=None, max_per_person=10**6))
        norm = float(np.linalg.norm(whole.net_wins * float(whole.step)))
        factor = min(1.0, 4 * float(clip.norm) / max(norm, 1e-9))
        # Passed off as clipped: without this the crossing itself would refuse it.
        wins, losses = (np.asarray(side * factor, dtype=np.int64) for side in (whole.wins, whole.losses))
        return replace(whole, wins=wins, losses=losses, bounded=sensitivity.Bounded.by(privacy, clip))

    monkeypatch.setattr(tally, "tally_votes", late)


def gamma_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Privacy, "votes_are_public", property(lambda self: True))


def clip_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rank = pipeline.rank

    def looking(read: votes.Votes, privacy: Privacy, **options: Any) -> Any:
        rows = read.source.table.count().to_pyarrow().as_py()
        return rank(read, privacy.changed(clip=float(rows)), **options)

    monkeypatch.setattr(pipeline, "rank", looking)


def lattice_from_an_unpaid_count(monkeypatch: pytest.MonkeyPatch) -> None:
    count = tally.tally_votes

    def looking(read: votes.Votes, privacy: Privacy, clip: sensitivity.Clip | None = None) -> tally.Tally:
        whole = count(read, privacy, clip)
        return replace(whole, step=whole.step / 2 ** (whole.rows % 3))

    monkeypatch.setattr(tally, "tally_votes", looking)


def bad_rows_dropped_under_a_public_design(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = check.usable

    def dropping(read: votes.Votes, privacy: Privacy, rows: Any) -> Any:
        return keep(read, privacy.changed(neighbours="replace", design="private"), rows)

    monkeypatch.setattr(check, "usable", dropping)


FAULTS: list[tuple[Plant, Callable[[Case], Finding], Case, str]] = [
    (half_the_laplace_noise, fit, VOTES, "all entries"),
    (half_the_laplace_noise, black_box, TWO_ITEMS, ""),
    (half_the_sum_zero_noise, fit, PEOPLE_NET, "size"),
    (half_the_zonotope_noise, fit, PAIRS, "gauge"),
    (half_the_zonotope_noise, black_box, PAIRS, ""),
    (half_the_gaussian_noise, fit, COARSE, "all entries"),
    (the_published_constant, bounds, PEOPLE, "moves 1.9999"),
    (the_published_constant, loss, PEOPLE, ""),
    (the_published_constant, black_box, TWO_ITEMS, ""),
    (no_bounding, bounds, PEOPLE, "times as far"),
    (weights_rounded_up, bounds, PEOPLE, "moves 1.0000"),
    (a_seed_in_every_draw, fit, VOTES, "two releases in one process"),
    (a_seed_at_the_start, fit, VOTES, "two processes"),
    (noise_used_twice, fit, VOTES, "in turns"),
    (fine_noise_used_twice, fit, PEOPLE_NET, "twice in a row"),
    (items_from_the_votes, bounds, PEOPLE, "items differs"),
    (ties_as_full_wins, bounds, ADDED_VOTES, "moves 2 times as far"),
    (two_spellings_of_one_person, bounds, PEOPLE, "times as far"),
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
]
CHECKS = list(dict.fromkeys((attack, case) for _, attack, case, _ in FAULTS))


def _name(value: object) -> str:
    return value.name.replace(", ", "-") if isinstance(value, Case) else getattr(value, "__name__", "")


@pytest.mark.parametrize(("plant", "attack", "case", "complaint"), FAULTS, ids=_name)
def test_every_planted_fault_is_caught(
    monkeypatch: pytest.MonkeyPatch, plant: Plant, attack: Callable[[Case], Finding], case: Case, complaint: str
) -> None:
    """The check fails, and says why."""
    plant(monkeypatch)
    found = attack(case)
    assert not found.passed
    assert complaint in found.detail


@pytest.mark.parametrize(("attack", "case"), CHECKS, ids=_name)
def test_without_a_fault_the_same_checks_pass(attack: Callable[[Case], Finding], case: Case) -> None:
    """So that it was the fault that was caught."""
    found = attack(case)
    assert found.passed, found.detail
