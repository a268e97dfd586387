"""At most L votes per person where the unit is one vote: a fixed choice that depends on that person's votes alone."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.maths.links import LOGISTIC
from quietrank.mechanisms.perturbed_mle.loss import Calibration, noise_scale
from quietrank.promise.privacy import Privacy
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from quietrank.votes.bound import SCRAMBLE
from quietrank.votes.tallies import PairTally
from tests.effort import effort
from tests.helpers import ITEMS, Vote, from_arrow, vote_lists
from tests.steps import sensitivity, squared_l2, tally_pairs, tally_votes

few = settings(max_examples=effort(5, 25))


def _limited(limit: int) -> Privacy:
    return Privacy(1, "comparison", neighbours="add-remove", max_per_person=limit)


def _kept(votes: list[Vote], limit: int) -> list[Vote]:
    """The votes that count, straight from the definition."""

    def place(vote: Vote) -> tuple[int, ...]:
        _, a, b, outcome = vote
        i, j = ITEMS.index(a), ITEMS.index(b)
        low, high, y = min(i, j), max(i, j), {"a": 2, "b": 0, "tie": 1}[outcome]
        number = (low * SCRAMBLE[0] + high * SCRAMBLE[1]) % SCRAMBLE[2]
        for_low = y if i == low else 2 - y
        return number, low, high, for_low if number % 2 == 0 else 2 - for_low

    people = sorted({vote[0] for vote in votes})
    return [
        vote for person in people for vote in sorted((v for v in votes if v[0] == person), key=place)[:limit]
    ]  # fmt: skip


def _wins(tally: PairTally) -> Counter[tuple[int, int]]:
    """Wins of each item over each other, in half votes, without the zeros."""
    columns = zip(tally.i, tally.j, tally.wins_i, tally.wins_j, strict=True)
    found = {key: int(won) for i, j, x, y in columns for key, won in (((i, j), x), ((j, i), y))}
    return Counter({key: won for key, won in found.items() if won})


@given(vote_lists(), st.integers(1, 12))
@few
def test_the_votes_kept_are_the_definition(votes: list[Vote], limit: int) -> None:
    """Cutting in the engine equals cutting by hand; what is counted is the vote, whichever item stands first."""
    kept = tally_pairs(from_arrow(_kept(votes, limit)), Privacy(1, "comparison"))
    cut = tally_pairs(from_arrow(votes), _limited(limit))
    assert _wins(cut) == _wins(kept)
    assert cut.rows == len(votes)


@given(vote_lists(), st.integers(1, 12), st.randoms(use_true_random=False))
@few
def test_neither_row_order_nor_who_stands_first_changes_the_choice(
    votes: list[Vote], limit: int, rnd: random.Random
) -> None:
    """The same votes in another order, some of them turned round, give the same tally."""
    mirror = {"a": "b", "b": "a", "tie": "tie"}
    turned = [(p, b, a, mirror[said]) if rnd.random() < 0.5 else (p, a, b, said) for p, a, b, said in votes]
    rnd.shuffle(turned)
    before, after = (tally_pairs(from_arrow(rows), _limited(limit)) for rows in (votes, turned))
    assert _wins(before) == _wins(after)


@given(vote_lists(), st.integers(1, 5))
@settings(few, max_examples=effort(4, 10))
def test_a_person_is_at_most_the_limit_and_decides_for_nobody_else(votes: list[Vote], limit: int) -> None:
    """Adding a person with 500 votes adds exactly L votes; uncut they would add 500."""
    rng = random.Random(limit)
    pairs = [rng.sample(ITEMS, 2) for _ in range(500)]
    flood: list[Vote] = [("flood", a, b, rng.choice(["a", "b", "tie"])) for a, b in pairs]
    without, present = (tally_votes(from_arrow(rows), _limited(limit)) for rows in (votes, [*votes, *flood]))
    assert (present.total - without.total) * without.step == limit
    assert abs(present.net_wins - without.net_wins).sum() * without.step <= limit
    uncut = tally_votes(from_arrow([*votes, *flood]), Privacy(1, "comparison"))
    assert uncut.total * uncut.step == len(votes) + 500


def test_one_vote_more_moves_what_counts_by_two_votes_at_most() -> None:
    """Why noise is calibrated for a vote replaced: a further vote of a person with L of them takes another's place."""
    limit, rng = 1, random.Random(1)
    furthest = Fraction(0)
    for _ in range(8):
        votes: list[Vote] = [("p", *_pair(rng), rng.choice("ab"))]
        more: Vote = ("p", *_pair(rng), rng.choice("ab"))
        before, after = (tally_votes(from_arrow(rows), _limited(limit)) for rows in (votes, [*votes, more]))
        furthest = max(furthest, abs(after.net_wins - before.net_wins).sum() * before.step)
    assert 1 < furthest <= 2 == sensitivity(_limited(limit), NET_WINS).l1


