"""Tests of the data the experiments run on."""

import numpy as np
import pytest

from quietrank.paper import data


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("n", "k"), [(100, 25), (150, 38), (175, 44), (250, 62), (350, 88), (650, 162), (700, 175)])
def test_top_size_is_the_published_one(n: int, k: int) -> None:
    """k is n/4 with halves to the even side, as the published means show."""
    assert data.top_size(n) == k


def test_strengths_put_the_top_first() -> None:
    """The k strongest come first, all equal, ahead of all others; the mean is 0."""
    theta = data.strengths(40, rng())
    assert np.ptp(theta[:10]) == 0
    assert theta[10:].max() < theta[0] + np.log(0.7)
    assert abs(theta.mean()) < 1e-12


def test_graph_compares_each_pair_at_most_once_with_probability_p() -> None:
    """Counts are symmetric zeros and ones, a share p of all pairs."""
    duels = data.graph_duels(data.win_probabilities(data.strengths(200, rng())), 0.3, rng(1))
    assert set(np.unique(duels.counts)) == {0.0, 1.0}
    assert np.all(duels.counts == duels.counts.T)
    assert duels.total / (200 * 199 / 2) == pytest.approx(0.3, abs=0.01)


def test_graph_outcomes_follow_the_strengths() -> None:
    """Over many draws i beats j as often as the model says."""
    probability = data.win_probabilities(np.array([1.0, 0.0, -1.0]))
    wins = sum(data.graph_duels(probability, 1.0, rng(seed)).wins for seed in range(4000)) / 4000
    off = ~np.eye(3, dtype=bool)
    assert np.abs(wins - probability)[off].max() < 0.03


def test_people_cast_all_their_votes_on_uniform_pairs() -> None:
    """m people with L votes each make mL votes, spread evenly over the pairs."""
    duels = data.people_duels(np.full((4, 4), 0.5), 3000, 5, rng())
    assert duels.total == 15000
    assert duels.counts[np.triu_indices(4, 1)] == pytest.approx(2500, abs=250)


def test_what_people_add_is_what_all_have() -> None:
    """Net wins person by person sum to those of all, and a person's L votes have an L1 norm of at most L."""
    people = data.crowd(data.win_probabilities(data.strengths(8, rng())), 300, 5, rng(1))
    assert np.allclose(people.net_wins.sum(axis=0), people.duels.net_wins)
    assert np.abs(people.net_wins).sum(axis=1).max() <= 5
    assert np.array_equal(
        data.people_duels(data.win_probabilities(data.strengths(8, rng())), 300, 5, rng(1)).wins, people.duels.wins
    )


def test_net_wins_are_half_of_wins_minus_losses() -> None:
    """s sums to zero and equals wins minus half the exposure."""
    duels = data.graph_duels(np.full((9, 9), 0.5), 0.7, rng())
    assert duels.net_wins.sum() == 0
    assert np.allclose(duels.net_wins, duels.win_counts - duels.counts.sum(axis=1) / 2)


def test_hard_instance_separates_the_top_by_delta() -> None:
    """The first k beat the others with 1/2 + Δ, and win rates differ by Δ·n/(n − 1)."""
    probability = data.hard_instance(8, 2, 0.1)
    assert np.allclose(probability + probability.T, 1)
    rates = (probability.sum(axis=1) - 0.5) / 7
    assert rates[:2].min() - rates[2:].max() == pytest.approx(0.1 * 8 / 7)


def test_cems_is_the_bundled_survey_without_ties() -> None:
    """303 people, fifteen pairs, the 4454 answers minus 487 ties; London wins most."""
    survey = data.cems()
    assert (survey.people, survey.per_person, survey.duels.n) == (303, 15, 6)
    assert survey.duels.total == 4454 - 487
    assert survey.items[int(np.argmax(survey.duels.win_counts))] == "London"
    assert survey.net_wins is not None
    assert len(survey.net_wins) == 303
    assert np.array_equal(survey.net_wins.sum(axis=0), survey.duels.net_wins)


def test_immigration_has_at_most_one_answer_per_person_and_pair() -> None:
    """No pair of the four statements has more than 98 answers."""
    survey = data.immigration()
    assert survey.duels.counts.max() <= survey.people == 98
    assert survey.per_person == survey.duels.n * (survey.duels.n - 1) // 2
