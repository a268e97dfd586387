"""A path and its content in; a file out, whole or not at all, and never in place of a file of another kind.

Every command checks its outputs before it starts to work: the folder, the ending, and what is there already. A file is
written under another name in the same folder, flushed to the disk, and then given its own name. Whatever interrupts
that, Ctrl-C included, leaves no half-written file behind.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

from quietrank.errors import ReleaseError, UsageError, option

HEAD = 4096
"""this many bytes are enough to recognise a file"""


@dataclass(frozen=True)
class Kind:
    """What can be written, under which endings, and how an earlier one is recognised."""

    name: str
    endings: tuple[str, ...]
    is_ours: Callable[[Path], bool]


def _json_of(formats: str) -> Callable[[Path], bool]:
    opening = re.compile(rf'\s*\{{\s*"format":\s*"quietrank/({formats})/'.encode())
    return lambda path: opening.match(_head(path)) is not None


def _is_release(path: Path) -> bool:
    if path.suffix == ".csv":
        return re.match(rb"(group,)?rank,item(,score|\r?\n)", _head(path)) is not None
    return _json_of("release|grouped-release|top")(path)


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(HEAD)


RELEASE = Kind("a release", (".json", ".csv"), _is_release)
TALLY = Kind("a noisy tally", (".json",), _json_of("noisy-tally|grouped-noisy-tally"))
PICTURE = Kind("a picture", (".png", ".svg", ".pdf"), lambda path: b"quietrank" in path.read_bytes())
"""pictures name their maker, see render/style.py"""
REPORT = Kind("a report", (".html",), lambda path: b'<meta name="generator" content="quietrank">' in _head(path))
FIT = Kind("a fit", (".json", ".csv"), _json_of("fit"))
PLAN = Kind("a plan", (".json", ".csv"), _json_of("plan|top-plan|board-plan"))
AUDIT = Kind("an audit", (".json", ".csv"), _json_of("audit"))
VERIFICATION = Kind("a verification", (".json", ".csv"), _json_of("verification"))
EVIDENCE = Kind("evidence", (".json",), _json_of("evidence"))
REGISTER = Kind("a draft for the registry", (".yaml",), lambda path: _head(path).startswith(b"# quietrank evidence"))
MEANS = Kind("a table of means", (".csv",), lambda path: _head(path).startswith(b"experiment,method,metric,"))
VOTES = Kind("votes", (".csv", ".csv.gz", ".parquet"), lambda path: False)
"""synthetic votes look like real ones, so they replace no file"""


def check_output(
    path: Path | None, kind: Kind, name: str = "out", *, overwrite: bool = False, reads: Sequence[Path | None] = ()
) -> None:
    """Refuse, before any work, what cannot be written or would replace what must not be replaced.

    `name` is the option the path was given by; `reads` are the files that the command reads.
    """
    if path is None:
        return
    if not path.name.lower().endswith(kind.endings):
        raise UsageError(f"{option(name)} writes {kind.name}: name it {_any_of(kind.endings)}, not {path.name!r}")
    if not path.parent.is_dir():
        raise ReleaseError(f"there is no folder {path.parent}; make it, or choose another place for {path.name}")
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder; give the name of a file in it")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ReleaseError(f"nothing can be written in {path.parent}; choose another place for {path.name}")
    for read in reads:
        if read is not None and read.exists() and path.exists() and path.samefile(read):
            raise ReleaseError(f"{option(name)} would overwrite {read}, which this command reads; choose another name")
    _check_replaceable(path, kind, overwrite)


def _check_replaceable(path: Path, kind: Kind, overwrite: bool) -> None:
    if not os.path.lexists(path):
        return
    if not (path.is_file() and _is_ours(path, kind)):
        raise ReleaseError(
            f"{path} exists, is not {kind.name} by quietrank and is not replaced; move it, or choose another name"
        )
    if not overwrite:
        raise ReleaseError(
            f"{path} exists already and is not replaced; choose another name, or use {option('overwrite', True)}"
        )


def _is_ours(path: Path, kind: Kind) -> bool:
    try:
        return kind.is_ours(path)
    except OSError:
        return False


def check_apart(**paths: Path | None) -> None:
    """Refuse one file for two purposes; the names are those of the options."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        if (other := seen.setdefault(path.resolve(), name)) != name:
            raise UsageError(f"{option(other)} and {option(name)} are both {path}; give each its own file")


@contextmanager
def reserved(*paths: Path | None) -> Iterator[None]:
    """Refuse files that another run is about to write; look again, once they are reserved, whether they exist.

    The system's lock goes with the process, however that ends: what a crash leaves is an empty file that stops nobody.
    """
    with ExitStack() as stack:
        for path in paths:
            if path is not None:
                stack.enter_context(_alone(path))
        yield


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    name = hashlib.sha256(path.name.casefold().encode(errors="surrogateescape")).hexdigest()[:12]
    place = path.with_name(f".quietrank-{name}.lock")
    try:
        lock = place.open("ab")
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {error.strerror or error}; choose another place") from None
    with lock:
        if not _locked(lock, place):
            raise ReleaseError(f"another run is about to write {path}; wait for it, or choose another name")
        try:
            yield
        finally:
            if sys.platform != "win32":  # still locked: whoever has opened it meanwhile sees that it has no name
                place.unlink(missing_ok=True)
    if sys.platform == "win32":  # no open file can be removed there
        with suppress(OSError):
            place.unlink()


def _locked(lock: BinaryIO, place: Path) -> bool:
    """Whether this process has it, rather than another; where the file system has no locks, nobody can tell."""
    if sys.platform == "win32":
        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return place.exists() and os.path.samestat(os.fstat(lock.fileno()), place.stat())


def write_text(path: Path, text: str, kind: Kind, *, overwrite: bool = True) -> None:
    """Write text as UTF-8, whole or not at all."""
    with written_whole(path, kind, overwrite=overwrite) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


@contextmanager
def written_whole(path: Path, kind: Kind, *, overwrite: bool = True) -> Iterator[Path]:
    """A temporary name with the path's ending to write under; in the end that file gets the path's own name."""
    if not path.name:
        raise ReleaseError(f"{path} is a folder; give the name of a file in it")
    ending = next((end for end in kind.endings if path.name.lower().endswith(end)), path.suffix)
    draft = path.with_name(f".quietrank-{uuid.uuid4().hex[:12]}{ending}")
    try:
        yield draft
        _check_replaceable(path, kind, overwrite)
        _publish(draft, path, overwrite)
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {error.strerror or error}; choose another place") from None
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path, overwrite: bool) -> None:
    """Flush the draft to the disk and give it its name; without `overwrite` no file is replaced, even a new one."""
    sync(draft)
    if overwrite:
        draft.replace(path)
    else:
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):  # a file system without links, each of which says so in its own way
            draft.rename(path)
    if os.name == "posix":
        sync(path.parent)


def sync(place: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _any_of(endings: Sequence[str]) -> str:
    return endings[0] if len(endings) == 1 else f"{', '.join(endings[:-1])} or {endings[-1]}"
