"""The boundaries of the design, kept by reading the imports; whatever is not allowed is denied."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import quietrank
from tests.imports import Rules, imports, reading_list, sources_of, violations

SOURCES = sources_of(Path(quietrank.__file__).parent)

RULES = Rules(
    sides={
        "public": (
            "errors", "words", "privacy", "items", "graphs", "sensitivity", "additive", "laws", "bodies", "choice",
            "calibration", "accounting", "noise", "estimators", "noisy", "release", "grouped", "outputs", "screen",
            "processes", "tally_file", "nonprivate", "render", "ledger", "planning", "simulate", "paper",
        ),
        "confidential": ("files", "engines", "votes", "joins", "snapshot", "check", "bounding", "tally"),
        "crossing": ("mechanism", "perturbed", "certified"),
        "both": ("__init__", "__main__", "pipeline", "cli", "demo", "audit"),
    },
    may_see={
        "public": ("public",),
        "confidential": ("public", "confidential"),
        "crossing": ("public", "confidential", "crossing"),
        "both": ("public", "confidential", "crossing", "both"),
    },
    order=((*SOURCES,),),
    libraries={
        "ibis": ("files", "engines", "votes", "joins", "snapshot", "check", "bounding", "tally"),
        "duckdb": ("files", "engines"),
        "opendp": ("noise",),
        "flint": ("noise", "audit"),
        "secrets": ("noise", "ledger"),
    },
    calls={},
)  # fmt: skip


def test_every_import_is_allowed() -> None:
    assert violations(SOURCES, RULES) == []


PLANTED = {
    "planning reads votes": ("planning.forecast", "from quietrank.votes import read_votes"),
    "a calibration imports Votes": ("additive", "from quietrank.votes import Votes"),
    "a release imports Votes": ("release", "from quietrank.votes import Votes"),
    "a release imports Votes for types": ("release", "if TYPE_CHECKING:\n    from quietrank.votes import Votes"),
    "a release imports votes by name": ("release", "votes = importlib.import_module('quietrank.votes')"),
    "an estimator imports votes in a function": ("estimators.fit", "def f():\n    from quietrank import votes"),
    "a table queries rows": ("render.table", "import ibis"),
    "a plan draws noise": ("planning.forecast", "import opendp.prelude as dp"),
    "a module on no side": ("shortcut", "import math"),
    "a new module reads rows and draws noise": (
        "shortcut", "from quietrank import noise\nfrom quietrank.votes import read_votes"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    """This test can fail: each of these walks around a boundary, and is seen."""
    module, line = PLANTED[fault]
    found = violations({**SOURCES, module: f"{SOURCES.get(module, '')}\n{line}\n"}, RULES)
    assert found
    assert all(breach.startswith(module) for breach in found)


def test_what_a_reviewer_reads(capsys: pytest.CaptureFixture[str]) -> None:
    """What the crossings and the calibrations import has a ceiling, and is printed."""
    listed = reading_list(("mechanism", "perturbed", "additive"), SOURCES, ())
    with capsys.disabled():
        print(f"\na privacy reviewer reads {len(listed)} modules, {sum(listed.values())} lines: {', '.join(listed)}")
    assert len(listed) <= 60
    assert sum(listed.values()) <= 12_000


SEEDED = {"simulate", "plan", "uncertainty", "laws", "audit.neighbours", "audit.growing"}
"""where pseudo-random numbers are allowed, besides paper/; `laws` samples the public law of the noise, for planning"""


def test_seeds_stay_away_from_releases() -> None:
    """No pseudo-random generator outside simulation, planning, resampling and the paper's experiments."""
    for name, source in SOURCES.items():
        seeded = "default_rng" in source or "np.random" in source or "import random" in source
        assert not seeded or name in SEEDED or name == "cli" or name.startswith(("paper", "planning")), name
    assert "default_rng" not in SOURCES["mechanism"]


def test_the_command_line_seeds_only_simulations() -> None:
    """In cli.py the generator appears in `simulate` and nowhere else."""
    tree = ast.parse(SOURCES["cli"])
    users = {f.name for f in tree.body if isinstance(f, ast.FunctionDef) and "default_rng" in ast.unparse(f)}
    assert users == {"simulate"}


def test_the_audit_stays_on_its_side() -> None:
    """Nothing that makes a release knows the audit, which makes up its votes and takes none from the caller."""
    users = {name for name in SOURCES if any(other.partition(".")[0] == "audit" for other in imports(name, SOURCES))}
    assert {name.partition(".")[0] for name in users} <= {"audit", "cli", "__init__"}
    assert not any("votes" in argument.arg for argument in _arguments("audit.run", "audit"))


def _arguments(module: str, function: str) -> list[ast.arg]:
    tree = ast.parse(SOURCES[module])
    (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    return [*found.args.args, *found.args.kwonlyargs]
