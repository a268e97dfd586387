"""Tests of the comparison with published figures."""

from math import inf
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quietrank.cli.paper import paper_app
from quietrank.errors import QuietrankError
from quietrank.paper import reference, run
from quietrank.paper.run import Row

SHARED = Path(__file__).parents[3] / "shared" / "reference"
EDGE = "experiment,method,metric,n,p,epsilon,runs,mean,standard_error\n"


def row(method: str = "noisy_counts", metric: str = "topk_error", epsilon: float = 1.0, mean: float = 0.2) -> Row:
    return Row("1", method, metric, 100, 1.0, None, epsilon, "", 10, mean, 0.01)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_deviation_is_ours_minus_published(tmp_path: Path) -> None:
    """The sign says which side is larger, and the tolerance of counts is ±0.04."""
    published = reference.read_published(
        write(tmp_path / "r.csv", EDGE + "1,noisy_counts,topk_error,100,1.0,1.0,5,0.17,0.01\n")
    )
    (found,) = reference.compare([row()], published)
    assert found.largest == pytest.approx(0.03)
    assert found.tolerance == 0.04
    assert found.within


def test_other_points_are_not_compared(tmp_path: Path) -> None:
    """A published point at another ε, n or method does not meet our row."""
    text = EDGE + "".join(
        f"{line}\n"
        for line in (
            "1,noisy_counts,topk_error,100,1.0,inf,5,0.9,0.01",
            "1,noisy_counts,topk_error,175,1.0,1.0,5,0.9,0.01",
            "1,perturbed_mle,topk_error,100,1.0,1.0,5,0.9,0.01",
            "2,noisy_counts,topk_error,100,1.0,1.0,5,0.9,0.01",
        )
    )
    assert reference.compare([row()], reference.read_published(write(tmp_path / "r.csv", text))) == []


def test_infinite_epsilon_meets_itself(tmp_path: Path) -> None:
    """ε = ∞ is written inf in both files."""
    text = EDGE + "1,perturbed_mle,log_rel_l2,100,1.0,inf,5,-0.4,0.01\n"
    ours = row("perturbed_mle", "log_rel_l2", inf, mean=-0.1)
    (found,) = reference.compare([ours], reference.read_published(write(tmp_path / "r.csv", text)))
    assert found.largest == pytest.approx(0.3)
    assert not found.within


def test_figure_8_tolerance_has_reading_and_simulation_error() -> None:
    """±0.02 by eye plus three standard errors of a difference of two such means."""
    ours = Row("8", "noisy_counts", "rank_difference", 6, None, 303, 1.0, "cems", 1000, 0.1, 0.01)
    assert reference.tolerance(ours) == pytest.approx(0.02 + 3 * 2**0.5 * 0.01)


def test_one_noise_vector_is_allowed_for_and_said_so(tmp_path: Path) -> None:
    """A perturbed-MLE mean off by more than stated but within two standard deviations of a repetition is marked."""
    text = EDGE + "1,perturbed_mle,topk_error,100,1.0,1.0,5,0.1,0.01\n"
    ours = Row("1", "perturbed_mle", "topk_error", 100, 1.0, None, 1.0, "", 100, 0.2, 0.008)
    published = reference.read_published(write(tmp_path / "r.csv", text))
    (found,) = reference.compare([ours], published)
    (strict,) = reference.compare([ours], published, strict=True)
    assert (found.within, strict.within) == (True, False)
    assert "one noise vector" in found.verdict
    assert strict.verdict == "OUTSIDE"


def test_counts_without_noise_are_compared_with_ties_by_position(tmp_path: Path) -> None:
    """At ε = ∞ the published counts break ties by position, and are compared with ours that do the same."""
    text = EDGE + "1,noisy_counts,topk_error,100,1.0,inf,5,0.5,0.01\n"
    ours = [row(epsilon=inf, mean=0.3), row(metric="topk_error_by_position", epsilon=inf, mean=0.49)]
    (found,) = reference.compare(ours, reference.read_published(write(tmp_path / "r.csv", text)))
    assert found.largest == pytest.approx(-0.01)


def test_unreadable_reference_is_a_clear_error(tmp_path: Path) -> None:
    """The message names the columns that are needed."""
    with pytest.raises(QuietrankError, match="columns"):
        reference.read_published(write(tmp_path / "r.csv", "a,b\n1,2\n"))


@pytest.mark.parametrize(("published", "code"), [("0.17", 0), ("0.25", 1)])
def test_exit_code_tells_whether_all_is_within(tmp_path: Path, published: str, code: int) -> None:
    """0 within tolerance, 1 outside, and the table says which."""
    run.write_rows([row()], tmp_path / "means.csv")
    file = write(tmp_path / "r.csv", EDGE + f"1,noisy_counts,topk_error,100,1.0,1.0,5,{published},0.01\n")
    result = CliRunner().invoke(paper_app, ["check", "--reference", str(file), "--out", str(tmp_path)])
    assert result.exit_code == code
    assert ("OUTSIDE" in result.stdout) == (code == 1)


@pytest.mark.skipif(not SHARED.exists(), reason="the published figures are not part of the repository")
def test_both_reference_files_are_understood() -> None:
    """Every line of the two files is read, with its experiment."""
    edge = reference.read_published(SHARED / "edge_dp_published.csv")
    person = reference.read_published(SHARED / "individual_dp_published.csv")
    assert {point.experiment for point in edge} == {"1", "2", "4"}
    assert {(point.experiment, point.metric) for point in person} == {("8", "rank_difference")}
    assert (len(edge), len(person)) == (403, 22)


RESULTS = Path(__file__).parents[2] / "docs" / "paper" / "means.csv"


@pytest.mark.skipif(not SHARED.exists(), reason="the published figures are not part of the repository")
@pytest.mark.skipif(not RESULTS.exists(), reason="no stored results")
def test_stored_results_are_within_tolerance() -> None:
    """The means in docs/paper, at the published repetitions, agree with the published figures."""
    published = [
        p for name in ("edge", "individual") for p in reference.read_published(SHARED / f"{name}_dp_published.csv")
    ]
    found = reference.compare(run.read_rows(RESULTS), published)
    assert {deviation.experiment for deviation in found} == {"1", "2", "4", "8"}
    assert [deviation for deviation in found if not deviation.within] == []
