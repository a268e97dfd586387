"""The first use, replayed from an empty environment: every command of docs/first-use.md in a shell, pip's included.

`make wheel` runs it on the sdist that it has built; tests/test_pages.py runs the commands of quietrank alone, always.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from docs import blocks

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "first-use.md").read_text(encoding="utf-8")
SDIST = os.environ.get("QUIETRANK_SDIST")
END = "--- end of block ---"


@pytest.mark.slow
@pytest.mark.skipif(not SDIST, reason="QUIETRANK_SDIST names no sdist; make wheel builds one and sets it")
def test_the_page_can_be_followed_from_an_empty_environment(tmp_path: Path) -> None:
    """What the page says is typed beside the unpacked sdist: what it shows is printed, and its files are there."""
    folder = unpacked(Path(str(SDIST)), tmp_path)
    for prepared in blocks.setups(PAGE):
        subprocess.run(["python3", "-c", prepared], cwd=folder, check=True)
    typed = subprocess.run(
        ["bash", "-e"], input=script(PAGE), cwd=folder, env=plain_environment(), capture_output=True, text=True
    )
    assert typed.returncode == 0, typed.stdout + typed.stderr
    compare(PAGE, typed.stdout)
    assert (folder / "tasting.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (folder / "tasting.png").read_bytes().startswith(b"\x89PNG")


def unpacked(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


def plain_environment() -> dict[str, str]:
    """Nothing of the environment that the tests run in, but where packages come from."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    pinned = {"COLUMNS": "104", "PIP_CONSTRAINT": str(ROOT / "constraints" / "tested.txt")}
    return {name: value for name, value in os.environ.items() if name not in ours} | pinned


def script(page: str) -> str:
    """All commands and all Python of a page, one after the other in one shell, so that it stays as they leave it."""
    lines = []
    for block in blocks.blocks(page):
        if block.language == "console":
            lines += [*block.commands, f"echo '{END}'"]
        elif block.language == "python":
            lines += [f"python - <<'PYTHON'\n{block.text}PYTHON", f"echo '{END}'"]
    return "\n".join(lines)


def compare(page: str, printed: str) -> None:
    """What the page shows after a block is what the block printed; in form, where it is noise."""
    outputs = iter(printed.split(END + "\n"))
    output = ""
    for block in blocks.blocks(page):
        if block.language in ("console", "python"):
            output = next(outputs)
        else:
            assert block.shows(output), output


def test_a_page_that_shows_something_else_is_noticed() -> None:
    """The replay can fail."""
    page = "```console\n$ echo one\n```\n\n```text\n{}\n```\n"
    printed = subprocess.run(["bash", "-e"], input=script(page), capture_output=True, text=True, check=True).stdout
    compare(page.format("one"), printed)
    with pytest.raises(AssertionError):
        compare(page.format("two"), printed)
