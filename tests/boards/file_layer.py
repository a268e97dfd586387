"""What a file layer noted in; the folders that a power cut could have left behind, out.

`file_layer.c` sits below DuckDB, SQLite and Python alike, and notes every change of a file. Here the notes are played
to a `Disk` that promises no more than POSIX: the data of a file is on the disk once the file is synced, a name once its
folder is; of everything since, any part may be there or not, in any order, and a write may be cut. A sync that failed
saves nothing; a later one saves the names, and not the data, as on Linux.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

HEADER = struct.Struct("<IIIIQQQ")
SECTOR, PAGE = 512, 4096


def compiled(folder: Path) -> Path | None:
    """The layer as a library; None without a C compiler, or elsewhere than on Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "file_layer.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


class Layer:
    """The file layer, in a process before which it was loaded."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)

    def note(self, folder: Path, notes: Path) -> None:
        self.library.layer_note(os.fsencode(folder), os.fsencode(notes))

    @property
    def is_there(self) -> bool:
        return hasattr(self.library, "layer_note")

    @property
    def steps(self) -> int:
        """How many changes and syncs there were since the process began."""
        return int(self.library.layer_steps())

    def mark(self, word: str) -> None:
        self.library.layer_mark(word.encode())

    def break_(self, what: str = "", at: int = 0, *, for_good: bool = False) -> None:
        """Fail the write or the sync with this number, or kill before the step with this number."""
        ats = [ctypes.c_long(at if what == kind else 0) for kind in ("write", "sync", "kill")]
        self.library.layer_break(ats[0], errno.ENOSPC, ats[1], errno.EIO, int(for_good), ats[2])


@dataclass(frozen=True)
class Note:
    """One change, as it was noted."""

    kind: str
    """Open, Create, Write, Truncate, Rename, Link, Unlink, Sync, Failed sync, Mark, X: unknown"""
    name: str
    other: str
    file: int
    """its number in the file system, which may be used again once the file is gone"""
    offset: int
    data: bytes


def notes(path: Path) -> list[Note]:
    """All that was noted, in order."""
    raw, at, found = path.read_bytes(), 0, []
    while at < len(raw):
        kind, name, other, _, file, offset, size = HEADER.unpack_from(raw, at)
        parts, at = [], at + HEADER.size
        for length in (name, other, size):
            parts.append(raw[at : at + length])
            at += length
        found.append(Note(chr(kind), parts[0].decode(), parts[1].decode(), file, offset, parts[2]))
    return found


# ---- the disk -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Change:
    """One change that may be lost: of a file's data, if `file` is given, or else of names."""

    folder: str = ""
    file: File | None = None
    offset: int = 0
    data: bytes | None = None
    """None: the file is cut at `offset`"""
    names: tuple[tuple[str, File | None], ...] = ()
    """what each name means from now on; None: nothing"""
    doomed: bool = False
    """its sync failed: it will never be on the disk"""

    def on(self, content: bytes, part: slice = slice(None)) -> bytes:
        """The file's content after it; `part`: only that much of its data was written."""
        if self.data is None:
            return content[: self.offset].ljust(self.offset, b"\0")
        start, stop, _ = part.indices(len(self.data))
        before = content[: self.offset + start].ljust(self.offset + start, b"\0")
        return before + self.data[start:stop] + content[self.offset + stop :]


@dataclass(eq=False)
class File:
    """What is on the disk of a file, and what programs see."""

    saved: bytes = b""
    seen: bytes = b""


