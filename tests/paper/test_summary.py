"""Tests of the summary lines."""

from math import inf

import pytest

from quietrank.paper import figures, summary
from quietrank.paper.run import Row


def row(
    experiment: str, method: str, metric: str, mean: float, epsilon: float = 1.0, data: str = "", n: int = 9
) -> Row:
    return Row(experiment, method, metric, n, 1.0, None, epsilon, data, 10, mean, 0.01)


def test_summary_averages_over_set_ups() -> None:
    """One line per experiment, measure and ε, with the mean over set-ups of each method."""
    rows = [row("1", "ours", "topk_error", 0.1, n=9), row("1", "ours", "topk_error", 0.3, n=12)]
    lines, methods = summary.summarise([*rows, row("1", "one_shot", "topk_error", 0.7, epsilon=inf)])
    assert methods == ["one_shot", "ours"]
    assert [(line.epsilon, line.means) for line in lines] == [
        (1.0, {"ours": pytest.approx(0.2)}),
        (inf, {"one_shot": 0.7}),
    ]


def test_half_point_is_interpolated() -> None:
    """Recovery 0.25 at gap 1 and 0.75 at gap 2 crosses one half at 1.5."""
    curve = [row("phase", "ours", "recovered", mean, data=f"gap {gap}") for gap, mean in ((1, 0.25), (2, 0.75))]
    assert summary.half_point(curve) == pytest.approx(1.5)


def test_attack_line_names_the_worst_case() -> None:
    """The largest ratio of attack to bound, with its ε."""
    rows = [
        row("attack", "non_private", metric, mean, epsilon)
        for epsilon, attack, bound in ((0.1, 0.8, 0.2), (1.0, 0.8, 8.0))
        for metric, mean in (("attack", attack), ("bound", bound))
    ]
    (line,) = summary.attack_lines(rows)
    assert "4.00" in line
    assert "ε = 0.1" in line


PERSON_METHODS = [
    "perturbed_mle", "noisy_counts", "noisy_counts_right", "net_wins_laplace", "net_wins_zonotope", "ours"
]  # fmt: skip


def test_published_counts_for_people_are_called_what_they_are() -> None:
    """Laplace(L/ε) is labelled as 2ε in truth, and nothing else is: all others keep the promise of the legend."""
    assert [method for method in PERSON_METHODS if "2ε in truth" in summary.name(method, person=True)] == [
        "noisy_counts"
    ]
    assert "2ε" not in summary.name("noisy_counts")
    assert "ε-private when one person is replaced" in summary.PERSON_PROMISE


@pytest.mark.parametrize("figure", figures.PERSON_FIGURES)
def test_legends_state_the_promise(figure: str) -> None:
    """Figures 5 to 8 say what their methods promise, name every one, and call today's noise what it is."""
    metric = "rank_difference" if figure == "8" else "topk_error"
    rows = [
        Row(figure, method, metric, 6, None, 9, epsilon, "cems" if figure == "8" else "", 10, 0.1, 0.01)
        for method in PERSON_METHODS
        for epsilon in (0.5, 1.0)
    ]
    picture = figures.picture(figure, rows)
    (legend,) = picture.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert legend.get_title().get_text() == summary.PERSON_PROMISE
    assert sorted(labels) == sorted(summary.name(method, person=True) for method in PERSON_METHODS)
    assert "net wins, Laplace(2L/ε)" in labels
