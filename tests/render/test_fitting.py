"""Tables fit: on a narrow terminal the last columns are left out, and a log file has room for all of them."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

import quietrank as qr
from quietrank.publish.grouped import GroupedRelease
from quietrank.render.screen import show
from quietrank.render.table import FIRST_OF_EACH, MOST_GROUPED_ROWS, render_grouped
from tests.render.made import grouped, release

NAMES = [f"model-{k:02}-with-a-name" for k in range(1, 31)]


def shown(result: qr.Release | GroupedRelease, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(result.page())
    return stream.getvalue().splitlines()


def overall_of(groups: int, names: list[str]) -> GroupedRelease:
    made = grouped([f"group-{k}" for k in range(groups)], names)
    return replace(made, overall=release(names))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_names_and_numbers_are_whole(width: int) -> None:
    """Every row is one line with its name, no line is too long, and what has no room is named."""
    lines = shown(overall_of(2, NAMES[:4]), width)
    for name in NAMES[:4]:
        rows = [line for line in lines if f"   {name}  " in line]
        assert len(rows) == 3
        assert all(" −" in row or " 0.50" in row for row in rows)
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    assert ("P(top 3)  " in "\n".join(lines)) != ("No room for:" in said)
    assert "No room for:" not in said or "P(top 3). A wider terminal or the CSV format shows all columns." in said


def test_all_columns_are_shown_where_there_is_room() -> None:
    lines = shown(overall_of(2, NAMES[:4]), 140)
    assert not [line for line in lines if "No room" in line]
    assert [line for line in lines if "P(first)   P(top 3)" in line]


def test_a_very_long_name_is_broken_after_forty_letters() -> None:
    """Otherwise nothing would be left but the name."""
    lines = shown(release(["x" * 300, "b", "c", "d"]), 80)
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if "1.20" in line or "0.50" in line]
    assert "x" * 40 in "".join(lines)


@pytest.mark.parametrize(("columns", "whole"), [(None, True), ("60", False)])
def test_a_log_file_has_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str | None, whole: bool
) -> None:
    """Unless COLUMNS says how wide it is; in Python the same."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    one = overall_of(2, ["a-name-that-is-forty-one-letters-long-xxx", *NAMES[1:4]])
    show(one.page())
    printed = capsys.readouterr().out
    assert ("P(top 3)" in printed.splitlines()[4] or "P(top 3)" in printed.splitlines()[3]) == whole
    assert ("No room for" in printed) != whole
    assert ("No room for" in str(one)) != whole


def test_overall_comes_first_and_every_group_is_there() -> None:
    """Of many rows, the first ten of each ranking, and it is said."""
    made = overall_of(5, NAMES)
    rows = [line.split() for line in shown(made, 140) if "   model-" in line]
    counted = {group: [row for row in rows if row[0] == group] for group in made.groups}
    assert next(iter(counted)) == rows[0][0] == "overall"
    assert {len(lines) for lines in counted.values()} == {FIRST_OF_EACH}
    assert "These are the first 10 of 30 items of each; the CSV format shows all." in "\n".join(shown(made, 140))
    assert made.to_csv().splitlines()[1].startswith("overall,1,")


def test_few_rows_are_all_shown() -> None:
    made = overall_of(2, NAMES)
    assert sum("   model-" in line for line in shown(made, 140)) == 90
    assert "CSV format" not in "\n".join(shown(made, 140))


def test_of_very_many_groups_the_first_are_shown() -> None:
    made = overall_of(60, NAMES)
    lines = shown(made, 140)
    assert sum("   model-" in line for line in lines) == MOST_GROUPED_ROWS
    said = "These are the first 10 of 30 items of each and the first 40 of 61 rankings; the CSV format shows all."
    assert said in " ".join(" ".join(lines).split())
    assert len(render_grouped(made).renderables) > 3
