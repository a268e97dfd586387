"""The names of proof pages in, their SHA-256 out: they are in the installed package, or in docs/ of a checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
ABOUT_PROOFS = (
    "The pages are in the source of quietrank under this name, and in the installed package in the folder "
    "quietrank/proofs. The hashes are of the pages that are installed here."
)


def proof_hashes(names: Iterable[str]) -> dict[str, str]:
    """Of each page that is there: an installation may have been stripped of them."""
    shipped, source = PACKAGE / "proofs", PACKAGE.parent.parent / "docs" / "proofs"
    folder = shipped if shipped.is_dir() else source
    pages = {name: folder / Path(name).name for name in names}
    return {name: hashlib.sha256(page.read_bytes()).hexdigest() for name, page in pages.items() if page.is_file()}
