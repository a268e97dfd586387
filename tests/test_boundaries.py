"""The boundaries of the design, kept by reading the imports; whatever is not allowed is denied."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import quietrank
from quietrank.mechanisms.registry import BOARD_NOISES, MECHANISMS
from tests.imports import Rules, imports, reading_list, sources_of, violations, within

SOURCES = sources_of(Path(quietrank.__file__).parent)
TRUSTED_MATHS = ("maths.links", "maths.certificate")
MODULES, LINES = 43, 6_900
"""What a privacy reviewer has to read, at most."""

RULES = Rules(
    sides={
        "public": (
            "errors", "arrays", "processes", "promise", "statistics", "noise", "maths", "mechanisms", "estimate",
            "publish", "render", "estimators", "ledger", "simulation", "planning", "paper",
        ),
        "confidential": ("votes",),
        "crossing": ("crossing",),
        "both": ("__init__", "__main__", "pipeline", "boards", "demo", "auditing", "evidence", "app", "cli"),
    },
    may_see={
        "public": ("public",),
        "confidential": ("public", "confidential"),
        "crossing": ("public", "confidential", "crossing"),
        "both": ("public", "confidential", "crossing", "both"),
    },
    order=(
        ("errors", "arrays", "processes"),
        ("promise",),
        ("statistics",),
        ("noise", "maths"),
        ("mechanisms",),
        ("estimate", "publish", "render", "estimators"),
        ("simulation", "ledger", "votes"),
        ("planning", "paper", "crossing"),
        ("pipeline",),
        ("boards",),
        ("demo", "auditing"),
        ("evidence",),
        ("app",),
        ("cli",),
        ("__init__", "__main__"),
    ),
    libraries={
        "ibis": ("votes",),
        "duckdb": ("votes",),
        "sqlglot": ("votes",),
        "openpyxl": ("votes",),
        "opendp": ("noise",),
        "flint": ("noise", "auditing", "promise.curve"),
        "secrets": ("noise", "ledger", "votes.daily.kept", "boards.board", "app.guard", "app.serve"),
    },
    calls={
        "add_to": ("noise", "crossing", "auditing"),
        "draw_fresh": ("noise", "crossing"),
        "add_laplace": ("noise",),
        "truncated_laplace": ("noise", "auditing"),
        "rounded": ("noise",),
        "rounded_normal": ("noise",),
        "discrete_laplace": ("noise",),
    },
)  # fmt: skip


def _importers(*rooms: str) -> set[str]:
    """The packages, others than these, that import one of these modules or packages."""
    users = {name for name in SOURCES if any(within(other, rooms) for other in imports(name, SOURCES))}
    return {name.partition(".")[0] for name in users if not within(name, rooms)} - {"__init__"}


def test_every_import_is_allowed() -> None:
    """No module is on the wrong side of what it imports, and none imports a later room."""
    assert violations(SOURCES, RULES) == []


def test_the_reader_finds_imports() -> None:
    """This test can fail: the imports it is about are seen."""
    assert "votes.read" in imports("pipeline.counts", SOURCES)
    assert ":opendp" in imports("noise.lattice", SOURCES)
    assert len(SOURCES) > 80


def test_only_the_confidential_side_reads_rows() -> None:
    """Raw rows are opened and queried in votes/; others only hand Votes on."""
    rows = (
        "votes.files",
        "votes.formats",
        "votes.where",
        "votes.engines",
        "votes.joins",
        "votes.snapshot",
        "votes.bound",
    )
    assert _importers(*rows) <= {"votes"}
    assert _importers("votes.check", "votes.preview") <= {"votes", "cli", "pipeline", "app"}


def test_only_the_mechanisms_cross_the_line() -> None:
    """A tally is seen by the crossing, and by the pipeline and the audit that hand it over."""
    assert _importers("votes.tally", "votes.tallies") <= {"votes", "crossing", "pipeline", "auditing"}
    assert _importers("crossing") <= {"pipeline", "boards", "auditing"}


def test_only_mechanisms_draw_noise() -> None:
    """Only the crossing asks the noise package to draw; a mechanism that would do so itself is found."""
    drawing = {name for name, source in SOURCES.items() if ".add_to(" in source and not within(name, ("noise",))}
    assert drawing == {"crossing", "auditing.blackbox", "auditing.distribution"}  # on votes that it made up itself
    fresh = {name for name, source in SOURCES.items() if ".draw_fresh(" in source and not within(name, ("noise",))}
    assert fresh == {"crossing"}


@pytest.mark.parametrize("library", ["opendp", "flint", "secrets"])
@pytest.mark.few(2)
def test_only_the_noise_package_is_random(library: str) -> None:
    """OpenDP and interval arithmetic are used by the noise package and nobody else, but for the curve of Gaussian
    noise, which is a number; a ledger draws its ids alone, and the app what opens its door."""
    users = {name for name in SOURCES if f":{library}" in imports(name, SOURCES)}
    assert any(within(name, ("noise",)) for name in users)
    assert all(within(name, RULES.libraries[library]) for name in users)


@pytest.mark.parametrize("name", [name for name in SOURCES if within(name, ("estimate", "maths", "render"))])
def test_estimators_and_rendering_see_no_votes(name: str) -> None:
    """Afterwards is post-processing: a NoisyTally or a Release, nothing from the confidential side."""
    assert not [other for other in imports(name, SOURCES) if within(other, ("votes", "crossing", "pipeline", "cli"))]


@pytest.mark.parametrize("name", [name for name in SOURCES if within(name, ("mechanisms", "statistics", "promise"))])
def test_calibration_sees_no_votes(name: str) -> None:
    """Every scale, clipping bound and automatic choice is made before, and without, a look at the votes."""
    assert not [other for other in imports(name, SOURCES) if within(other, ("votes", "crossing", "pipeline", "cli"))]


PLANTED = {
    "planning reads votes": ("planning.forecast", "from quietrank.votes.read import read_votes"),
    "a calibration imports Votes": ("mechanisms.laplace", "from quietrank.votes.read import Votes"),
    "a release imports Votes": ("publish.release", "from quietrank.votes.read import Votes"),
    "a release imports Votes for types": ("publish.release", "if TYPE_CHECKING:\n    import quietrank.votes.read"),
    "a release imports votes by name": ("publish.release", "votes = importlib.import_module('quietrank.votes.read')"),
    "an estimator imports votes in a function": ("maths.fit", "def f():\n    from quietrank import votes"),
    "a table queries rows": ("render.table", "import ibis"),
    "a plan draws noise": ("planning.forecast", "import opendp.prelude as dp"),
    "a mechanism draws": ("mechanisms.laplace", "drawn = LaplaceNoise(1.0).add_to(values)"),
    "a board draws": ("boards.board", "drawn = noise.noises(1)[0].draw_fresh(9)"),
    "a pipeline draws": ("pipeline", "drawn = getattr(noise, 'add_to')(values)"),
    "a module on no side": ("shortcut", "import math"),
    "a new module reads rows and draws noise": (
        "shortcut", "from quietrank import noise\nfrom quietrank.votes.read import read_votes"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.few(5)
def test_a_planted_fault_is_found(fault: str) -> None:
    """This test can fail: each of these walks around a boundary, and is seen."""
    module, line = PLANTED[fault]
    breaches = violations({**SOURCES, module: f"{SOURCES.get(module, '')}\n{line}\n"}, RULES)
    assert breaches
    assert all(breach.startswith(module) for breach in breaches)


def test_what_a_reviewer_reads(capsys: pytest.CaptureFixture[str]) -> None:
    """What the crossing, every registered mechanism and all noise of boards import has a ceiling, and is printed.

    A solver's answer is not trusted, its certificate is: of maths/ only links and certificates count.
    """
    mechanisms = {type(mechanism).__module__.removeprefix("quietrank.") for mechanism in MECHANISMS.values()}
    untrusted = tuple(name for name in SOURCES if name.startswith("maths.") and name not in TRUSTED_MATHS)
    of_boards = {noise.__module__.removeprefix("quietrank.") for noise in BOARD_NOISES}
    listed = reading_list(("crossing", *mechanisms, *of_boards), SOURCES, untrusted)
    with capsys.disabled():
        print(f"\na privacy reviewer reads {len(listed)} modules, {sum(listed.values())} lines: {', '.join(listed)}")
    assert len(mechanisms) == len(MECHANISMS) >= 4
    assert len(listed) <= MODULES
    assert sum(listed.values()) <= LINES


def test_few_modules_stand_at_the_root(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything else has a room."""
    files = sorted(path.name for path in Path(quietrank.__file__).parent.glob("*.py"))
    with capsys.disabled():
        print(f"\nat the package's root stand {len(files)} modules: {', '.join(files)}")
    assert len(files) <= 10


