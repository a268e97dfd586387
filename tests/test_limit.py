"""A limit chosen for you: the histogram's reach, one payment for everything, and a limit nearly as good as the best.

docs/proofs/limit.md names these tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank import crossing
from quietrank.auditing import bounds
from quietrank.auditing.cases import make_case
from quietrank.errors import PrivacyError, ReleaseError
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms import choose, limit
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.noise import lattice, normal
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Bounded, Promise
from quietrank.statistics.method import Method
from quietrank.votes import tally
from quietrank.votes.tallies import PeopleByVotes
from quietrank.votes.tally import taking
from tests.effort import effort
from tests.helpers import Vote, from_arrow

ITEMS = ("A1", "b c", "ç", "Ω")
AUTO = Privacy(1, "person", max_per_person="auto")
ONE_PER_PAIR = Privacy(1, "person", max_per_person="auto", one_per_pair=True)


def simulated(**options: Any) -> Any:
    return qr.read_votes(qr.simulate(items=4, people=60, per_person=6, **options), items_from_votes=True)


def histogram(votes: Sequence[Vote], privacy: Privacy, bins: int = limit.BINS) -> Any:
    with taking(from_arrow(list(votes)), Bounded.by(privacy, None)) as taken:
        return taken.people_by_votes(bins, one_per_pair=privacy.one_per_pair).counts


def cast(person: str, count: int) -> list[Vote]:
    """So many votes of one person, on the six pairs in turn."""
    pairs = list(itertools.combinations(ITEMS, 2))
    return [(person, *pairs[k % len(pairs)], "a") for k in range(count)]


# ---- the histogram --------------------------------------------------------------------------------------------------


@settings(max_examples=effort(5, 25), deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_everybody_is_in_one_bin(counts: list[int]) -> None:
    """Bin k has the people with 2^k to 2^(k+1) − 1 votes, and the last those with more; with one answer per pair it is
    answers that count."""
    votes = [vote for k, count in enumerate(counts) for vote in cast(f"p{k}", count)]
    for privacy, most in ((AUTO, 40), (ONE_PER_PAIR, 6)):
        expected = np.bincount([min(min(c, most).bit_length() - 1, 4) for c in counts], minlength=5)
        assert histogram(votes, privacy, bins=5).tolist() == expected.tolist()


@pytest.mark.parametrize("privacy", [AUTO, ONE_PER_PAIR], ids=["weight", "pairs"])
@pytest.mark.few(1)
def test_one_person_moves_it_by_two(privacy: Privacy) -> None:
    """All small numbers of votes of the person who is replaced, and none at all; 2 is reached and never exceeded."""
    others = cast("x", 3) + cast("y", 9)
    seen = [histogram(others + cast("p", count), privacy) for count in range(9)]
    moved = max(int(np.abs(one - other).sum()) for one, other in itertools.combinations(seen, 2))
    assert moved == 2
    assert max(int(np.abs(one - seen[0]).sum()) for one in seen) == 1


@pytest.mark.parametrize(("neighbours", "reach"), [("replace", 2), ("add-remove", 1)])
@pytest.mark.parametrize("groups", [None, ("n", "s")])
def test_the_noise_covers_it(neighbours: Any, reach: int, groups: tuple[str, ...] | None) -> None:
    """The loss at the reach is what is charged, and five per cent of ε."""
    promise = Promise(AUTO.changed(neighbours=neighbours), Items(ITEMS), groups)
    noise = limit.limit_noise(promise)
    assert noise is not None
    assert noise.epsilon == 0.05
    assert Fraction(reach) / Fraction(noise.noise.scale) <= Fraction(noise.epsilon)
    assert Fraction(reach) / Fraction(noise.noise.scale) > Fraction(noise.epsilon) * Fraction(999, 1000)
    assert noise.cost.covers(noise.loss)


def test_the_audit_sees_a_person_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: everybody is counted six times. The bounds check of the audit complains."""
    case = make_case(LAPLACE, "person", method=Method.NET_WINS, epsilon=1.0, items=3, max_per_person=2)
    assert bounds.check(case, effort(1, 3), beside=1).complaints == ()
    honest = tally.Taken.people_by_votes

    def smeared(self: Any, bins: int, *, one_per_pair: bool) -> PeopleByVotes:
        exact = honest(self, bins, one_per_pair=one_per_pair)
        return replace(exact, counts=exact.counts + 5 * np.roll(exact.counts, 1))

    monkeypatch.setattr(tally.Taken, "people_by_votes", smeared)
    assert any("histogram" in complaint for complaint in bounds.check(case, effort(1, 2), beside=1).complaints)


# ---- one payment ----------------------------------------------------------------------------------------------------


class Recorder:
    """A ledger that writes down what was debited, and when."""

    def __init__(self, events: list[str]) -> None:
        self.events, self.costs = events, list[Cost]()

    def debit(self, charge: Any) -> str:
        self.events.append("debit")
        self.costs.append(charge.cost)
        return "entry"


