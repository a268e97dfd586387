"""A `Release` in, the columns of its table out: what a report and Markdown show, as text and as what to sort by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quietrank.publish.view import Scale
from quietrank.render.headline import percent
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from quietrank.publish.release import Certainty, Release, Row

SCALES = {
    Scale.LOG_ODDS: ("score", ".2f"),
    Scale.ELO: ("Elo score", ".0f"),
    Scale.PROBABILITY: ("chance to win", ".3f"),
}
COUNTS = {"net-wins": ("net wins", ".1f"), "wins": ("wins", ".1f"), "win-rate": ("win rate", ".3f")}
"""heading and number format of the score"""
TIER = "tier"
"""a heading; on a terminal rules between tiers take the place of this column"""
PER_TIME_SHOWN = "net wins per time shown"
"""what a win rate is in best–worst sets, moved so that it lies between 0 (always worst) and 1 (always best)"""


@dataclass(frozen=True)
class Column:
    """A heading, and what each row has under it."""

    heading: str
    text: Callable[[Row], str]
    value: Callable[[Row], Any]
    """what rows are sorted by"""
    is_text: bool = False


def columns(release: Release) -> list[Column]:
    """The columns that this release has, from the rank to the chance of being among the first."""
    heading, form = score_of(release)
    shown = [
        Column("rank", lambda row: str(row.rank), lambda row: row.rank),
        Column("item", lambda row: visible(row.item), lambda row: visible(row.item), is_text=True),
        Column(heading, lambda row: number(row.score, form), lambda row: row.score),
    ]
    return shown if release.certainty is None else [*shown, *_certain_columns(release.certainty, form)]


def score_of(release: Release) -> tuple[str, str]:
    """What the score is called, and its number format."""
    if release.method == "win-rate" and release.set_size > 2:
        return PER_TIME_SHOWN, ".3f"
    return SCALES[release.scale] if release.method == "bradley-terry" else COUNTS.get(release.method, ("score", ".3f"))


def _certain_columns(certainty: Certainty, form: str) -> list[Column]:
    level = percent(certainty.level)
    return [
        Column(f"{level} interval", lambda row: interval(row, form), lambda row: row.score_low),
        Column("possible ranks", _ranks, lambda row: row.rank_low),
        Column(TIER, lambda row: "" if row.tier is None else str(row.tier), lambda row: row.tier),
        Column("P(first)", lambda row: chance(row.probability_first), lambda row: row.probability_first),
        Column(
            f"P(top {certainty.top})", lambda row: chance(row.probability_top), lambda row: row.probability_top
        ),
    ]  # fmt: skip


def number(value: float | None, form: str) -> str:
    """A number with a true minus sign; never −0.00."""
    if value is None:
        return ""
    text = format(value, form)
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def interval(row: Row, form: str) -> str:
    """From where to where."""
    if row.score_low is None or row.score_high is None:
        return ""
    return f"{number(row.score_low, form)} to {number(row.score_high, form)}"


def _ranks(row: Row) -> str:
    return "" if row.rank_low is None or row.rank_high is None else possible_ranks(row.rank_low, row.rank_high)


def possible_ranks(low: int, high: int) -> str:
    """3, 3 or 4, 3 to 5."""
    return str(low) if low == high else f"{low} {'or' if high == low + 1 else 'to'} {high}"


def chance(probability: float | None) -> str:
    """In whole per cent; computed from draws, so never quite 0 or 100."""
    if probability is None:
        return ""
    if probability < 0.01:
        return "< 1 %"
    return "> 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"