SEEDED = (
    "simulation", "paper", "planning", "estimate.sources", "estimate.score_errors", "estimate.fitted",
    "estimate.overall", "estimate.sets", "auditing.neighbours", "auditing.growing", "auditing.streams", "mechanisms",
    "maths.laws",
)  # fmt: skip
"""where pseudo-random numbers are allowed; a mechanism samples the public law of its noise, for planning,
the overall ranking the sum of such laws, and a fit, which is not private, the errors of its scores"""


def test_seeds_stay_away_from_releases() -> None:
    """No pseudo-random generator outside simulation, planning, resampling and the paper's experiments."""
    for name, source in SOURCES.items():
        seeded = "default_rng" in source or "np.random" in source or "import random" in source
        assert not seeded or within(name, (*SEEDED, "cli.simulate")), name
    assert "default_rng" not in SOURCES["crossing"]


def test_the_command_line_seeds_only_simulations() -> None:
    """In cli/ the generator appears in the command `simulate` and nowhere else."""
    users = {name for name, source in SOURCES.items() if within(name, ("cli",)) and "default_rng" in source}
    assert users == {"cli.simulate"}


def test_the_audit_stays_on_its_side() -> None:
    """Nothing that makes a release knows the audit, which makes up its votes and takes none from the caller."""
    users = {name for name in SOURCES if any(other.partition(".")[0] == "auditing" for other in imports(name, SOURCES))}
    assert {name.partition(".")[0] for name in users} <= {"auditing", "evidence", "cli", "__init__"}
    assert not any("votes" in argument.arg for argument in _arguments("auditing.run", "audit"))


def _arguments(module: str, function: str) -> list[ast.arg]:
    tree = ast.parse(SOURCES[module])
    (definition,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    return [*definition.args.args, *definition.args.kwonlyargs]
