"""The examples that are scripts, and the notebook: each runs from the first line to the last."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
JOBS = ("arena.py", "own_mechanism.py")
"""with tests of their own"""
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in JOBS)
SAYS = {
    "with_pandas.py": "No single person's votes",
    "with_polars.py": "overall",
    "from_a_database.py": "5 items by bradley-terry",
    "wide_survey.py": "left in the budget: ε = 1",
    "nightly_board.py": "spent once, for the whole year: ε = 2",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_runs(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert SAYS[script] in capsys.readouterr().out


def test_the_notebook_runs() -> None:
    """All cells in order, in one namespace; what a cell ends with can be shown."""
    notebook = json.loads((EXAMPLES / "first_release.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    namespace: dict[str, object] = {}
    shown = []
    for cell in cells:
        *body, last = ast.parse(cell).body
        exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), namespace))
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), namespace)
    assert all(repr(one) for one in shown)
    assert shown[-1] == (1.0, 1.0, True)
