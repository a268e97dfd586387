"""Best–worst sets on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Run


def test_one_command_from_sets_to_a_release(run: Run) -> None:
    folder = Path(__file__).parent.parent / "votes" / "fixtures" / "best_worst"
    words = f"--design-file {folder}/design.csv --positions --set task --unit person --epsilon 2 --max-per-person 2"
    done = run("rank", f"{folder}/with_design_positions.csv", "--items-from-votes", *words.split(), "--format", "json")
    assert done.code == 0, done.stderr
    assert '"set_size": 4' in done.stdout
    checked = run("check", f"{folder}/cell.csv", "--shape", "best-worst", "--set-size", "4")
    assert checked.code == 0, checked.stderr
    assert "column read as items shown" in checked.stdout
