"""`quietrank demo`: a ranking of the bundled survey goes to stdout, its report and its figure to a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from quietrank.cli.deliver import Files, deliver
from quietrank.cli.options import Format, Printed, command_line, promise, result
from quietrank.errors import ReleaseError
from quietrank.render.screen import busy, tell

if TYPE_CHECKING:
    from quietrank.publish.release import Release

NAME = "quietrank-demo"


def demo(
    epsilon: Annotated[float, promise("Strength of the promise; smaller is stronger.", "E")] = 1.0,
    folder: Annotated[Path, result(f"Where {NAME}.html and {NAME}.png are written.", "DIR")] = Path(),
    format: Printed = Format.TABLE,
) -> None:
    """Rank six universities from a bundled survey of 303 students, protecting every student."""
    from quietrank import pipeline
    from quietrank.demo import demo_privacy, demo_votes

    with command_line():
        privacy = demo_privacy(epsilon)
    with busy("ranking …"):
        release = pipeline.rank(demo_votes(), privacy, method="bradley-terry")
    if refusal := _refusal(folder):
        deliver(release, format, None, Files(overwrite=True, failures=[refusal]))  # prints, then raises it
    else:
        _deliver(release, format, folder)


def _refusal(folder: Path) -> ReleaseError | None:
    """Why nothing can be written there."""
    if not folder.is_dir():
        return ReleaseError(f"there is no folder {folder}; make it, or choose another with --folder DIR")
    if not os.access(folder, os.W_OK | os.X_OK):
        return ReleaseError(f"nothing can be written in {folder}; choose another folder with --folder DIR")
    return None


def _deliver(release: Release, format: Format, folder: Path) -> None:
    page, figure, files = folder / f"{NAME}.html", folder / f"{NAME}.png", Files(overwrite=True)
    try:
        deliver(release, format, None, files, pictures={figure: release.plot}, report=page)
    finally:  # one of the two may have failed
        if page in files.paths:
            tell(f"Report: {page} (open it in a browser)")
        if figure in files.pictures:
            tell(f"Figure: {figure}")