@pytest.mark.parametrize("statistic", [NET_WINS, WINS, WINS_AND_LOSSES])
def test_noise_covers_a_vote_that_displaces_another(statistic: Statistic) -> None:
    """Calibrated as for a vote replaced, with every kind of noise; one vote more would need half of it."""
    capped, free = _limited(3), _limited(3).changed(max_per_person=None)
    assert sensitivity(capped, statistic).l1 == sensitivity(free.changed(neighbours="replace"), statistic).l1
    assert sensitivity(capped, statistic).l1 == 2 * sensitivity(free, statistic).l1
    replaced = squared_l2(free.changed(neighbours="replace"), statistic, Fraction(1))
    assert squared_l2(capped, statistic, Fraction(1)) == replaced > squared_l2(free, statistic, Fraction(1))
    assert noise_scale(capped, 1.0, 20.0, Calibration.TIGHT, LOGISTIC) == noise_scale(
        free.changed(neighbours="replace"), 1.0, 20.0, Calibration.TIGHT, LOGISTIC
    )


def _pair(rng: random.Random) -> tuple[str, str]:
    a, b = rng.sample(ITEMS, 2)
    return a, b


def test_the_choice_favours_no_end_of_the_list() -> None:
    """Of 45 answers to all pairs of ten items, the 15 that count have the first five about as often as the rest."""
    names = [f"item {k}" for k in range(10)]
    votes = [("p", a, b, "a") for k, a in enumerate(names) for b in names[k + 1 :]]
    exposure = tally_votes(from_arrow(votes, names), _limited(15)).exposure
    assert exposure.sum() == 2 * 2 * 15
    assert 18 <= exposure[:5].sum() <= 42  # by the order of the list it would be 52
    turned = [("p", a, b, rng_side) for (_, a, b, _) in votes for rng_side in ("a", "b")]
    kept = tally_pairs(from_arrow(turned, names), _limited(45))
    assert 0.3 < kept.wins_i.sum() / (kept.wins_i.sum() + kept.wins_j.sum()) < 0.7


def test_votes_of_nobody_are_flawed_and_a_person_column_is_needed() -> None:
    """Who has how many votes must be known; without a limit it need not be."""
    votes: list[Vote] = [("p", "A1", "ç", "a"), ("", "A1", "Ω", "b")]
    with pytest.raises(VotesError, match="no person is named: 1 row"):
        tally_votes(from_arrow(votes), _limited(2))
    assert tally_votes(from_arrow(votes, skip_invalid=True), _limited(2)).total == 2
    nameless = qr.read_votes(from_arrow(votes).source.table.drop("person"), items=ITEMS)
    with pytest.raises(VotesError, match="say which with person"):
        tally_votes(nameless, _limited(2))
    assert tally_votes(nameless, Privacy(1, "comparison")).total == 4


def test_the_statement_says_what_counts() -> None:
    """The promise is about any vote, and says how many count."""
    assert "had any one vote (of which at most 4 of each person count) been added" in _limited(4).statement
    unlimited = Privacy(1, "comparison", neighbours="add-remove")
    assert "had any one vote been added or left out" in unlimited.statement
