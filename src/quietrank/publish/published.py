"""What every published ranking can do besides `Tabular`: a page for readers, and Markdown with its promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from quietrank.promise.privacy import GroupOf, Neighbours, Privacy, Unit
from quietrank.publish.files import REPORT
from quietrank.publish.tabular import Tabular, write_if_named

if TYPE_CHECKING:
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Release


def of_groups(privacy: Privacy, by: str, group_of: GroupOf, what: str) -> str:
    """What a promise says besides where votes were split by group."""
    unit, spread = privacy.unit, privacy.unit is Unit.PERSON and group_of is GroupOf.VOTE
    secret = "a person's votes are in" if spread else f"a {unit} belongs to"
    public = "each vote is in" if spread else f"each {unit} belongs to"
    more = {
        Neighbours.REPLACE: f" Which {by} {secret} is protected as well.",
        Neighbours.ADD_REMOVE: "",
        Neighbours.OUTCOME: f" Which {by} {public} is treated as public.",
    }[privacy.neighbours]
    return f" This holds for the {what} of all groups together.{more}"


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
