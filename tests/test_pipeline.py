"""Pipeline: the whole chain, and what privacy costs next to an exact fit."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import quietrank as qr
from quietrank.demo import demo_votes
from quietrank.errors import PrivacyError
from quietrank.mechanisms.registry import MechanismWord
from quietrank.promise.accounting import Charge
from quietrank.promise.privacy import Privacy
from tests.effort import THOROUGH
from tests.helpers import from_arrow, silence

SHARED = Path(__file__).parent.parent.parent / "shared"
CEMS = {
    "London": 0.9384,
    "Paris": 0.2473,
    "Barcelona": -0.1212,
    "St.Gallen": -0.1340,
    "Milano": -0.2713,
    "Stockholm": -0.6591,
}
IMMIGRATION = {"crimRate": 0.4384, "socBurd": 0.4060, "position": -0.3269, "culture": -0.5174}


def _rounded(fitted: qr.NonPrivateFit) -> dict[str, float]:
    return {name: round(float(score), 4) for name, score in zip(fitted.items, fitted.scores, strict=True)}


def test_exact_scores_of_the_survey() -> None:
    """CEMS, ties as halves, no ridge, to four decimals."""
    assert _rounded(qr.fit(demo_votes())) == CEMS


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/immigration.csv, which does not ship")
def test_exact_scores_of_the_immigration_survey() -> None:
    """Immigration, ties as halves, no ridge, to four decimals."""
    path = SHARED / "data" / "immigration.csv"
    with path.open(newline="") as stream:
        items = {row[side] for row in csv.DictReader(stream) for side in ("item_a", "item_b")}
    assert _rounded(qr.fit(qr.read_votes(path, items=sorted(items)))) == IMMIGRATION


PROMISES = [
    Privacy(1, "comparison", design="uniform"),
    Privacy(1, "comparison"),
    Privacy(1, "comparison", neighbours="outcome", design="public"),
    Privacy(1, "person", max_per_person=15),
    Privacy(1, "person", max_per_person=15, neighbours="add-remove", design="uniform"),
]


@pytest.mark.parametrize("privacy", PROMISES, ids=lambda p: f"{p.unit}-{p.neighbours}-{p.design}")
@pytest.mark.few(2)
def test_without_noise_private_scores_are_the_exact_ones(monkeypatch: pytest.MonkeyPatch, privacy: Privacy) -> None:
    """Noise switched off and a tiny ridge: within 0.03 of the exact fit where the design fits, exact where public.

    91 answers on one pair are missing, so the uniform and the rank-one design are slightly off.
    """
    silence(monkeypatch)
    release = qr.rank(demo_votes(), privacy, method="bradley-terry", gamma=1e-6)
    scores = {row.item: row.score for row in release.ranking}
    allowed = 1e-4 if privacy.design == "public" else 0.05
    assert max(abs(scores[item] - CEMS[item]) for item in CEMS) < allowed


def test_the_perturbed_mle_comes_near_the_exact_scores() -> None:
    """At a huge ε the mechanism returns the ridge fit: the noise is really scaled by ε."""
    release = qr.rank(demo_votes(), Privacy(1e4, "comparison"), mechanism="perturbed-mle", gamma=0.01)
    scores = {row.item: row.score for row in release.ranking}
    assert max(abs(scores[item] - CEMS[item]) for item in CEMS) < 0.01


def test_scores_are_noisier_at_smaller_epsilon() -> None:
    """The spread of London's score over many releases at ε = 0.2 is well above that at ε = 5."""
    releases, least = (16, 5.0) if THOROUGH else (8, 1.5)
    spread = {}
    for epsilon in (0.2, 5.0):
        privacy = Privacy(epsilon, "person", max_per_person=15, design="uniform")
        draws = [qr.rank(demo_votes(), privacy, method="bradley-terry", gamma=1.0) for _ in range(releases)]
        spread[epsilon] = np.std([next(r.score for r in draw.ranking if r.item == "London") for draw in draws])
    assert spread[0.2] > least * spread[5.0]


def test_the_perturbed_mle_is_not_for_public_designs() -> None:
    """There a noisy tally needs less noise, and the error says so."""
    privacy = Privacy(1, "comparison", neighbours="outcome", design="public")
    with pytest.raises(PrivacyError, match="bradley-terry"):
        qr.rank(from_arrow([("p", "A1", "ç", "a")]), privacy, mechanism="perturbed-mle", gamma=10)


class Purse:
    """A ledger that counts its debits."""

    def __init__(self) -> None:
        self.debits = 0

    def debit(self, charge: Charge) -> str:
        self.debits += 1
        return "1"


@pytest.mark.parametrize("mechanism", ["laplace", "perturbed-mle"])
def test_one_release_is_one_debit(mechanism: MechanismWord) -> None:
    """Both mechanisms pay exactly once, and nothing when the votes are refused."""
    purse = Purse()
    privacy = Privacy(1, "comparison")
    qr.rank(from_arrow([("p", "A1", "ç", "a")]), privacy, mechanism=mechanism, ledger=purse)
    assert purse.debits == 1
    with pytest.raises(qr.QuietrankError):
        qr.rank(from_arrow([("p", "A1", "A1", "a")]), privacy, mechanism=mechanism, ledger=purse)
    for gamma in (-1, float("nan"), "much"):
        with pytest.raises(PrivacyError):
            qr.rank(from_arrow([("p", "A1", "ç", "a")]), privacy, method="bradley-terry", gamma=gamma, ledger=purse)  # type: ignore[arg-type]
    assert purse.debits == 1


def test_the_perturbed_mle_states_no_clip_and_no_delta() -> None:
    """It clips nothing and is pure: the promise in the release is the one that is kept."""
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=15, clip=0.01)
    release = qr.rank(demo_votes(), privacy, mechanism="perturbed-mle", gamma=100.0)
    assert (release.privacy.delta, release.privacy.clip) == (0, None)
    assert "total weight of at most 15" in release.privacy.statement
