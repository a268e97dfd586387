"""A result in; its files out first, then the screen: nothing that was paid for is lost."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from quietrank.cli.options import Format
from quietrank.errors import QuietrankError, ReleaseError, UsageError
from quietrank.publish.files import PICTURE, RELEASE, REPORT, TALLY, Kind, check_apart, check_output, write_text
from quietrank.render.screen import show, show_data, silence_stdout, tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quietrank.publish.published import Published

NOT_SHOWN = 3
"""the exit code when a release was made and saved, but could not be shown"""


def check_releases(
    out: Path | None,
    save_tally: Path | None = None,
    report: Path | None = None,
    *,
    overwrite: bool,
    reads: Sequence[Path | None],
) -> None:
    """Refuse before any noise is drawn rather than after."""
    check_output(out, RELEASE, overwrite=overwrite, reads=reads)
    check_output(save_tally, TALLY, "save_tally", overwrite=overwrite, reads=reads)
    check_output(report, REPORT, "report", overwrite=overwrite, reads=reads)
    check_apart(out=out, save_tally=save_tally, report=report)


def check_pictures(theme: str, *, overwrite: bool, reads: Sequence[Path | None], **paths: Path | None) -> None:
    """The same for figures; the names are those of the options."""
    from quietrank.promise.arguments import parse
    from quietrank.render.forest import Theme

    for name, path in paths.items():
        check_output(path, PICTURE, name, overwrite=overwrite, reads=reads)
    check_apart(**paths)
    if parse(Theme, "plot_theme", theme) is not Theme.LIGHT and not any(paths.values()):
        raise UsageError(f"--plot-theme {theme} is for a figure; add --plot FILE, or leave it out")


@dataclass(frozen=True)
class Files:
    """The files of a run: those that were written, and why others could not be."""

    overwrite: bool
    paths: list[Path] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    """apart, because they hold no release that could be read again"""
    failures: list[QuietrankError] = field(default_factory=list)

    def write(self, path: Path | None, text: str, kind: Kind) -> None:
        """Write the text if there is a path; a failure is reported later, when the rest is safe."""
        if path is None:
            return
        try:
            write_text(path, text, kind, overwrite=self.overwrite)
            self.paths.append(path)
        except ReleaseError as error:
            self.failures.append(error)

    def draw(self, path: Path, figure: Callable[[], Figure]) -> None:
        """Draw a figure and write it; a failure is reported later as well."""
        from quietrank.render.plot import write

        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                write(figure(), path, overwrite=self.overwrite)
            self.pictures.append(path)
        except QuietrankError as error:
            self.failures.append(error)
        for warning in heard:
            tell(f"{path}: {warning.message}")


Pictures = Mapping[Path, Callable[[], "Figure"]]
"""figures to write, each made when it is its turn"""


def deliver(
    release: Published,
    format: Format,
    out: Path | None,
    files: Files,
    *,
    pictures: Pictures = MappingProxyType({}),
    report: Path | None = None,
    remaining: str | None = None,
    paid: bool = False,
) -> None:
    """Files first, then the screen; if either fails, a release that was paid for is in the other, or in a new file.

    `remaining` is what the report says about the rest of the budget.
    """
    as_csv = out is not None and out.suffix.lower() == ".csv"
    files.write(out, release.to_csv() if as_csv else release.to_json(), RELEASE)
    try:
        for path, figure in pictures.items():
            files.draw(path, figure)
        if report is not None:
            files.write(report, release.report(remaining=remaining), REPORT)
    finally:  # whatever happens to a figure or a report, the release is shown
        _show(release, format, files, paid=paid)
    if files.failures:
        raise files.failures[0]


def _show(release: Published, format: Format, files: Files, *, paid: bool) -> None:
    try:
        print_release(release, format)
    except (OSError, ValueError) as error:
        _not_shown(error, (files.paths[-1] if files.paths else _rescue(release)) if paid else None)


def _rescue(release: Published) -> Path | None:
    """A new file for a release that could not be shown and has no file yet."""
    name = f"quietrank-release-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.json"
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        with contextlib.suppress(ReleaseError):
            write_text(folder / name, release.to_json(), RELEASE, overwrite=False)
            return folder / name
    return None


def _not_shown(error: Exception, place: Path | None) -> NoReturn:
    """Say where to find a release that could not be printed; a pipe that its reader closed is not a failure."""
    silence_stdout()
    if place is not None:
        complain(QuietrankError(f"the release was paid for but could not be printed; it is in {place}"))
    elif not isinstance(error, BrokenPipeError):
        raise QuietrankError(f"cannot write to standard output ({error}); redirect it, or use --out")
    raise typer.Exit(0 if isinstance(error, BrokenPipeError) else NOT_SHOWN)


def print_release(release: Published, format: Format) -> None:
    print_result(release, lambda one: one.page(), format)


def print_result(result: Any, render: Callable[[Any], Any], format: Format, piped_width: int | None = None) -> None:
    """Print any `Tabular` result: as a table for people, or as it would be written to a file."""
    if format is Format.TABLE:
        show(render(result), piped_width)
    elif format is Format.MARKDOWN:
        show_data(_markdown(result, render))
    else:
        show_data(result.to_json() if format is Format.JSON else result.to_csv())


def _markdown(result: Any, render: Callable[[Any], Any]) -> str:
    """A release with its headline; of anything else, what the terminal would show."""
    from quietrank.publish.published import Published
    from quietrank.render.markdown import page_as_markdown

    return result.to_markdown() if isinstance(result, Published) else page_as_markdown(render(result))


def complain(error: QuietrankError) -> None:
    """One line on standard error, which names options as on the command line."""
    tell(f"quietrank: {error.in_options()}")
