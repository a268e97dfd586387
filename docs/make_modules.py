"""The heads of all modules in, which say what comes in and what goes out, the page docs/modules.md out.

`python docs/make_modules.py` writes it.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "quietrank"
PAGE = ROOT / "docs" / "modules.md"
HEAD = """# Every module

Written by `make docs` from the modules' own heads; do not edit. [The architecture](architecture.md) shows how they hang
together; this page is for finding the file.
"""
FLOW = (
    "promise", "votes", "statistics", "noise", "mechanisms", ".", "maths", "estimate", "publish", "render", "pipeline",
    "ledger", "boards", "planning", "auditing", "evidence", "paper", "cli", "app",
)  # fmt: skip
"""The packages as data flows through them; `.` is the root, with the crossing."""


def modules_page() -> str:
    """One section per package, one row per module."""
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    unplaced = set(packages) - set(FLOW)
    if unplaced:
        raise ValueError(f"give {', '.join(sorted(unplaced))} a place in FLOW of {Path(__file__).name}")
    return HEAD + "".join(map(_section, FLOW))


def _section(package: str) -> str:
    folder = PACKAGE / package
    files = folder.glob("*.py") if package == "." else folder.rglob("*.py")
    head = "\n## The root\n" if package == "." else f"\n## `{package}/`\n\n{_head(folder / '__init__.py')}\n"
    rows = sorted((path.relative_to(folder).as_posix(), _head(path)) for path in files if path.name != "__init__.py")
    return head + "\n| module | |\n|---|---|\n" + "".join(f"| `{name}` | {text} |\n" for name, text in rows)


def _head(path: Path) -> str:
    """The first paragraph of a module's docstring, as one line of a table."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(modules_page(), encoding="utf-8")
