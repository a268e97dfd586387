"""Tests of the runner: the same numbers however it was run, and none computed twice."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from quietrank.errors import QuietrankError
from quietrank.paper import experiments, run
from quietrank.paper.run import Settings
from tests.effort import effort


def settings(out: Path, workers: int = 0) -> Settings:
    return Settings(out=out, figures=("8",), quick=True, repetitions=3, seed=7, workers=workers)


def test_one_worker_two_or_none_give_the_same_file(tmp_path: Path) -> None:
    """The number of processes leaves no trace in the table of means."""
    for workers in (0, 1, 2):
        run.run(replace(settings(tmp_path / str(workers), workers), figures=("6", "8")[: effort(1, 2)], repetitions=1))
    texts = [(tmp_path / str(workers) / "means.csv").read_bytes() for workers in (0, 1, 2)]
    assert texts[0] == texts[1] == texts[2]


def test_interrupted_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption only the missing parts are computed, and the result is that of one go."""
    whole = run.run(settings(tmp_path / "whole"))
    calls = 0
    real = experiments.repeat

    def failing(*args: object) -> experiments.Values:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(experiments, "repeat", failing)
    with pytest.raises(KeyboardInterrupt):
        run.run(settings(tmp_path / "cut"))
    assert run.run(settings(tmp_path / "cut")) == whole
    total = sum(chunk.stop - chunk.start for chunk in run.chunks(settings(tmp_path)))
    assert calls == total + 2  # of the chunk that was cut, one repetition was done and one under way; no other is lost


def test_finished_run_computes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run only reads."""
    first = run.run(settings(tmp_path))
    monkeypatch.setattr(experiments, "repeat", None)
    assert run.run(settings(tmp_path)) == first


def test_missing_part_is_an_error_not_a_gap(tmp_path: Path) -> None:
    """Means are taken over all repetitions or not at all."""
    with pytest.raises(QuietrankError, match="missing"):
        run.summarise(run.chunks(settings(tmp_path)))


def test_other_seed_does_not_reuse_parts(tmp_path: Path) -> None:
    """Parts made with other settings are not mistaken for these."""
    first = run.run(settings(tmp_path))
    second = run.run(replace(settings(tmp_path), seed=8))
    assert first != second
    assert second == run.run(replace(settings(tmp_path / "fresh"), seed=8))


@pytest.mark.parametrize("damage", ["", "{", '{"fingerprint": "x"}', "[]"])
def test_damaged_part_is_computed_again(tmp_path: Path, damage: str) -> None:
    """A part that cannot be read is as good as missing."""
    first = run.run(settings(tmp_path))
    run.chunks(settings(tmp_path))[0].path.write_text(damage)
    assert run.run(settings(tmp_path)) == first


def test_more_repetitions_keep_the_first_ones(tmp_path: Path) -> None:
    """Repetition r is the same however many there are."""
    cell = experiments.cells("8", quick=True)[0]
    few, many = (run.Chunk.of(cell, 0, stop, 1, tmp_path / str(stop)) for stop in (2, 4))
    few.compute()
    many.compute()
    a, b = few.load(), many.load()
    assert a is not None
    assert b is not None
    assert all(b[point][:2] == values for point, values in a.items())


def test_rows_survive_the_csv_file(tmp_path: Path) -> None:
    """What is read back is what was written, to six digits, with ∞ and empty fields."""
    rows = run.run(settings(tmp_path))
    back = run.read_rows(tmp_path / "means.csv")
    assert [replace(row, mean=0, standard_error=0) for row in back] == [
        replace(row, mean=0, standard_error=0) for row in rows
    ]
    assert [row.mean for row in back] == pytest.approx([row.mean for row in rows], rel=1e-5)


def test_csv_has_the_promised_columns(tmp_path: Path) -> None:
    """The header is the documented one."""
    run.run(settings(tmp_path))
    header = (tmp_path / "means.csv").read_text().splitlines()[0]
    assert header == "experiment,method,metric,n,p,m,epsilon,data,runs,mean,standard_error"


def test_no_results_is_a_clear_error(tmp_path: Path) -> None:
    """The message says how to make them."""
    with pytest.raises(QuietrankError, match="quietrank paper --out"):
        run.read_rows(tmp_path / "means.csv")


@pytest.mark.parametrize("change", [{"repetitions": 0}, {"workers": -1}, {"seed": -1}])
def test_bad_settings_are_refused(tmp_path: Path, change: dict[str, int]) -> None:
    """Errors name the setting."""
    with pytest.raises(QuietrankError, match=next(iter(change))):
        replace(settings(tmp_path), **change)  # type: ignore[arg-type]


def test_cells_have_distinct_names_and_seeds() -> None:
    """No two cells of an experiment share a file or random numbers."""
    for figure in experiments.FIGURES:
        cells = experiments.cells(figure)
        assert len({cell.name for cell in cells}) == len({cell.key for cell in cells}) == len(cells)


def test_changed_code_does_not_reuse_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts made by another estimator are not mixed with this one's."""
    cell = experiments.cells("1")[0]
    before = cell.fingerprint(1)
    monkeypatch.setattr(experiments, "code_fingerprint", lambda: "other")
    assert cell.fingerprint(1) != before


def test_fingerprints_are_plain_text() -> None:
    """Stable across processes: they are written into the parts."""
    cell = experiments.cells("1")[0]
    assert cell.fingerprint(1) == json.loads(json.dumps(cell.fingerprint(1))) != cell.fingerprint(2)


def test_fingerprint_covers_what_a_repetition_imports() -> None:
    """Every module of the package that values are computed with, so that a change of a mechanism is a change here.

    The published mechanism is reached through the list of mechanisms alone, and never chosen.
    """
    code = (
        "import sys; from quietrank.paper.experiments import sources, ROOMS; "
        "here = {n[10:].replace('.', '/') + '.py' for n in sys.modules if n.startswith('quietrank.')}; "
        "print(sorted(n for n in here - set(sources()) if n.partition('/')[0] in (*ROOMS, 'paper')))"
    )
    left = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in ast.literal_eval(left) if "perturbed_mle" not in name] == []
    assert {"mechanisms/ball.py", "noise/selection.py", "paper/ours.py"} <= set(experiments.sources())
