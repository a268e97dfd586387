"""A release file in, a `Subject` out: what was published, as it stands in the file and as quietrank reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietrank.boards import log as board_log
from quietrank.errors import ReleaseError
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import GroupOf, Privacy
from quietrank.publish import grouped, release, top
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.tabular import parsed
from quietrank.publish.top import TopRelease
from quietrank.render.report import is_of_a_board

Result = Release | GroupedRelease | TopRelease

KINDS: dict[str, tuple[str, type[Release] | type[GroupedRelease] | type[TopRelease]]] = {
    release.FORMAT: ("ranking", Release),
    grouped.FORMAT: ("rankings of groups", GroupedRelease),
    top.FORMAT: ("list of the first items", TopRelease),
}
"""what can be judged, by the format that its file names"""


@dataclass(frozen=True, eq=False)
class Subject:
    """A release that is to be judged."""

    path: Path
    sha256: str
    """of the file, byte by byte"""
    values: Mapping[str, Any]
    """as they stand in the file"""
    result: Result

    @property
    def format(self) -> str:
        return str(self.values["format"])

    @property
    def kind(self) -> str:
        """What it is, in words."""
        name, _ = KINDS[self.format]
        return f"{name}, of a board" if self.is_of_a_board else name

    @property
    def one(self) -> Release | TopRelease:
        """The release, or that of the first group: all groups have one promise and one kind of noise."""
        return self.result.releases[0][1] if isinstance(self.result, GroupedRelease) else self.result

    @property
    def releases(self) -> tuple[tuple[str, Release], ...]:
        """Every ranking with the name of its group, which is empty where there are no groups; none of a list."""
        if isinstance(self.result, GroupedRelease):
            return self.result.boards
        return (("", self.result),) if isinstance(self.result, Release) else ()

    @property
    def privacy(self) -> Privacy:
        return self.result.privacy

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The names of the groups, if votes were split."""
        if isinstance(self.result, GroupedRelease):
            return tuple(group for group, _ in self.result.releases)
        return self.result.groups if isinstance(self.result, TopRelease) and self.result.by is not None else None

    @property
    def group_of(self) -> GroupOf:
        return GroupOf.VOTE if isinstance(self.result, Release) else self.result.group_of

    @property
    def is_of_a_board(self) -> bool:
        return is_of_a_board(self.one)


def read_subject(path: str | Path) -> Subject:
    """The release in this file; refused if it is no release, or its parts do not fit together."""
    place = file_path(path)
    try:
        content = place.read_bytes()
    except OSError as error:
        raise ReleaseError(f"cannot read {path}: {error.strerror}; check the path") from None
    try:
        values = parsed(content.decode("utf-8"), str(path), refusal=_not_json(path, content))
    except UnicodeDecodeError:
        raise ReleaseError(_not_json(path, content)) from None
    kind = values.get("format") if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ReleaseError(
            f"{path} holds no release; give a file that {_commands()} --out FILE.json wrote"
            + (", and a noisy tally as --tally" if isinstance(kind, str) and "noisy-tally" in kind else "")
        )
    return Subject(place, hashlib.sha256(content).hexdigest(), values, KINDS[kind][1].from_dict(values))


def _commands() -> str:
    return "quietrank rank, rerank or board show"


def _not_json(path: str | Path, content: bytes) -> str:
    if board_log.FORMAT.encode() in content[:4096]:
        return (
            f"{path} is the public file of a board; write the release of a day with quietrank board show {path} --out "
            "FILE.json and give that; quietrank board verify checks the board itself"
        )
    return f"{path} is not JSON; give a file that {_commands()} --out FILE.json wrote"
