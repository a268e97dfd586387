"""Every block of every page: its files are written, its commands and Python run, and what they print is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import blocks

ROOT = Path(__file__).parent.parent
WRITTEN = ("docs/api.md", "docs/cli.md", "docs/benchmarks.md", "docs/modules.md")
"""by scripts, with tests of their own"""
SLOW = ("docs/planning.md", "docs/audit.md", "docs/boards.md", "docs/arena.md", "docs/evidence.md", "docs/paper.md")
"""whose commands take a minute; in make test, they are read"""
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
)  # fmt: skip
RUN = [
    pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in PAGES if page not in WRITTEN
]  # fmt: skip


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", RUN)
def test_every_block_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "104")
    for ran in blocks.run(text_of(page), tmp_path):
        assert ran.code == 0, f"{ran.what}\n{ran.printed}"
        assert ran.shown is None or ran.shown.shows(ran.printed), f"{ran.what}\n{ran.printed}"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_known(page: str) -> None:
    """What is not run says why."""
    for block in blocks.blocks(text_of(page)):
        assert block.language in ("console", "python", "text", "csv", "json", "yaml", "bibtex", "toml"), block.text
        if block.not_run:
            assert re.search(r"not run: \w", block.marks)
    assert text_of(page).count("```") == 2 * len(blocks.blocks(text_of(page)))


def test_a_page_that_lies_is_noticed(tmp_path: Path) -> None:
    """This test can fail: an output that is not printed, a command that fails, one that is none of ours."""
    page = '```csv title="v.csv"\nwinner,loser\na,b\n```\n\n```console\n$ quietrank check v.csv --items a,b\n```\n\n'
    (ran,) = blocks.run(page + "```text\nrows 9\n```\n", tmp_path)
    assert ran.shown is not None
    assert not ran.shown.shows(ran.printed)
    assert blocks.alike("nothing like this is printed", ran.printed) == 0.0
    (failed,) = blocks.run("```console\n$ quietrank rank nothing.csv\n```\n", tmp_path)
    assert failed.code != 0
    with pytest.raises(ValueError, match="not run"):
        list(blocks.run("```console\n$ rm -r everything\n```\n", tmp_path))
