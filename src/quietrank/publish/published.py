"""What every published ranking can do besides `Tabular`: a page for readers, and Markdown with its promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from quietrank.publish.files import REPORT
from quietrank.publish.tabular import Tabular, write_if_named

if TYPE_CHECKING:
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Release


class Published(Tabular):
    """A release: one ranking, or one for each group."""

    def report(
        self,
        path: str | Path | None = None,
        *,
        figure: str | Path | None = None,
        remaining: str | None = None,
        overwrite: bool = False,
    ) -> str:
        """One self-contained HTML page for readers; also written to `path`, whole or not at all.

        path       where to write it, such as report.html
        figure     a picture of your own, .svg or .png, in place of the page's
        remaining  what is left of the budget, in your words, if readers are to know
        overwrite  True: in place of an earlier report; never of a file of another kind
        """
        from quietrank.render.report import report

        return write_if_named(
            report(self._release(), figure=figure, remaining=remaining), path, REPORT, overwrite=overwrite
        )

    def to_markdown(self) -> str:
        """The ranking, its promise and its notes as Markdown, for a README or an issue."""
        from quietrank.render.markdown import as_markdown

        return as_markdown(self._release())

    def _release(self) -> Release | GroupedRelease:
        return cast("Release | GroupedRelease", self)