@dataclass
class Disk:
    """A folder: what is on the disk, what programs see, and the changes in between."""

    root: str
    saved: dict[str, File] = field(default_factory=dict)
    seen: dict[str, File] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    numbers: dict[int, File] = field(default_factory=dict)
    marks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, root: Path, contents: dict[str, bytes]) -> Disk:
        """With these files, safe on the disk."""
        files = {str(root / name): File(data, data) for name, data in contents.items()}
        return cls(str(root), dict(files), dict(files))

    def play(self, note: Note) -> None:
        """Let it happen."""
        match note.kind:
            case "M":
                self.marks.append(note.name)
            case "O":
                self.numbers[note.file] = self.seen[note.name]
            case "C":
                self.numbers[note.file] = File()
                self._name(note.name, (note.name, self.numbers[note.file]))
            case "W" | "T":
                self._change(note)
            case "R":
                self._name(note.other, (note.name, None), (note.other, self.seen[note.name]))
            case "L":
                self._name(note.other, (note.other, self.seen[note.name]))
            case "U":
                self._name(note.name, (note.name, None))
            case "S" | "F":
                self._sync(note)
            case _:
                raise AssertionError(f"the layer cannot replay {note}")

    def _change(self, note: Note) -> None:
        file = self.numbers[note.file]
        change = Change(file=file, offset=note.offset, data=note.data if note.kind == "W" else None)
        if change.on(file.seen) == file.seen and change.data is None:
            return
        file.seen = change.on(file.seen)
        self.pending.append(change)

    def _name(self, place: str, *names: tuple[str, File | None]) -> None:
        self.pending.append(Change(folder=str(Path(place).parent), names=names))
        _rename(self.seen, names)

    def _sync(self, note: Note) -> None:
        file = self.numbers.get(note.file) or self.seen.get(note.name)
        ours = [c for c in self.pending if (c.file is file if file else c.folder == note.name) and not c.doomed]
        for change in ours:
            if note.kind == "F":
                change.doomed = change.file is not None
                continue
            self.pending.remove(change)
            _rename(self.saved, change.names)
            if change.file is not None:
                change.file.saved = change.on(change.file.saved)

    @property
    def open_changes(self) -> list[Change]:
        """What may be on the disk, or not."""
        return [change for change in self.pending if not change.doomed]

    def left(self, loss: Loss) -> dict[str, bytes]:
        """The files after a power cut."""
        names, part, chosen = dict(self.saved), loss.part, {id(change) for change in loss.kept}
        data: dict[int, bytes] = {}
        for change in self.pending:
            if id(change) not in chosen:
                continue
            _rename(names, change.names)
            if change.file is not None:
                before = data.get(id(change.file), change.file.saved)
                data[id(change.file)] = change.on(before, part[1] if part and part[0] is change else slice(None))
        return {self._short(name): data.get(id(file), file.saved) for name, file in names.items()}

    def visible(self) -> dict[str, bytes]:
        """The files as programs see them."""
        return {self._short(name): file.seen for name, file in self.seen.items()}

    def _short(self, name: str) -> str:
        return name[len(self.root) + 1 :]


def _rename(names: dict[str, File], changed: Sequence[tuple[str, File | None]]) -> None:
    for name, file in changed:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


# ---- what may be left -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effort:
    """How many of the possible losses are tried at each moment."""

    all_up_to: int
    """so many changes: all their subsets are tried"""
    random: int
    """so many random subsets are tried of more"""
    parts: int
    """so many places where a write is cut, of which either side may be lost"""


@dataclass(frozen=True)
class Loss:
    """One way in which a power cut may strike: what reaches the disk of all changes, and one of them only in part."""

    kept: list[Change]
    part: tuple[Change, slice] | None = None


def losses(disk: Disk, effort: Effort, rng: random.Random) -> Iterator[Loss]:
    """The ways in which a power cut may strike now."""
    changes = disk.open_changes
    for kept in _subsets(changes, effort, rng):
        yield Loss(kept)
    for change in changes:
        for part in _parts(change, effort.parts, rng):
            yield Loss([change], (change, part))
            yield Loss(changes, (change, part))


def _subsets(changes: list[Change], effort: Effort, rng: random.Random) -> Iterator[list[Change]]:
    if len(changes) <= effort.all_up_to:
        for choice in product((False, True), repeat=len(changes)):
            yield [change for change, kept in zip(changes, choice, strict=True) if kept]
        return
    for k in range(len(changes) + 1):
        yield changes[:k]
    for change in changes:
        yield [change]
        yield [other for other in changes if other is not change]
    for _ in range(effort.random):
        yield [change for change in changes if rng.random() < 0.5]


def _parts(change: Change, count: int, rng: random.Random) -> Iterator[slice]:
    """What is left of a write that is cut at the end of a sector or a page: what is before, or what is after."""
    if change.data is None:
        return
    first = SECTOR - change.offset % SECTOR
    sectors = range(first, len(change.data), SECTOR)
    pages = [at for at in sectors if (change.offset + at) % PAGE == 0]
    usual = [*sectors[:1], *pages[:1], *pages[-1:], *sectors[-1:]]
    for at in sorted({*usual[:count], *rng.sample(sectors, min(len(sectors), max(0, count - len(usual))))}):
        yield slice(None, at)
        yield slice(at, None)


def moments(disk: Disk, played: Iterable[Note]) -> Iterator[Disk]:
    """The disk, each time before a sync, at a mark and at the end. At any other moment nothing can be lost that cannot
    be lost at the next of these, when as much or more was seen."""
    for note in played:
        if note.kind in "SFM":
            yield disk
        disk.play(note)
    yield disk
