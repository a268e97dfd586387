"""Shares of the total and of exposures: from public values, consistent in all norms, and with the least error."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import ReleaseError
from quietrank.maths import shares
from quietrank.mechanisms.gaussian import GAUSSIAN, l2_growth
from quietrank.mechanisms.laplace import LAPLACE, l1_reach
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy
from quietrank.promise.promise import Bounded, Promise
from quietrank.publish import tally_file
from quietrank.statistics.net_wins import (
    EXPOSURE_SHARE,
    NET_WINS_AND_EXPOSURES,
    NET_WINS_AND_SHOWN,
    NET_WINS_AND_TOTAL,
    SHARES,
    TOTAL_SHARE,
)
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.ties import WithTies
from tests.helpers import from_arrow, make_tally
from tests.steps import add_noise, require_kept

PERSON: dict[str, Any] = {"epsilon": 1.0, "unit": "person", "max_per_person": 3, "delta": 1e-6}
RELEASED: dict[str, tuple[Mechanism, Statistic, dict[str, Any], int]] = {
    "total": (LAPLACE, NET_WINS_AND_TOTAL, {"neighbours": "add-remove", "design": "uniform"}, 2),
    "exposures": (GAUSSIAN, NET_WINS_AND_EXPOSURES, {}, 2),
    "exposures, uniform": (GAUSSIAN, NET_WINS_AND_EXPOSURES, {"design": "uniform"}, 2),
    "times shown": (LAPLACE, NET_WINS_AND_SHOWN, {}, 3),
    "times shown, clipped": (GAUSSIAN, NET_WINS_AND_SHOWN, {}, 3),
}


def _promise(n: int, shown: int = 2, **words: Any) -> Promise:
    return Promise(Privacy(**{**PERSON, **words}), Items(tuple(f"item {k}" for k in range(n)), shown=shown))


def _made(name: str, n: int = 4, **words: Any) -> Calibrated:
    mechanism, statistic, more, shown = RELEASED[name]
    return mechanism.calibrate(_promise(n, shown, **more, **words), statistic)


@pytest.mark.parametrize("name", RELEASED)
@settings(max_examples=12)
@given(n=st.integers(4, 400), limit=st.integers(1, 300), epsilon=st.sampled_from([0.01, 0.7, 20.0]))
def test_a_share_is_public_and_stays(name: str, n: int, limit: int, epsilon: float) -> None:
    """It does not depend on ε; and the promise that is kept, with its clip filled in, leads to the same one, so that
    whoever calibrates again finds what was released."""
    made = _made(name, n, max_per_person=limit)
    assert made.share == _made(name, n, max_per_person=limit, epsilon=epsilon).share
    assert made.mechanism.calibrate(made.promise.changed(delta=1e-6), RELEASED[name][1]).share == made.share


@pytest.mark.parametrize("name", RELEASED)
@settings(max_examples=12)
@given(n=st.integers(4, 400), limit=st.integers(1, 300))
def test_one_share_is_in_the_vector_the_clip_and_the_reach(name: str, n: int, limit: int) -> None:
    """The share that multiplies the values is that of the norm that people are clipped in, and of its reach."""
    made = _made(name, n, max_per_person=limit)
    promise, statistic = made.promise, made.statistic
    assert made.share == statistic.share(promise) in statistic.offered
    if made.clip is not None:
        assert dict(made.clip.squares)["exposure"] == made.share**2
        assert promise.reach(statistic.l2) == 4 / (1 + 4 * made.share**2)
    require_kept(promise.items, made)


def test_ties_are_counted_beside_the_same_share() -> None:
    """κ is chosen after β, and leaves it alone."""
    promise = _promise(30)
    without = GAUSSIAN.calibrate(promise, NET_WINS_AND_EXPOSURES)
    made = GAUSSIAN.calibrate(promise, WithTies(NET_WINS_AND_EXPOSURES))
    assert made.share == without.share != EXPOSURE_SHARE
    assert made.clip is not None
    assert dict(made.clip.squares)["exposure"] == made.share**2


# ---- a mismatch is refused ------------------------------------------------------------------------------------------


def test_a_tally_clipped_at_another_share_is_refused() -> None:
    """Noise for (s, βd) on people who were clipped in the norm of another β: nothing is drawn."""
    made = _made("exposures")
    other = GAUSSIAN.calibrate(made.promise, NET_WINS_AND_EXPOSURES.with_share(Fraction(1, 64)))
    assert made.clip is not None
    assert other.clip is not None
    assert made.share != other.share
    assert made.clip.norm == other.clip.norm
    tally = replace(
        make_tally([1, 2, 3, 0], [2, 1, 0, 3], made.privacy),
        items=made.promise.items, bounded=Bounded.by(other.privacy, other.clip),
    )  # fmt: skip
    with pytest.raises(AssertionError, match="not bounded in the way"):
        add_noise(tally, made)
    add_noise(replace(tally, bounded=Bounded.by(made.privacy, made.clip)), made)


@pytest.mark.parametrize("name", RELEASED)
def test_a_share_that_the_reach_does_not_know_is_refused(name: str) -> None:
    """Values multiplied by another share, or the reach of another share: the loss is not computed at all."""
    made = _made(name)
    another = next(share for share in made.statistic.offered if share != made.share)
    for wrong in (replace(made, share=another), replace(made, statistic=made.statistic.with_share(another))):
        with pytest.raises(AssertionError, match=r"another (share|norm)"):
            wrong.mechanism.loss(wrong)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3), Fraction(2), Fraction(1, 128)])
def test_exposures_have_no_share_beyond_their_proof(share: Fraction) -> None:
    """The reach of (s, βd) is proven for β ≤ ½, and clipping is exact for powers of ½ down to 1/64."""
    with pytest.raises(AssertionError, match="must be one of"):
        NET_WINS_AND_EXPOSURES.with_share(share)


# ---- the error ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RELEASED)
@settings(max_examples=12)
@given(n=st.integers(4, 1000), limit=st.integers(1, 1000))
def test_the_choice_has_the_least_expected_error(name: str, n: int, limit: int) -> None:
    """Never more than with the usual share, whether exposures differ or not; and the least where that is known."""
    mechanism, statistic, words, shown = RELEASED[name]
    promise = _promise(n, shown, **words, max_per_person=limit)

    def error(one: Statistic, own: float) -> float:
        return shares.squared_error(one, promise, lambda each: mechanism.growth(promise, each) or 0.0, own)

    chosen = mechanism.calibrate(promise, statistic).statistic
    for own in shares.OWN_NOISE:
        assert error(chosen, own) <= error(statistic, own)
        least = min(error(statistic.with_share(share), own) for share in statistic.offered)
        known = promise.privacy.design is Design.UNIFORM
        assert not known or error(chosen, own) <= least / shares.WORTH_IT**2


@given(n=st.integers(3, 1000))
def test_the_share_of_the_total_is_near_its_closed_form(n: int) -> None:
    """(1 + α)²(1 + vk/α²) is least at α³ = vk: within a factor of 2, or so flat that 1/16 is as good."""
    promise = _promise(n, neighbours="add-remove", design="uniform")
    best = (shares.RATE_VARIANCE * (2 / n) ** 2 / 2) ** (1 / 3)
    alpha = float(LAPLACE.calibrate(promise, NET_WINS_AND_TOTAL).share)
    assert 0.5 < alpha / best < 2 or best < 1 / 64 or alpha == TOTAL_SHARE


def test_what_is_free_is_taken() -> None:
    """The total where people answer few pairs once each, and the exposures of single votes that are replaced: neither
    has more noise on net wins than without."""
    few = _promise(6, one_per_pair=True, design="uniform", delta=0.0)
    total = LAPLACE.calibrate(few, NET_WINS_AND_TOTAL)
    assert total.share == 1
    assert l1_reach(few, total.statistic) == 2 * 3
    single = _promise(20, unit="comparison", max_per_person=None)
    met = GAUSSIAN.calibrate(single, NET_WINS_AND_EXPOSURES)
    assert met.share == Fraction(1, 2)
    growths = {l2_growth(single, NET_WINS_AND_EXPOSURES.with_share(share)) for share in SHARES[1:]}
    assert max(growths) == pytest.approx(min(growths))


@pytest.mark.parametrize(
    ("name", "n", "limit", "expected"),
    [
        ("total", 3, 5, "1/8"), ("total", 6, 5, "1/8"), ("total", 10, 5, "1/16"), ("total", 20, 5, "1/16"),
        ("total", 50, 5, "1/32"), ("total", 300, 5, "1/64"),
        ("exposures", 20, 1, "1/2"), ("exposures", 20, 3, "1/4"), ("exposures", 20, 15, "1/8"),
        ("exposures", 300, 15, "1/4"), ("exposures", 300, 200, "1/8"),
        ("exposures, uniform", 20, 15, "1/8"), ("exposures, uniform", 20, 200, "1/16"),
        ("times shown", 4, 5, "1/8"), ("times shown", 50, 5, "1/16"),
    ],
)  # fmt: skip
def test_the_table(name: str, n: int, limit: int, expected: str) -> None:
    """Some entries of the table in benchmarks/shares: whoever changes the rule changes it there."""
    assert str(_made(name, n, max_per_person=limit).share) == expected


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 16)])
def test_the_expected_error_is_that_of_releases(share: Fraction) -> None:
    """Win rates from noisy counts of four items, with noise of the public law: (s, αT) as derived, where the noise
    conditioned to sum to zero has the variance (2n − 1)(n − 1)/(n(n + 1)) instead of 2 scales."""
    promise, n = _promise(4, neighbours="add-remove", design="uniform"), 4
    law = LAPLACE.calibrate(promise, NET_WINS_AND_TOTAL.with_share(share)).law
    rng, total = np.random.default_rng(5), 40_000.0
    rates = np.array([0.2, 0.1, -0.1, -0.2])
    noise = law.sample(rng, 40_000)
    off = (rates * total * 2 / n + noise[:, :n]) / (2 * (total + noise[:, n:]) / n) - rates
    sum_zero = (2 * n - 1) * (n - 1) / (n * (n + 1)) / 2
    expected = 1 + float(np.mean(rates**2)) * (2 / n) ** 2 / float(share) ** 2 / sum_zero
    alone = law.spread.net_wins**2 / (2 * total / n) ** 2
    assert np.mean(off**2) / alone == pytest.approx(expected, rel=0.05)


# ---- files ----------------------------------------------------------------------------------------------------------

VOTES = [(f"p{k}", *pair, "a") for k in range(9) for pair in (("A1", "ç"), ("A1", "Ω"))]


def _tally() -> qr.NoisyTally:
    return qr.noisy_tally(from_arrow(VOTES), Privacy(**PERSON), method="win-rate", mechanism="gaussian")


def test_a_file_from_before_is_read_with_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier versions had one share: a tally that was saved with it comes back as it was."""
    with monkeypatch.context() as before:
        before.setattr(shares, "best_share", lambda statistic, promise, growth: None)
        old = _tally()
    new = _tally()
    assert (old.share, new.share) == (EXPOSURE_SHARE, Fraction(1, 4))
    for name, one in (("old", old), ("new", new)):
        one.to_json(tmp_path / f"{name}.json")
        again = qr.NoisyTally.from_json(tmp_path / f"{name}.json")
        assert again.share == one.share
        assert again.values.tolist() == one.values.tolist()
        assert again.to_json() == one.to_json()


@pytest.mark.parametrize("share", ["1/2", "1/8", "1", "3/4", "1/1024"])
@pytest.mark.few(2)
def test_the_share_in_a_file_cannot_be_edited(share: str) -> None:
    """Exposures would come out as a multiple of what they are."""
    values = tally_file.to_dict(_tally())
    assert values["share"] == "1/4"
    with pytest.raises(ReleaseError, match="not the one that its promise needs"):
        tally_file.from_dict(values | {"share": share})


def test_the_zonotope_needs_no_share() -> None:
    """Its body has a side of its own for the total."""
    promise = _promise(5, one_per_pair=True, design=Design.UNIFORM, delta=0.0)
    assert ZONOTOPE.calibrate(promise, NET_WINS_AND_TOTAL).share == 1
