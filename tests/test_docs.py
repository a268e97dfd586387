"""Docs that cannot drift: what scripts wrote is current, what is named is there; test_pages.py runs the examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.make_cli import command_line_page
from quietrank.cli import app as cli
from quietrank.demo import demo_privacy
from quietrank.publish.files import PICTURE
from quietrank.publish.release import Release

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}(?: title=\S+)?\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_shows_the_release_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of docs/demo.json as the demo prints it, a figure by quietrank, and the promise of the demo."""
    monkeypatch.delenv("COLUMNS", raising=False)
    release = Release.from_json(ROOT / "docs" / "demo.json")
    table = _blocks("text")[1]
    assert str(release).startswith(table)
    assert str(release)[len(table) :].lstrip().startswith(release.statement.split()[0])
    assert release.privacy == demo_privacy(1.0).changed(max_per_person=release.privacy.max_per_person)
    assert "(docs/demo.png)" in README
    assert PICTURE.is_ours(ROOT / "docs" / "demo.png")


NAMING_TESTS = [*sorted((ROOT / "docs" / "proofs").glob("*.md")), ROOT / "docs/audit.md", ROOT / "docs/threat-model.md"]


@pytest.mark.parametrize("page", NAMING_TESTS, ids=lambda page: page.name)
def test_the_proofs_name_tests_that_exist(page: Path) -> None:
    """Every inequality points at a test, and the test is there; `test_name_…` stands for several."""
    text = page.read_text(encoding="utf-8")
    written = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"\b(test_\w+)(?!\w|\.py)", text))
    assert len(named) > 5
    for test in named:
        assert f"def {test}" + ("" if test.endswith("_") else "(") in written, test
    for module, test in re.findall(r"\b((?:\w+/)*test_\w+\.py)::(test_\w+)", text):
        assert f"def {test}(" in (ROOT / "tests" / module).read_text(encoding="utf-8"), f"{module}::{test}"


def test_the_command_line_page_is_current() -> None:
    """docs/cli.md is what the commands say of themselves; `make docs` writes it anew."""
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == command_line_page()


def test_every_option_is_documented() -> None:
    """Each command has its section in docs/cli.md, and each of its options a row there, whatever wrote the page."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    group: Any = typer.main.get_command(cli.app)
    commands = {f"quietrank {name}": command for name, command in group.commands.items()}
    for name in [name for name, command in commands.items() if hasattr(command, "commands")]:
        commands |= {f"{name} {below}": command for below, command in commands[name].commands.items()}
    assert set(sections) == set(commands)
    for name, command in commands.items():
        for option in (word for param in command.params for word in param.opts if word.startswith("-")):
            assert re.search(rf"^\| `(.*, )?{option}[`, ]", sections[name], flags=re.MULTILINE), f"{name} {option}"


def test_nothing_names_a_place_outside_the_project() -> None:
    """No commit names a folder or a registry of the machine it was made on."""
    files = [ROOT / name for name in ("README.md", "Makefile", "pyproject.toml", ".ci/run")]
    files += (ROOT / "constraints").glob("*.txt")
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(work|opt|root)/|index-url|find-links", text), path


def test_the_architecture_page_lists_every_room() -> None:
    """Each package and each module at the root has its row: what comes in, what goes out."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "quietrank"
    rooms = [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    missing = [room for room in [*rooms, *(path.name for path in package.glob("*.py"))] if f"`{room}`" not in rows]
    assert not missing


def test_the_page_about_mechanisms_has_every_name_of_the_protocol() -> None:
    """What a mechanism of one's own has to have."""
    from quietrank.mechanisms.mechanism import Law, Mechanism

    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for protocol in (Mechanism, Law):
        public = {name for name in vars(protocol) if not name.startswith("_")} - {
            "refusal",
            "total_is_free",
            "most_draws",
        }
        assert not [name for name in public if f"`{name}" not in page], protocol


def test_the_page_about_uncertainty_is_current() -> None:
    """Its tables are those of the study's results, and its constants those of the library."""
    from benchmarks.coverage.run import results, with_tables
    from quietrank.mechanisms.scatter import LARGEST_SHARE, SHARE_FACTOR

    page = (ROOT / "docs" / "uncertainty.md").read_text(encoding="utf-8")
    assert f"min({LARGEST_SHARE:.0%}, {SHARE_FACTOR}·√(ε/n))".replace("%", " %") in page
    assert with_tables(page, results()) == page
