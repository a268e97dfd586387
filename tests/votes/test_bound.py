"""Bounding: every way to weigh votes is its definition, computed again in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Clip
from quietrank.statistics.net_wins import EXPOSURE_SHARE, NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL, SHARES
from quietrank.statistics.statistic import BY_DESIGN, Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from quietrank.votes.read import read_votes
from tests.effort import effort
from tests.helpers import ITEMS, Vote, from_arrow, vote_lists
from tests.steps import COUNTS, clip_of, tally_pairs, tally_votes

Answer = tuple[int, int, int]
CLIPPED = [statistic for statistic in COUNTS if statistic is not NET_WINS_AND_TOTAL]
CLIPPED += [NET_WINS_AND_EXPOSURES.with_share(share) for share in (SHARES[1], SHARES[-1])]
Y = {"a": 2, "b": 0, "tie": 1}


def _weights(said: list[Answer], privacy: Privacy, clip: Clip | None) -> list[int]:
    """What each vote of a person weighs, by the definition."""
    number = Counter(frozenset((a, b)) for a, b, _ in said)
    if clip is None:
        if not privacy.one_per_pair:
            return [min(2**20, privacy.limit * 2**20 // len(said))] * len(said)
        answer = min(2**20, privacy.limit * 2**20 // len(number))
        return [answer // number[frozenset((a, b))] for a, b, _ in said]
    parts = [2**10 // number[frozenset((a, b))] if privacy.one_per_pair else 1 for a, b, _ in said]
    square = sum(value**2 for value in _vector(said, parts, clip))
    most = 2**10 if privacy.one_per_pair else 2**20
    factor = most if square == 0 else min(most, math.isqrt(math.floor((clip.norm * 2**20) ** 2 / square)))
    return [part * factor for part in parts]


def _vector(said: list[Answer], weights: list[int], clip: Clip) -> list[Fraction]:
    """What the person adds to the statistic that is clipped."""
    wins, losses = _sums(said, weights)
    half = [(Fraction(won, 2), Fraction(lost, 2)) for won, lost in zip(wins, losses, strict=True)]
    net = [(won - lost) / 2 for won, lost in half]
    met = {
        NET_WINS_AND_EXPOSURES.with_share(share).squares: [*net, *(share * (won + lost) for won, lost in half)]
        for share in NET_WINS_AND_EXPOSURES.offered
    }
    return {
        BY_DESIGN: [(won + lost) / 2 for won, lost in half],
        NET_WINS.squares: net,
        WINS.squares: [won for won, _ in half],
        WINS_AND_LOSSES.squares: [value for both in half for value in both],
        **met,
    }[clip.squares]


def _sums(said: list[Answer], weights: list[int]) -> tuple[list[int], list[int]]:
    wins, losses = [0] * len(ITEMS), [0] * len(ITEMS)
    for (a, b, y), weight in zip(said, weights, strict=True):
        wins[a], losses[a] = wins[a] + weight * y, losses[a] + weight * (2 - y)
        wins[b], losses[b] = wins[b] + weight * (2 - y), losses[b] + weight * y
    return wins, losses


def _expected(votes: list[Vote], privacy: Privacy, clip: Clip | None) -> tuple[list[int], list[int]]:
    people: dict[str, list[Answer]] = {}
    for person, a, b, outcome in votes:
        people.setdefault(person, []).append((ITEMS.index(a), ITEMS.index(b), Y[outcome]))
    added = [_sums(said, _weights(said, privacy, clip)) for said in people.values()]
    wins, losses = np.sum([won for won, _ in added], axis=0), np.sum([lost for _, lost in added], axis=0)
    return wins.tolist(), losses.tolist()


PROMISES: list[dict[str, Any]] = [
    {"max_per_person": 3},
    {"one_per_pair": True, "max_per_person": 2},
    {"one_per_pair": True, "max_per_person": 6, "design": "public", "neighbours": "outcome"},
]


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@settings(max_examples=effort(3, 25))
@given(votes=vote_lists(60), norm=st.sampled_from([0.01, 0.7, 2.5, 7.77, 1e5]), statistic=st.sampled_from(CLIPPED))
@pytest.mark.few(1)
def test_the_weights_are_the_definition(
    promise: dict[str, Any], votes: list[Vote], norm: float, statistic: Statistic
) -> None:
    """Scaled down, averaged or clipped: bit for bit what plain Python computes, by item and by pair."""
    privacy = Privacy(1.0, "person", delta=1e-6, **promise)
    if "design" in promise and statistic not in (NET_WINS, WINS):
        statistic = NET_WINS
    for clip in (None, clip_of(privacy, statistic, norm)):
        expected = _expected(votes, privacy, clip)
        for tally in (
            tally_votes(from_arrow(votes), privacy, clip),
            tally_pairs(from_arrow(votes), privacy, clip).by_item,
        ):
            assert (tally.wins.tolist(), tally.losses.tolist()) == expected


@pytest.mark.parametrize("statistic", CLIPPED)
@pytest.mark.parametrize("one_per_pair", [False, True])
@pytest.mark.few(3)
def test_one_person_with_many_votes_stays_within_the_clip(statistic: Statistic, one_per_pair: bool) -> None:
    """Fifty thousand votes of one person, or five hundred on one pair: the norm is at most C, and nearly C."""
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=100, one_per_pair=one_per_pair)
    clip = clip_of(privacy, statistic, 0.5)
    times = 5 if one_per_pair else 500
    votes: list[Vote] = [("p1", "A1", "ç", "a")] * 98 * times + [("p1", "Ω", "A1", "tie")] * 2 * times
    tally = tally_votes(from_arrow(votes), privacy, clip)
    wins, losses = tally.wins * float(tally.step), tally.losses * float(tally.step)
    net = (wins - losses) / 2
    vector = {
        NET_WINS: net,
        WINS: wins,
        WINS_AND_LOSSES: np.concatenate([wins, losses]),
        NET_WINS_AND_EXPOSURES: np.concatenate([net, float(statistic.fixed or EXPOSURE_SHARE) * (wins + losses)]),
    }[statistic]
    # 2^20 units over 49 000 votes, or 2^10 parts over 490, leave whole units of some per cent of the norm.
    assert 0.43 < np.linalg.norm(vector) <= 0.5


def test_under_a_public_design_clipping_ignores_the_answers() -> None:
    """The weights, and so the public exposures, are the same whatever people answered."""
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=5, neighbours="outcome", design="public")
    clip = clip_of(privacy, NET_WINS, 0.6)
    asked = [("p1", "A1", "ç"), ("p1", "A1", "b c"), ("p1", "Ω", "ç"), ("p2", "A1", "Ω")]
    exposures = set()
    for outcomes in ("aaaa", "abab", "bbbb"):
        votes = [(*row, outcome) for row, outcome in zip(asked, outcomes, strict=True)]
        exposures.add(tuple(tally_votes(from_arrow(votes), privacy, clip).exposure.tolist()))
    assert len(exposures) == 1


def test_engines_without_exact_decimals_cannot_clip() -> None:
    """SQLite has no decimals: the remedy is to read the votes as a file."""
    import ibis
    import pyarrow as pa

    votes = pa.table({"person": ["p"], "winner": ["a"], "loser": ["b"]})
    table = ibis.sqlite.connect().create_table("votes", votes)
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=5)
    with pytest.raises(VotesError, match="exact decimals"):
        tally_votes(read_votes(table, items=["a", "b"]), privacy, clip_of(privacy, NET_WINS, 1.0))
    averaged = Privacy(1.0, "person", one_per_pair=True, max_per_person=1)
    assert tally_votes(read_votes(table, items=["a", "b"]), averaged).total == 2**21
