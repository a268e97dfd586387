"""Pages of the repository in, pages of the site out: links to files beside docs/ lead to copies of them in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?P<path>(?:\.\./)+[\w./-]+)(?P<anchor>#[\w-]+)?\)")
TEXTS, PICTURES = (".md", ".py", ".css", ".csv"), (".png",)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links out of docs/ become links to `source/…`, where a copy is put."""
    folder = posixpath.dirname(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, match["path"]))
        if target.startswith(("docs/", "..")):
            return match[0]
        return f"]({posixpath.relpath(_copied(target, config, files), folder or '.')})"

    return LINK.sub(moved, markdown)


def _copied(target: str, config: Any, files: Any) -> str:
    """The address of a copy: pictures as they are, everything else as a page that shows its text."""
    place = ROOT / target
    if not (place.is_file() and place.suffix in (*TEXTS, *PICTURES)):
        raise FileNotFoundError(f"the documentation links to {target}, which is no file that can be shown")
    address = f"source/{target}" + ("" if place.suffix in PICTURES else ".txt")
    if files.get_file_from_path(address) is None:
        files.append(File.generated(config, address, content=place.read_bytes()))
    return address
