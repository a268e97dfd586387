"""A page in; its files written, its commands and Python run, and what they print beside what the page shows, out.

In a page, in order: ```csv title="votes.csv"``` is a file; ```python``` is run, all blocks of a page in one namespace;
```console``` has commands after `$ `, of which those of quietrank are run; the ```text``` that follows is what they
print. `<!-- setup ... -->` is Python that prepares a page and is not shown; `<!-- not run: why -->` before a block
leaves it out; `<!-- noisy -->` says that numbers, and so the order of lines, differ from run to run: then what is
printed is compared in form. `python docs/blocks.py PAGE...` writes what is printed into pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"(?P<marks>(?:<!-- [^>]*? -->\n)*)(?P<fence>```+)(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)(?P=fence)",
    re.DOTALL,
)
FILES = ("csv", "text", "json", "yaml")
LEAST = 0.8
"""of the shown lines, in form, where noise decides the rest"""


@dataclass
class Block:
    """One block of a page."""

    language: str
    title: str | None
    text: str
    marks: str
    place: tuple[int, int]
    """where its text stands in the page"""

    @property
    def not_run(self) -> bool:
        return "not run:" in self.marks

    @property
    def noisy(self) -> bool:
        return "<!-- noisy -->" in self.marks

    @property
    def commands(self) -> list[str]:
        """What is typed, each on one line."""
        return [line[2:] for line in self.text.replace("\\\n", " ").splitlines() if line.startswith("$ ")]

    def shows(self, printed: str) -> bool:
        """Whether this is what was printed; in form, where noise decides the rest."""
        return alike(self.text, printed) >= LEAST if self.noisy else _plain(self.text) == _plain(printed)


@dataclass
class Ran:
    """What was run, what it printed, and the block that shows it, if one does."""

    what: str
    printed: str
    shown: Block | None = None
    code: int = 0


def blocks(page: str) -> list[Block]:
    return [
        Block(match["language"], match["title"], match["text"], match["marks"], match.span("text"))
        for match in FENCE.finditer(page)
    ]


def setups(page: str) -> list[str]:
    """The Python that prepares a page and is not shown."""
    return re.findall(r"<!-- setup\n(.*?)-->", page, re.DOTALL)


def run(page: str, folder: Path) -> Iterator[Ran]:
    """Run a page in a folder."""
    namespace: dict[str, Any] = {}
    last: Ran | None = None
    with contextlib.chdir(folder):
        for prepared in setups(page):
            exec(compile(prepared, "setup", "exec"), {})
        for block in blocks(page):
            if block.not_run:
                last = None
            elif block.language == "text" and block.title is None:
                if last is not None:
                    last.shown = block
                    yield last
                    last = None
            else:
                if last is not None:
                    yield last
                last = _ran(block, namespace)
        if last is not None:
            yield last


def _ran(block: Block, namespace: dict[str, Any]) -> Ran | None:
    if block.title is not None and block.language in FILES:
        path = Path(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return None
    if block.language == "python":
        return _python(block.text, namespace)
    return _console(block.commands) if block.language == "console" else None


def _python(text: str, namespace: dict[str, Any]) -> Ran:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "page", "exec"), namespace)
    return Ran("python", printed.getvalue())


def _console(commands: list[str]) -> Ran:
    """All commands of a block, and what the last ones print; a command that is none of ours must be marked."""
    printed, code = "", 0
    for command in commands:
        words = shlex.split(command, comments=True)
        if words[0] != "quietrank":
            raise ValueError(f"{command!r} is no command of quietrank; mark the block with <!-- not run: why -->")
        said, code = _command(words)
        printed += said
        if code:
            break
    return Ran("; ".join(commands), printed, code=code)


def _command(words: list[str]) -> tuple[str, int]:
    from quietrank.cli import app

    before = sys.argv
    sys.argv = words
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                app.main()
            except SystemExit as stopped:
                code = stopped.code if isinstance(stopped.code, int) else 0
    finally:
        sys.argv = before
    return out.getvalue() + (errors.getvalue() if code else ""), code


def form(text: str) -> list[str]:
    """What a text has in common from run to run: its lines without numbers and hashes, of rows of a ranking the items.

    Noise decides the rest: the headline, which stands before the size of a ranking, what is in doubt, and in how many
    words the possible ranks of an item are written.
    """
    text = re.sub(r"Noise alone could .*?would help\.", "", text, flags=re.DOTALL)
    text = re.sub(r"\A.*?^(?=\d+ items by )", "", text, flags=re.DOTALL | re.MULTILINE)
    items = [found[1] for line in text.splitlines() if (found := ROW.match(line))]
    lines = (re.sub(r"\S*\d\S*|[^A-Za-zεδ% ]+", " ", line) for line in text.splitlines() if not ROW.match(line))
    return [*items, *(" ".join(line.split()) for line in lines)]


ROW = re.compile(r"\s+\d+\s+(\S.*?)\s\s")
"""of a ranking: the rank, and then the item"""


def alike(shown: str, printed: str) -> float:
    """The share of shown lines that are printed, in form."""
    wanted = [line for line in form(shown) if line]
    there = " ".join(" ".join(form(printed)).split())
    return 1.0 if not wanted else sum(line in there for line in wanted) / len(wanted)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def written(page: str, folder: Path) -> str:
    """The page with what is printed now in place of what is shown."""
    changes = []
    for one in run(page, folder):
        if one.code:
            raise ValueError(f"{one.what}\n{one.printed}")
        if one.shown is not None:
            changes.append((one.shown.place, one.printed))
    for (start, end), printed in reversed(changes):
        page = page[:start] + printed.rstrip() + "\n" + page[end:]
    return page


if __name__ == "__main__":
    os.environ["COLUMNS"] = "104"
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(written(path.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")
