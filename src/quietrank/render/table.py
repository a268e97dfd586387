"""A `Release` or a non-private fit in, a table for the terminal out."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from statistics import pstdev
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from quietrank.privacy import plain_number

if TYPE_CHECKING:
    from quietrank.nonprivate import NonPrivateFit
    from quietrank.release import Release

COLUMNS = {
    "rank": ("rank", "d"),
    "item": ("item", ""),
    "score": ("score", ".3f"),
    "standard_error": ("± standard error", ".3f"),
    "win_rate": ("win rate", ".3f"),
    "net_wins": ("net wins", ".1f"),
    "component": ("component", "d"),
}
"""heading and number format of each column"""
MOST_ROWS = 100


def render(release: Release) -> Group:
    """The ranking with the promise under it."""
    privacy = release.privacy
    strength = f"ε = {plain_number(privacy.epsilon)} per {privacy.unit}"
    title = f"{len(release.ranking)} items by {release.method}, {strength}"
    # Where the items are ranked by a figure that is shown anyway, the score would repeat it.
    hidden = {"score"} if all(row.score in (row.net_wins, row.win_rate) for row in release.ranking) else set()
    rows = [
        {name: value for name, value in vars(row).items() if name in COLUMNS and name not in hidden}
        for row in release.ranking
    ]
    notes = [Text(f"Note: {assumption}", style="dim") for assumption in release.assumptions]
    return Group(Text(title, style="bold"), *_table(rows), Text(privacy.statement), *_noise(release), *notes)


def _noise(release: Release) -> list[Text]:
    """How much noise the counts carry, and whether it drowns them; both from what is published anyway."""
    noise = dict(release.mechanism.figures).get("noise_sd")
    if not isinstance(noise, float):
        return []
    counts = [row.score if row.net_wins is None else row.net_wins for row in release.ranking]
    lines = [Text(f"Noise: each item's count is off by about ±{noise:.3g} votes (standard deviation), on purpose.")]
    if pstdev(counts) < 2 * noise:
        warning = "The noise is as large as the differences between items: this order may mean little. "
        lines.append(Text(warning + "More votes, a larger ε or a smaller limit per person would help.", style="bold"))
    return lines


def render_fit(fitted: NonPrivateFit) -> Group:
    """Exact scores with their standard errors."""
    title = f"{len(fitted.items)} items by exact Bradley–Terry scores, ridge {fitted.fitted.ridge:g} (not private)"
    parts = [Text(title, style="bold"), *_table(fitted.rows())]
    if not fitted.comparable:
        parts.append(Text("Some items never met, directly or through others: compare scores within a component only."))
    return Group(*parts)


def as_text(rendered: Group) -> str:
    """The same as plain text, as wide as the terminal."""
    stream = io.StringIO()
    width = min(shutil.get_terminal_size().columns, 100)
    Console(file=stream, width=width, color_system=None).print(rendered)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _table(rows: Sequence[dict[str, Any]]) -> list[Table | Text]:
    """The first rows, in the columns that they have."""
    table = Table(box=box.SIMPLE_HEAD)
    columns = [name for name in COLUMNS if rows[0].get(name) is not None]
    for name in columns:
        table.add_column(COLUMNS[name][0], justify="left" if name == "item" else "right", overflow="fold")
    for row in rows[:MOST_ROWS]:
        table.add_row(*(Text(format(row[name], COLUMNS[name][1])) for name in columns))
    left_out = len(rows) - MOST_ROWS
    return [table, *([Text(f"… and {left_out} more; --format csv shows all.", style="dim")] if left_out > 0 else [])]
