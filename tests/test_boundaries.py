"""The boundaries of the design, kept by reading the imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import quietrank

ROOT = Path(quietrank.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

RAW_ROWS = {"files", "engines", "votes", "joins", "snapshot", "check", "bounding", "tally"}
"""the only modules that see votes"""
CONFIDENTIAL = RAW_ROWS | {"mechanism", "perturbed", "certified"}
"""what may touch a Tally"""
ORCHESTRA = {"pipeline", "cli", "demo", "nonprivate"}
"""what puts both sides together, without looking inside"""
AUDIT = {name for name in MODULES if name.partition(".")[0] == "audit"}
"""the attack works on the confidential side and draws noise, on synthetic votes that it makes up itself"""
LEDGER = {"ledger.book", "ledger.file", "ledger.records"}
SEEDED = {"simulate", "plan", "uncertainty", "laws", "audit.neighbours", "audit.growing"}
"""where pseudo-random numbers are allowed, besides paper/; `laws` samples the public law of the noise, for planning"""


def _imports(path: Path) -> Iterator[str]:
    """Every module this file imports, also inside functions, except for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


IMPORTS = {name: set(_imports(path)) for name, path in MODULES.items()}


def _users_of(*targets: str) -> set[str]:
    return {name for name, found in IMPORTS.items() if any(f"quietrank.{target}" in found for target in targets)}


def test_the_reader_finds_imports() -> None:
    """This test can fail: the imports it is about are seen."""
    assert "mechanism" in _users_of("tally")
    assert "quietrank.noise" in IMPORTS["additive"]
    assert len(MODULES) > 15


def test_only_the_confidential_side_reads_rows() -> None:
    """Raw rows are opened and queried by the row modules; others only hand Votes on."""
    assert _users_of("files", "engines", "joins", "snapshot", "bounding", "check") <= RAW_ROWS | {"cli"}
    engines = {name for name, found in IMPORTS.items() if {"ibis", "duckdb"} & {m.partition(".")[0] for m in found}}
    assert engines <= RAW_ROWS


def test_only_the_mechanisms_cross_the_line() -> None:
    """A Tally is seen by the mechanisms, and by the pipeline that hands it to them."""
    assert _users_of("tally") <= CONFIDENTIAL | {"pipeline"} | AUDIT


def test_only_mechanisms_draw_noise() -> None:
    """The noise package is the one place that draws; additive.py calibrates it, and the mechanisms add it."""
    users = {name for name in _users_of("noise") if not name.startswith("noise")} - AUDIT
    assert users == {"additive", "perturbed"}
    adders = {name for name, path in MODULES.items() if re.search(r"noise\.add\(", path.read_text(encoding="utf-8"))}
    assert adders - AUDIT == {"mechanism"}


def test_only_the_noise_package_is_random() -> None:
    """OpenDP and interval arithmetic are used by the noise package and nobody else; a ledger draws its ids alone."""
    libraries = {name: {module.partition(".")[0] for module in found} for name, found in IMPORTS.items()}
    drawing = {"noise.lattice", "noise.exact", "noise.knorm"}
    assert {name for name, found in libraries.items() if {"opendp", "flint"} & found} - AUDIT == drawing
    assert {name for name, found in libraries.items() if "secrets" in found} <= drawing | LEDGER


@pytest.mark.parametrize("name", [name for name in MODULES if name.partition(".")[0] in ("estimators", "render")])
def test_estimators_and_rendering_see_no_votes(name: str) -> None:
    """Afterwards is post-processing: a NoisyTally or a Release, nothing from the confidential side."""
    forbidden = {f"quietrank.{module}" for module in CONFIDENTIAL | ORCHESTRA}
    assert not IMPORTS[name] & forbidden


@pytest.mark.parametrize("name", ["additive", "choice", "laws", "bodies", "graphs", "sensitivity", "accounting"])
def test_calibration_sees_no_votes(name: str) -> None:
    """Every scale, clipping bound and automatic choice is made before, and without, a look at the votes."""
    assert not IMPORTS[name] & {f"quietrank.{module}" for module in CONFIDENTIAL | ORCHESTRA}


def test_seeds_stay_away_from_releases() -> None:
    """No pseudo-random generator outside simulation, planning, resampling and the paper's experiments."""
    for name, path in MODULES.items():
        source = path.read_text(encoding="utf-8")
        seeded = "default_rng" in source or "np.random" in source or "import random" in source
        assert not seeded or name in SEEDED or name == "cli" or name.startswith(("paper", "planning")), name
    assert "default_rng" not in Path(MODULES["mechanism"]).read_text()


def test_the_command_line_seeds_only_simulations() -> None:
    """In cli.py the generator appears in `simulate` and nowhere else."""
    tree = ast.parse(MODULES["cli"].read_text(encoding="utf-8"))
    users = {f.name for f in tree.body if isinstance(f, ast.FunctionDef) and "default_rng" in ast.unparse(f)}
    assert users == {"simulate"}


def test_the_audit_stays_on_its_side() -> None:
    """Nothing that makes a release knows the audit, which makes up its votes and takes none from the caller."""
    users = {name for name, found in IMPORTS.items() if any(module.startswith("quietrank.audit") for module in found)}
    assert users <= AUDIT | {"cli"}
    assert not any("votes" in argument.arg for argument in _arguments("audit.run", "audit"))


def _arguments(module: str, function: str) -> list[ast.arg]:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    return [*found.args.args, *found.args.kwonlyargs]
