"""Tests of the comparison of ours with the noise before."""

from math import exp, isnan

import pytest

from quietrank.paper import gains
from quietrank.paper.run import Row


def row(method: str, metric: str, mean: float, error: float = 0.01, n: int = 12, experiment: str = "5") -> Row:
    return Row(experiment, method, metric, n, None, 1000, 0.5, "", 100, mean, error)


def test_logarithms_become_ratios_of_errors() -> None:
    """Differences of −0.2 and 0 of the log L2 error at two n are a geometric mean of e^−0.1."""
    rows = [
        row(method, metric, mean, n=n)
        for n, change in ((12, -0.2), (16, 0.0))
        for method, metric, mean in (
            ("net_wins_laplace", "log_rel_l2", -1.0),
            ("ours", "log_rel_l2", -1.0 + change),
            ("ours", "log_rel_l2_change", change),
        )
    ]
    (gain,) = gains.gains(rows)
    assert (gain.experiment, gain.metric, gain.epsilon) == ("5", "log_rel_l2", 0.5)
    assert gain.ratio == pytest.approx(exp(-0.1))
    assert gain.standard_error == pytest.approx(exp(-0.1) * 0.01 / 2**0.5)


def test_other_errors_are_divided() -> None:
    """0.15 instead of 0.2 is 0.75 of it; with nothing to divide by there is no ratio."""
    rows = [row("net_wins_laplace", "topk_error", 0.2, 0.0), row("ours", "topk_error_change", -0.05, 0.02)]
    (gain,) = gains.gains(rows)
    assert gain.ratio == pytest.approx(0.75)
    assert gain.standard_error == pytest.approx(0.1)
    (none,) = gains.gains([row("net_wins_laplace", "topk_error", 0.0), row("ours", "topk_error_change", 0.0)])
    assert isnan(none.ratio)


def test_losses_are_beyond_two_standard_errors() -> None:
    """Half as much again is not one, and neither is a difference of nothing without error."""
    found = [row("ours", "topk_error_change", mean, error) for mean, error in ((0.021, 0.01), (0.015, 0.01), (0, 0))]
    assert [loss.mean for loss in gains.losses(found)] == [0.021]


def test_lines_name_figure_and_measure() -> None:
    """One line for a figure and ε, and one that counts the losses; without such rows there are none."""
    rows = [row("net_wins_laplace", "topk_error", 0.2), row("ours", "topk_error_change", 0.05)]
    lines = gains.gain_lines(rows)
    assert lines[0].startswith("ours ÷ before, figure 5, ε = 0.5: top-k 1.250")
    assert lines[1].endswith("at 1 of 1 points")
    assert gains.gain_lines([row("ours", "topk_error", 0.1, experiment="1")]) == []
