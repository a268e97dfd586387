"""`quietrank rerank`: another ranking from counts that were paid for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import BY_GROUP, PEOPLE, Run


@pytest.mark.parametrize("by", [(), BY_GROUP])
def test_a_saved_tally_is_ranked_again_at_no_cost(run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...]) -> None:
    """--save-tally, then rerank: the same release, another method, a top list, a file."""
    tally, out = tmp_path / "tally.json", tmp_path / "again.json"
    first = run("rank", lands, *PEOPLE, "--items", "x,y,z", *by, "--save-tally", tally, "--format", "json")
    assert first.code == 0
    assert json.loads(run("rerank", tally, "--format", "json").stdout) == json.loads(first.stdout)
    scores = run(
        "rerank", tally, "--method", "bradley-terry", "--gamma", 2, "--top", 2, "--format", "csv", "--out", out
    )
    assert len(scores.stdout.splitlines()) == 1 + 2 * (2 if by else 1)
    assert out.exists()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("nowhere.json",), 1, "cannot read"),
        (("--top", "0"), 1, "top must be"),
        (("--method", "best"), 2, "method must be one of"),
        (("--gamma", "1"), 2, "gamma belongs to"),
    ],
)
@pytest.mark.few(2)
def test_rerank_refuses_with_a_reason(
    run: Run, lands: Path, tmp_path: Path, words: tuple[str, ...], code: int, reason: str
) -> None:
    """Whatever is wrong, one line says so."""
    tally = tmp_path / "tally.json"
    run("rank", lands, *PEOPLE, "--items", "x,y,z", "--save-tally", tally)
    result = run("rerank", *(() if words[0].endswith("json") else (tally,)), *words)
    assert (result.code, result.stdout) == (code, "")
    assert reason in result.stderr
    overwritten = run("rerank", tally, "--out", tally)
    assert "overwrite" in overwritten.stderr


@pytest.mark.parametrize("by", [(), BY_GROUP])
def test_a_saved_tally_is_drawn(run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...]) -> None:
    """--plot draws what is shown, here the first two items, in either theme; a figure is replaced if that is said."""
    tally, figure = tmp_path / "tally.json", tmp_path / "figure.svg"
    run("rank", lands, *PEOPLE, "--items", "x,y,z", *by, "--save-tally", tally)
    assert run("rerank", tally, "--top", 2, "--plot", figure).code == 0
    light = figure.read_text(encoding="utf-8")
    assert "<svg" in light
    refused = run("rerank", tally, "--plot", figure)
    assert refused.code == 1
    assert "--overwrite" in refused.stderr
    assert run("rerank", tally, "--plot", figure, "--plot-theme", "dark", "--overwrite").code == 0
    assert figure.read_text(encoding="utf-8") != light
