"""The public file of a board: a copy of its log, line by line, appended and never rewritten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from quietrank.errors import BoardError
from quietrank.publish.files import sync


def read(path: Path) -> list[str]:
    """Its complete lines; one that is cut off, by a crash while it was appended, was never shown."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BoardError(f"there is no board {path}; make one with `quietrank board new`") from None
    except OSError as error:
        raise BoardError(f"the board {path} cannot be read: {error.strerror}; check the file") from None
    try:
        return data[: data.rfind(b"\n") + 1].decode().splitlines()
    except UnicodeDecodeError:
        raise BoardError(f"{path} is not a board; give a file made by `quietrank board new`") from None


def copy(path: Path, lines: Sequence[str]) -> None:
    """Append what is missing of these lines, durably; refused if the file says anything else."""
    there = read(path) if path.exists() else []
    if list(lines[: len(there)]) != there:
        raise BoardError(
            f"{path} does not agree with its confidential file, which may be an older copy; nothing was released. A "
            "board cannot go on from a backup: start a new one, with a new payment"
        )
    missing = "".join(f"{line}\n" for line in lines[len(there) :])
    if not missing:
        return
    try:
        with path.open("ab") as stream:
            stream.truncate(sum(len(line.encode()) + 1 for line in there))
            stream.write(missing.encode())
            stream.flush()
            os.fsync(stream.fileno())
        if not there and os.name == "posix":
            sync(path.parent)
    except OSError as error:
        raise BoardError(f"cannot write {path}: {error.strerror}; what was drawn is kept, run it again") from None
