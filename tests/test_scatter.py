"""The scatter: a definition, a bound on how far one person moves it, and one payment for it and the counts.

docs/proofs/scatter.md names these tests.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
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
from quietrank.estimate.methods import Expected
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms import scatter
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.scatter import STEPS, Around
from quietrank.promise.accounting import as_written
from quietrank.promise.items import Items
from quietrank.promise.promise import Bounded, Promise
from quietrank.statistics.method import Method
from quietrank.votes.tally import counting
from tests.effort import effort
from tests.helpers import Vote, from_arrow

ITEMS = ("A1", "b c", "ç", "Ω")
OUTCOMES = ("a", "b", "tie")
ONE_PER_PAIR = qr.Privacy(1, "person", one_per_pair=True)
PROMISES = (ONE_PER_PAIR, qr.Privacy(1, "person", max_per_person=3))
Votes = list[tuple[str, str, str, str]]


def votes_of(person: str) -> st.SearchStrategy[Votes]:
    pair = st.permutations(ITEMS).map(lambda names: names[:2])
    vote = st.tuples(st.just(person), pair, st.sampled_from(OUTCOMES))
    return st.lists(vote.map(lambda v: (v[0], v[1][0], v[1][1], v[2])), min_size=1, max_size=5)


def steps(votes: Sequence[Vote], promise: Promise, expected: Expected, most: Fraction) -> int:
    """The exact scatter of these votes."""
    with counting(from_arrow(list(votes)), Bounded.by(promise.privacy, None), again=True) as counted:
        (value,) = counted.scatter([expected], float(most))
    return value


def expectation(around: Around, values: Sequence[float]) -> Expected:
    """Numbers from −1 to 1 turned into what this kind expects."""
    numbers = np.array(values)
    kinds = {Around.EXPOSURES: (1 + numbers) / 2, Around.PAIRS: 3 * numbers}
    return Expected(around, kinds.get(around, numbers / 2))


def by_definition(votes: Sequence[Vote], promise: Promise, expected: Expected, most: float) -> float:
    """The same in floating point, in steps, straight from the page."""
    people: dict[str, dict[tuple[str, str], list[float]]] = {}
    for person, a, b, outcome in votes:
        y = {"a": 1.0, "b": 0.0, "tie": 0.5}[outcome]
        low, high = sorted((a, b), key=ITEMS.index)
        people.setdefault(person, {}).setdefault((low, high), []).append(y if a == low else 1 - y)
    total, values = 0.0, expected.values
    for answers in people.values():
        count = sum(len(said) for said in answers.values())
        one = promise.privacy.one_per_pair
        share = min(1.0, promise.limits.weight / (len(answers) if one else count))
        r, votes_in_all = np.zeros(len(ITEMS)), 0.0
        for (low, high), said in answers.items():
            i, j = ITEMS.index(low), ITEMS.index(high)
            weight = share * (1.0 if one else len(said))
            won, votes_in_all = weight * float(np.mean(said)), votes_in_all + weight
            if expected.around is Around.PAIRS:
                score = np.rint(values * 64) / 64
                p = 1 / (1 + np.exp(score[j] - score[i]))
                r += (won - weight * p) * (np.eye(len(ITEMS))[i] - np.eye(len(ITEMS))[j])
                continue
            rates = values if expected.around is Around.EXPOSURES else np.full(len(ITEMS), 0.5)
            r[i] += won - weight * rates[i]
            r[j] += (weight - won) - weight * rates[j]
        if expected.around is Around.VOTES:
            r -= votes_in_all * values
        total += min(float(r @ r), most) / most * STEPS
    return total


@pytest.mark.parametrize("privacy", PROMISES, ids=["one-per-pair", "L = 3"])
@pytest.mark.parametrize("around", Around)
@settings(max_examples=effort(3, 25), deadline=None)
@given(data=st.data())
@pytest.mark.few(2)
def test_the_scatter_is_its_definition(around: Around, privacy: qr.Privacy, data: st.DataObject) -> None:
    """In whole steps, the sum over people of min(‖r‖², C²)."""
    votes = [vote for k in range(3) for vote in data.draw(votes_of(f"p{k}"))]
    promise = Promise(privacy, Items(ITEMS))
    most = scatter.largest_square(promise, None)
    values = data.draw(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
    expected = expectation(around, values)
    near = by_definition(votes, promise, expected, float(most))
    assert steps(votes, promise, expected, most) == pytest.approx(near, abs=60)  # rounding: a step per item and person


@pytest.mark.parametrize("around", Around)
@settings(max_examples=effort(3, 25), deadline=None)
@given(data=st.data())
@pytest.mark.few(1)
def test_one_person_moves_it_by_no_more_than_the_bound(around: Around, data: st.DataObject) -> None:
    """Replaced or removed, whatever is expected of them; the cap is what holds."""
    promise = Promise(data.draw(st.sampled_from(PROMISES)), Items(ITEMS))
    most = scatter.largest_square(promise, None)
    others, one, other = (data.draw(votes_of(person)) for person in ("p", "q", "q"))
    signs = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4))
    expected = expectation(around, [8 * sign for sign in signs] if around is Around.PAIRS else signs)
    with_one, with_other, without = (steps([*others, *more], promise, expected, most) for more in (one, other, []))
    assert abs(with_one - with_other) <= STEPS
    assert 0 <= with_one - without <= STEPS


def test_the_cap_is_needed() -> None:
    """This test can fail: a person far from what is expected would add more than C²."""
    promise = Promise(ONE_PER_PAIR, Items(ITEMS))
    expected, most = expectation(Around.EXPOSURES, [-1, -1, 1, 1]), scatter.largest_square(promise, None)
    all_pairs: Votes = [("p", a, b, "a") for a, b in itertools.combinations(ITEMS, 2)]
    uncapped = by_definition(all_pairs, promise, expected, 1e9) * 1e9 / float(most)
    assert uncapped > 2 * STEPS
    assert steps(all_pairs, promise, expected, most) == STEPS


def test_the_order_of_rows_does_not_matter() -> None:
    """The same votes in any order give the same scatter to the last bit."""
    rng = np.random.default_rng(1)
    votes: Votes = [
        (f"p{rng.integers(20)}", *rng.permutation(ITEMS)[:2].tolist(), str(rng.choice(OUTCOMES))) for _ in range(400)
    ]
    promise = Promise(qr.Privacy(1, "person", max_per_person=7), Items(ITEMS))
    most = scatter.largest_square(promise, None)
    for around in Around:
        expected = expectation(around, [0.3, -0.1, 0.77, -0.5])
        shuffled = [votes[k] for k in rng.permutation(len(votes))]
        assert steps(votes, promise, expected, most) == steps(shuffled, promise, expected, most)


@pytest.mark.parametrize(
    ("names", "pairs"), [(3, None), (4, None), (4, ((0, 1), (1, 2), (2, 3), (0, 3))), (4, ((0, 1), (0, 2), (0, 3)))]
)
def test_no_person_exceeds_the_cap(names: int, pairs: tuple[tuple[int, int], ...] | None) -> None:
    """Every way to answer, for every L; for all pairs and all answers it is reached."""
    items = Items(tuple("abcd"[:names]), pairs=pairs)
    edges = pairs or tuple(itertools.combinations(range(names), 2))
    contributions = []
    for answers in itertools.product((-0.5, 0.0, 0.5), repeat=len(edges)):
        x = np.zeros(names)
        for answer, (i, j) in zip(answers, edges, strict=True):
            x[i] += answer
            x[j] -= answer
        contributions.append((sum(answer != 0 for answer in answers), float(x @ x)))
    for limit in range(1, len(edges) + 1):
        promise = Promise(qr.Privacy(1, "person", one_per_pair=True, max_per_person=limit), items)
        most = float(scatter.largest_square(promise, None))
        reached = max(square for count, square in contributions if count <= limit)
        assert reached <= most
        assert pairs is not None or limit < len(edges) or reached == pytest.approx(most)


@given(st.floats(1e-6, 1e6), st.sampled_from(["auto", 0.01, 0.3, 0.5]), st.sampled_from([2, 6, 1000]))
def test_counts_and_scatter_never_cost_more_than_the_promise(epsilon: float, share: Any, n: int) -> None:
    """Exactly, not only in floating point."""
    promise = Promise(qr.Privacy(epsilon, "person", max_per_person=3), Items(tuple(f"i{k}" for k in range(n))))
    part = scatter.price(share, promise)
    assert 0 < part < epsilon
    assert Fraction(scatter.rest_of(epsilon, part)) + Fraction(part) <= Fraction(as_written(epsilon))


def test_a_scatter_beside_counts_that_cost_all_is_refused() -> None:
    """The crossing adds up both losses."""
    promise = Promise(ONE_PER_PAIR, Items(ITEMS))
    whole = choose(promise, Method.NET_WINS, LAPLACE).noise
    with pytest.raises(PrivacyError, match="does not keep"):
        crossing.require_kept(whole, scatter.scatter_noise(whole, 1.0, 0.05))
    rest = choose(promise.changed(epsilon=scatter.rest_of(1.0, 0.05)), Method.NET_WINS, LAPLACE).noise
    crossing.require_kept(rest, scatter.scatter_noise(rest, 1.0, 0.05))
    other = choose(Promise(PROMISES[1], Items(ITEMS)), Method.NET_WINS, LAPLACE).noise
    with pytest.raises(AssertionError, match="different promises"):
        crossing.require_kept(rest, scatter.scatter_noise(other, 1.0, 0.05))


VOTES: Votes = [(f"p{k % 9}", *pair, OUTCOMES[k % 3]) for k, pair in enumerate(itertools.permutations(ITEMS, 2))]


def test_it_is_paid_for_once_and_before_any_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry of the whole ε; if the counts cannot be drawn, it is there all the same."""
    ledger = BudgetLedger.create(tmp_path / "budget.db", data="drinks", unit="person", epsilon=3)
    qr.rank(from_arrow(VOTES), ONE_PER_PAIR, ledger=ledger)
    assert ledger.remaining == pytest.approx(2)
    (entry,) = ledger.entries()
    assert "scatter" in str(entry)

    def fails(self: object, values: object) -> None:
        raise RuntimeError("no entropy")

    monkeypatch.setattr("quietrank.noise.lattice.LaplaceNoise.add_to", fails)
    with pytest.raises(RuntimeError):
        qr.rank(from_arrow(VOTES), ONE_PER_PAIR, mechanism="laplace", ledger=ledger)
    assert ledger.remaining == pytest.approx(1)


