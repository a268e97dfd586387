"""What evidence is made with here and now: versions, platform, time, and hashes of the installed package."""

from __future__ import annotations

import hashlib
import platform
import sqlite3
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from quietrank import __version__

DRAWING = ("opendp", "python-flint")
"""the libraries that draw noise, from the operating system's entropy"""
COUNTING = ("duckdb", "ibis-framework", "numpy", "pyarrow", "scipy")
"""those that read, count and estimate"""


@dataclass(frozen=True)
class Environment:
    """Where, when and with what something was computed."""

    when: str
    """in UTC"""
    quietrank: str
    python: str
    platform: str
    drawing: tuple[tuple[str, str], ...]
    """the libraries that draw noise, with their versions"""
    others: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    """the SHA-256 of each file of the installed package, by its path"""

    @classmethod
    def here(cls) -> Environment:
        python = f"{platform.python_implementation()} {platform.python_version()}"
        others = (*_versions(COUNTING), ("SQLite", sqlite3.sqlite_version))
        when = datetime.now(UTC).isoformat(timespec="seconds")
        system = f"{platform.platform()}, {platform.machine()}, {sys.byteorder}-endian"
        return cls(when, __version__, python, system, _versions(DRAWING), others, package_files())

    @property
    def sha256(self) -> str:
        """Of the whole package: of the lines that `sha256sum` prints for its files, in the order of their names."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in self.files)
        return hashlib.sha256(lines.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        return {
            "when": self.when,
            "quietrank": self.quietrank,
            "python": self.python,
            "platform": self.platform,
            "libraries_that_draw_noise": dict(self.drawing),
            "other_libraries": dict(self.others),
            "package_sha256": self.sha256,
            "package_files": dict(self.files),
        }


def package_files() -> tuple[tuple[str, str], ...]:
    """Each file of the installed package and its SHA-256, in the order of names as bytes; compiled copies left out."""
    folder = Path(__file__).parent.parent
    paths = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    named = {path.relative_to(folder.parent).as_posix(): path for path in paths}
    return tuple((name, hashlib.sha256(named[name].read_bytes()).hexdigest()) for name in sorted(named))


def _versions(libraries: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _version(name)) for name in libraries)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed as a package"
