"""The public file of a board: a copy of its log, line by line, appended and never changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from quietrank.errors import BoardError
from quietrank.publish.files import sync


def read(path: Path) -> list[str]:
    """Its complete lines; one that is cut off, by a crash while it was appended, is completed by the next update."""
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
    missing, size = [line.encode() for line in lines[len(there) :]], sum(len(line.encode()) + 1 for line in there)
    try:
        path.touch()
        with path.open("r+b") as stream:
            stream.truncate(size)
            if there:
                # Once more: if a sync of this end has failed before, no later sync would save it.
                stream.seek(size - 1)
                stream.write(b"\n")
                _flush(stream)
            # A line counts once its end is there, which is written when the rest is durable: so that no power cut
            # leaves a line that looks complete and is not.
            for part in (part for line in missing for part in (line, b"\n")):
                stream.write(part)
                _flush(stream)
        if os.name == "posix":
            sync(path.parent)
    except OSError as error:
        raise BoardError(f"cannot write {path}: {error.strerror}; what was drawn is kept, run it again") from None


def _flush(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