def test_what_is_bought_and_what_is_not() -> None:
    """People, unless told otherwise; never single votes, and nothing for win counts, which have no intervals."""
    votes = from_arrow(VOTES)
    assert qr.rank(votes, ONE_PER_PAIR).scatter is not None
    for privacy, options in (
        (ONE_PER_PAIR, {"sampling_share": 0}), (qr.Privacy(1, "comparison"), {}), (ONE_PER_PAIR, {"method": "wins"})
    ):  # fmt: skip
        assert qr.rank(votes, privacy, **options).scatter is None
    release = qr.rank(votes, ONE_PER_PAIR, sampling_share=0.2)
    assert release.scatter is not None
    assert release.scatter.epsilon == 0.2
    assert release.privacy.epsilon == 1


@pytest.mark.parametrize("share", [-0.1, 0.6, "some", None, float("nan"), True])
def test_a_share_that_makes_no_sense_is_refused(share: Any) -> None:
    with pytest.raises(PrivacyError, match="sampling_share"):
        qr.rank(from_arrow(VOTES), ONE_PER_PAIR, sampling_share=share)


def test_a_saved_tally_keeps_it_and_cannot_be_edited(tmp_path: Path) -> None:
    """It comes back exactly; another price or scale is not what the promise bought."""
    path = tmp_path / "tally.json"
    tally = qr.noisy_tally(from_arrow(VOTES), ONE_PER_PAIR)
    tally.to_json(path)
    again = qr.NoisyTally.from_json(path)
    assert (again.scatter, again.people, again.privacy) == (tally.scatter, 9, tally.privacy)
    assert qr.rerank(again).to_dict() == qr.rerank(tally).to_dict()
    for name, value in (("epsilon", 0.01), ("scale", 1.0), ("most", 99.0)):
        values = json.loads(path.read_text())
        values["scatter"][name] = value
        (tmp_path / "edited.json").write_text(json.dumps(values))
        with pytest.raises(ReleaseError, match="damaged"):
            qr.NoisyTally.from_json(tmp_path / "edited.json")


def test_the_audit_finds_noise_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reach of half the cap passes every check that computes it again, and is caught on neighbouring files."""
    case = make_case(LAPLACE, "person", "replace", method=Method.NET_WINS, max_per_person=3)
    honest = bounds.check(case, 2)
    assert 0.2 < honest.scatter <= 1
    monkeypatch.setattr(scatter, "_reach", lambda promise: STEPS // 8)
    assert any("scatter" in complaint for complaint in bounds.check(case, 2).complaints)
