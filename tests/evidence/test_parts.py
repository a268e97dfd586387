"""Everything that was drawn is listed: each part with its own noise, norm, scale and price."""

from __future__ import annotations

from pathlib import Path

import pytest

import quietrank as qr
from quietrank.evidence.parts import drawn, in_words
from tests.evidence.published import MADE, PEOPLE, made, subject_of, votes


def test_exposures_have_a_ball_of_their_own_and_the_scatter_is_a_mechanism(tmp_path: Path) -> None:
    """With weight, scale, dimension and β of each; R bounds the weighted sum of two norms."""
    release = qr.rank(votes(), PEOPLE, mechanism="ball", method="win-rate")
    wins, met, scatter = drawn(subject_of(release, tmp_path))
    assert (wins["on"], met["on"], scatter["on"]) == ("net wins", "exposure", "the scatter of people")
    assert (wins["weight"], wins["dimension"], met["weight"], met["dimension"]) == (1, 3, 0.75, 4)
    assert met["scale"] == pytest.approx(wins["scale"] / 0.75)
    assert wins["norm"] == met["norm"] == "sum over all balls of weight times L2"
    assert met["share"] > 0
    assert wins["sensitivity"] == pytest.approx(wins["scale"] * wins["epsilon"])
    assert release.scatter is not None
    assert scatter["cap_of_one_person"] == release.scatter.most
    assert scatter["scale"] == pytest.approx(scatter["sensitivity"] / scatter["epsilon"])
    assert scatter["epsilon"] + wins["epsilon"] == pytest.approx(1)


def test_a_histogram_and_a_total_are_parts(tmp_path: Path) -> None:
    """Of ε, each has its price."""
    auto = qr.Privacy(1, "person", max_per_person="auto")
    parts = drawn(subject_of(qr.rank(votes(), auto, mechanism="laplace"), tmp_path))
    assert [part["epsilon"] for part in parts if "histogram" in part["on"]] == [0.05]
    total = qr.Privacy(1, "person", max_per_person=4, neighbours="add-remove", design="uniform")
    parts = drawn(
        subject_of(qr.rank(votes(), total, mechanism="laplace", method="win-rate", sampling_share=0), tmp_path)
    )
    assert sum("total" in part["on"] for part in parts) == 1


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.few(4)
def test_every_part_has_figures(kind: str, tmp_path: Path) -> None:
    """A scale at least, in one line."""
    parts = drawn(subject_of(made(kind), tmp_path))
    assert parts
    for part in parts:
        assert "scale" in part
        assert "None" not in in_words(part)