def recorded(draw: Callable[..., Any], events: list[str]) -> Callable[..., Any]:
    def drawn(noise: Any, values: Any) -> Any:
        events.append("draw")
        return draw(noise, values)

    return drawn


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("share", ["auto", 0])
@pytest.mark.few(2)
def test_everything_is_debited_once_and_first(monkeypatch: pytest.MonkeyPatch, delta: float, share: Any) -> None:
    """One debit of the whole ε, before the histogram is drawn; in zCDP the sum of the parts."""
    events: list[str] = []
    for kind in (lattice.LaplaceNoise, normal.RoundedGaussianNoise):
        monkeypatch.setattr(kind, "add_to", recorded(kind.add_to, events))
    ledger = Recorder(events)
    noisy = qr.noisy_tally(
        simulated(), AUTO.changed(delta=delta), method="net-wins", ledger=ledger, sampling_share=share
    )
    assert events[0] == "debit"
    assert events.count("debit") == 1
    assert "draw" in events
    (cost,) = ledger.costs
    assert (cost.epsilon, cost.delta) == (1.0, delta)
    assert noisy.privacy.epsilon == 1.0
    if delta:
        assert cost.rho is not None
        assert cost.rho < 0.1


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 3.3])
@pytest.mark.parametrize("share", ["auto", 0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.few(2)
def test_the_parts_never_exceed_epsilon(epsilon: float, share: Any, delta: float, tmp_path: Path) -> None:
    """A budget of ε pays for it, whatever the parts add up to in binary; without δ it is empty afterwards."""
    budget = epsilon if delta == 0 else 1.01 * epsilon
    ledger = BudgetLedger.create(tmp_path / "b.db", epsilon=budget, delta=delta, data="votes", unit="person")
    privacy = Privacy(epsilon, "person", max_per_person="auto", delta=delta)
    noisy = qr.noisy_tally(simulated(), privacy, ledger=ledger, sampling_share=share)
    assert noisy.limit is not None
    parts = [noisy.limit.epsilon, *([] if noisy.scatter is None else [noisy.scatter.epsilon])]
    assert sum(map(Fraction, parts)) < Fraction(as_written(epsilon))
    if delta == 0:
        assert ledger.remaining == 0


def test_counts_that_forget_the_histogram_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: counts whose noise is calibrated to the whole ε. Nothing but the histogram is drawn."""
    monkeypatch.setattr("quietrank.pipeline.limit.rest_of", lambda epsilon, part: epsilon)
    with pytest.raises(PrivacyError, match="does not keep"):
        qr.rank(simulated(), AUTO, sampling_share=0)


def test_a_payment_cannot_be_spent_twice() -> None:
    """Counts drawn again from the same payment would cost more than was paid."""
    promise = Promise(AUTO, Items(ITEMS))
    noise = limit.limit_noise(promise)
    assert noise is not None
    people = PeopleByVotes(Items(ITEMS), np.zeros(limit.BINS, dtype=np.int64))
    _, payment = crossing.cross_people(people, noise, Cost.pure(0.95))
    payment.spend(Cost.pure(0.95))
    with pytest.raises(PrivacyError, match="more than was paid for"):
        payment.spend(Cost.pure(0.95))


def test_a_histogram_of_another_promise_is_refused() -> None:
    """Counts of people under one relation cannot follow a histogram that was bought under another."""
    noise = limit.limit_noise(Promise(AUTO.changed(neighbours="add-remove"), Items(ITEMS)))
    counts = choose.choose(Promise(Privacy(0.9, "person", max_per_person=2), Items(ITEMS)), Method.NET_WINS).noise
    with pytest.raises(AssertionError, match="different promises"):
        crossing.require_kept(counts, None, noise)


# ---- what is chosen -------------------------------------------------------------------------------------------------


def test_a_public_design_costs_nothing() -> None:
    """Who was asked what is public there, so votes per person are."""
    privacy = Privacy(1, "person", max_per_person="auto", neighbours="outcome", design="public")
    release = qr.rank(simulated(), privacy)
    assert release.limit is not None
    assert (release.limit.epsilon, release.limit.scale, sum(release.limit.counts)) == (0, 0, 60)


@pytest.mark.parametrize("mechanism", ["laplace", "zonotope", "gaussian", "perturbed-mle"])
@pytest.mark.few(2)
def test_every_mechanism_takes_a_chosen_limit(mechanism: Any) -> None:
    needed: dict[str, dict[str, Any]] = {"zonotope": {"one_per_pair": True}, "gaussian": {"delta": 1e-6}}
    privacy = Privacy(4, "person", max_per_person="auto", **needed.get(mechanism, {}))
    expected = {"comparisons_per_item": 180} if mechanism == "perturbed-mle" else {}
    release = qr.rank(simulated(), privacy, mechanism=mechanism, **expected)  # type: ignore[arg-type]
    assert release.mechanism.name == mechanism
    assert release.limit is not None
    assert release.privacy.max_per_person == release.limit.limit
    assert any(str(release.limit.limit) in note and "0.2" in note for note in release.assumptions)


def test_it_is_for_people_with_groups_too() -> None:
    """One histogram for all groups, and one limit."""
    table = qr.simulate(items=3, people=40, per_person=4)
    table = table.append_column("land", [["n" if k // 4 % 2 else "s" for k in range(table.num_rows)]])
    for by_person in (False, True):
        votes = qr.read_votes(table, items_from_votes=True, by="land", groups=["n", "s"], by_person=by_person)
        noisy = qr.noisy_tally_by_group(votes, AUTO)
        assert len({one.limit for _, one in noisy.tallies}) == 1


def test_few_people_get_the_smallest_limit() -> None:
    """Where no bin stands out of its noise there is next to nothing but noise."""
    noise = limit.limit_noise(Promise(AUTO, Items(ITEMS)))
    options = choose.limited(Promise(AUTO.changed(epsilon=0.95), Items(ITEMS)), Method.NET_WINS, None)
    assert choose.chosen_limit(np.zeros(limit.BINS, dtype=np.int64), noise, options).limit == 1


def test_a_limit_that_has_no_noise_is_not_chosen() -> None:
    """The perturbed MLE needs γ > L/(2ε): a declared γ rules large limits out, before anything is drawn."""
    votes = qr.read_votes(qr.simulate(items=4, people=200, per_person=60), items_from_votes=True)
    privacy = Privacy(8, "person", max_per_person="auto")
    release = qr.rank(votes, privacy, mechanism="perturbed-mle", gamma=1.0)
    assert release.limit is not None
    assert release.limit.limit < 2 * 8 * 1.0


def test_it_is_saved_and_checked(tmp_path: Path) -> None:
    """A saved tally gives the same release; its limit cannot be edited alone."""
    noisy = qr.noisy_tally(simulated(), AUTO)
    noisy.to_json(tmp_path / "t.json")
    assert qr.rerank(qr.NoisyTally.from_json(tmp_path / "t.json")).to_dict() == qr.rerank(noisy).to_dict()
    text = (tmp_path / "t.json").read_text()
    for edited in (text.replace('"epsilon": 0.05', '"epsilon": 0.01'), text.replace('"counts": [', '"counts": [1, ')):
        assert edited != text
        (tmp_path / "t2.json").write_text(edited)
        with pytest.raises(ReleaseError, match="damaged"):
            qr.NoisyTally.from_json(tmp_path / "t2.json")


def test_it_needs_votes() -> None:
    """Plans, and comparisons, have no limit to choose."""
    with pytest.raises(PrivacyError, match="is for unit='person'"):
        Privacy(1, "comparison", max_per_person="auto")
    with pytest.raises(PrivacyError, match="chosen when votes are counted"):
        _ = AUTO.limit


# ---- how good it is -------------------------------------------------------------------------------------------------

TAILS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "pareto 1.1": lambda rng, m: np.minimum(np.floor((1 - rng.random(m)) ** (-1 / 1.1)), 4000),
    "pareto 1.6": lambda rng, m: np.minimum(np.floor(2 * (1 - rng.random(m)) ** (-1 / 1.6)), 4000),
    "lognormal": lambda rng, m: np.maximum(1, np.rint(np.exp(rng.normal(1.5, 1.5, m)))),
    "3 or 100": lambda rng, m: np.where(rng.random(m) < 0.8, 3, 100),
}


@pytest.mark.parametrize(("people", "most"), [(5000, 1.15), (300, 1.4)])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.few(2)
def test_it_is_nearly_as_good_as_the_best_in_hindsight(tail: str, people: int, most: float) -> None:
    """The median, over samples and noise, of the error at the chosen limit over that of the best limit at the whole ε;
    errors from everybody's exact number of votes (benchmarks/limit measures them on releases)."""
    rng, items, ratios = np.random.default_rng(5), Items(tuple("abcdefghij")), []
    for epsilon in (0.5, 1.0, 4.0):
        promise = Promise(AUTO.changed(epsilon=epsilon), items)
        noise = limit.limit_noise(promise)
        assert noise is not None
        rest = choose.limited(promise.changed(epsilon=0.95 * epsilon), Method.NET_WINS, None)
        whole = choose.limited(promise, Method.NET_WINS, None)
        limits = [2**k for k in range(12)]
        sds = [whole.at(L).noise.noise_sd for L in limits]
        for _ in range(5):
            votes = TAILS[tail](rng, people)
            exact = np.bincount(np.minimum(np.log2(votes).astype(int), limit.BINS - 1), minlength=limit.BINS)
            noisy = np.rint(exact + rng.laplace(0, noise.noise.scale, limit.BINS)).astype(np.int64)
            best = min(_error(votes, L, sd, len(items)) for L, sd in zip(limits, sds, strict=True))
            chosen = choose.chosen_limit(noisy, noise, rest).limit
            ratios.append(_error(votes, chosen, rest.at(chosen).noise.noise_sd, len(items)) / best)
    assert np.median(ratios) <= most


def _error(votes: Any, L: int, noise_sd: float, n: int) -> float:
    kept = np.minimum(1, L / votes)
    sampling = (kept**2 * votes * (0.5 + (votes - 1) * 4 * 0.04 / n)).sum() / n
    return float(np.sqrt(sampling + noise_sd**2) / (2 * (kept * votes).sum() / n))
