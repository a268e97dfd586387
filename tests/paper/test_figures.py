"""Every figure is drawn from its rows of docs/paper/means.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

from quietrank.paper import figures
from quietrank.paper.run import Row, read_rows
from quietrank.publish.files import PICTURE

MEANS = Path(__file__).parents[2] / "docs" / "paper" / "means.csv"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return read_rows(MEANS)


@pytest.mark.parametrize("figure", list(figures._DRAW))
def test_it_is_drawn(figure: str, rows: list[Row], tmp_path: Path) -> None:
    """As PNG and SVG; and nothing where there are no rows."""
    drawn = figures.draw(figure, rows, tmp_path)
    assert sorted(path.suffix for path in drawn) == [".png", ".svg"]
    assert PICTURE.is_ours(tmp_path / f"figure-{figure}.png")
    assert figures.draw(figure, [], tmp_path) == []
