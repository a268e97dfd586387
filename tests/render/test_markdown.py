"""Markdown: a table that GitHub shows as one, with the promise, and names that stay names."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.render.headline import headline, headline_grouped
from quietrank.render.markdown import escaped, page_as_markdown
from quietrank.render.table import render_fit
from tests.render.made import NASTY, grouped, release, unsure


def _cells(line: str) -> list[str]:
    """The cells of a line as GitHub splits it: at bars that are not escaped."""
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def _tables(text: str) -> list[list[list[str]]]:
    return [[_cells(line) for line in block.splitlines()] for block in text.split("\n\n") if block.startswith("|")]


def test_a_release_in_markdown() -> None:
    """Headline, table, promise, notes and what made it, in that order."""
    one = release()
    parts = one.to_markdown().rstrip("\n").split("\n\n")
    assert parts[0] == f"**{headline(one)}**"
    (table,) = _tables(one.to_markdown())
    assert table[0] == ["rank", "item", "score", "90 % interval", "possible ranks", "tier", "P(first)", "P(top 3)"]
    assert table[1] == ["---:", ":---", *["---:"] * 6]
    assert table[2] == ["1", "London", "0.50", "0.20 to 0.80", "1", "1", r"\> 99 %", "75 %"]
    assert table[3][4] == "2 or 3"
    assert parts[2] == f"> {one.statement}"
    assert parts[3] == r"- It is assumed that \<nobody\> lied."
    assert parts[4] == f"Made with {one.made_with}: ε = 1 per person, laplace noise; ledger entry 7-abc."


def test_a_release_without_certainty() -> None:
    """Only what is known."""
    (table,) = _tables(unsure().to_markdown())
    assert table[0] == ["rank", "item", "net wins"]
    assert [row[2] for row in table[2:]] == ["0.5", "−0.5", "−1.5", "−2.5"]


def test_groups_in_markdown() -> None:
    """One sentence for all, a table for each, one promise."""
    one = grouped()
    text = one.to_markdown()
    assert text.startswith(f"**{headline_grouped(one)}**")
    assert len(_tables(text)) == 2
    assert text.count("\n> ") == 1


@pytest.mark.parametrize("one", [release(NASTY), unsure(NASTY), grouped(NASTY[:2], NASTY, NASTY[7])])
def test_names_stay_names(one: qr.Release | qr.GroupedRelease) -> None:
    """Every row has as many cells as the head, no sign is left that Markdown would take, nothing is invisible."""
    text = one.to_markdown()
    for table in _tables(text):
        assert len({len(row) for row in table}) == 1
        for row in table[2:]:
            assert not re.search(r"(?<!\\)[`*_<>\[\]|~&$]", row[1].replace("\\\\", ""))
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_escapes_can_be_undone() -> None:
    """A backslash before each sign: what is read is what was written."""
    for name in NASTY:
        assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped(name)) == name


def test_other_results_show_what_a_terminal_shows() -> None:
    """A fit says that it is not private, in Markdown as well."""
    table = pa.table({"winner": ["tea", "a|b"], "loser": ["a|b", "tea"]})
    text = page_as_markdown(render_fit(qr.fit(qr.read_votes(table, ["tea", "a|b"]), ridge=1.0)))
    assert "(not private)**" in text.splitlines()[0]
    (rows,) = _tables(text)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert r"a\|b" in text
