"""The READMEs of benchmarks/ in, which their scripts' tables stand in, the page docs/benchmarks.md out.

`python docs/make_benchmarks.py` writes it.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Written by `make docs` from the folders of `benchmarks/`; do not edit. Speed is measured side by side with a peer, in
one run on one machine, and reported as a ratio; nothing here is a timed test. Unless a section says otherwise the
machine had 2 cores and 24 GB, Linux, Python 3.11, and the versions of `constraints/tested.txt`.
"""


def benchmarks_page() -> str:
    """One section per folder, with its question, its tables and what they mean."""
    folders = sorted(path.parent for path in (ROOT / "benchmarks").glob("*/README.md"))
    return HEAD + "\n" + "\n\n".join(map(_section, folders)) + "\n"


def _section(folder: Path) -> str:
    text = (folder / "README.md").read_text(encoding="utf-8").strip()
    text = re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE)
    text = re.sub(r"^## (.*)", rf"## {folder.name}: \1 {{#{folder.name}}}", text, count=1)
    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", lambda match: f"]({_from_docs(folder, match[1])})", text)


def _from_docs(folder: Path, link: str) -> str:
    """A link of the folder's README as one of docs/."""
    path, mark, anchor = link.partition("#")
    target = (folder / path).resolve()
    docs = ROOT / "docs"
    place = target.relative_to(docs) if target.is_relative_to(docs) else Path("..", target.relative_to(ROOT))
    return place.as_posix() + mark + anchor


if __name__ == "__main__":
    PAGE.write_text(benchmarks_page(), encoding="utf-8")
