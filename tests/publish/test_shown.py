"""Results in Python and in notebooks: rows to go through, data frames, one line, and HTML that escapes every name."""

from __future__ import annotations

import importlib
import re
import sys
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.publish.tabular import Tabular

NASTY = ["<script>alert(1)</script>", "a & b", '" onmouseover="x', "\x1b[2Jgone", "plain"]
PRIVACY = qr.Privacy(1, "comparison")


def votes(items: list[str], **options: Any) -> qr.Votes:
    """Each item wins against the next one; the groups are as nasty as the items."""
    table = pa.table({"winner": items[:-1], "loser": items[1:], "<b>land": [items[0]] * (len(items) - 1)})
    return qr.read_votes(table, items, **options)


@pytest.fixture(scope="module")
def release() -> qr.Release:
    return qr.rank(votes(NASTY), PRIVACY)


@pytest.fixture(scope="module")
def grouped() -> qr.GroupedRelease:
    return qr.rank_by_group(votes(NASTY, by="<b>land", groups=NASTY[:2]), PRIVACY)


@pytest.fixture(scope="module")
def results(release: qr.Release, grouped: qr.GroupedRelease) -> dict[str, Tabular]:
    plan = qr.plan(5, 100, 5, epsilon=[1, 2], repetitions=20, curves=False)
    return {"release": release, "grouped": grouped, "fit": qr.fit(votes(NASTY), ridge=1.0), "plan": plan}


KINDS = ["release", "grouped", "fit", "plan"]


def test_a_release_is_a_row_after_the_other(release: qr.Release) -> None:
    """As many as there are items, from the first to the last."""
    assert len(release) == 5
    assert [row.rank for row in release] == [1, 2, 3, 4, 5]
    assert tuple(release) == release.ranking
    assert len(release.top(2)) == 2


def test_groups_come_with_their_releases(grouped: qr.GroupedRelease) -> None:
    """In the order declared, as pairs, by name, and as a dict."""
    assert [group for group, _ in grouped] == NASTY[:2]
    assert all(grouped[group] is one for group, one in grouped)
    assert dict(grouped)[NASTY[1]] is grouped[NASTY[1]]
    assert NASTY[0] in grouped
    assert "plain" not in grouped
    assert len(grouped) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_data_frames_hold_the_rows(results: dict[str, Tabular], kind: str) -> None:
    """pandas and polars have the same columns and values as `rows`."""
    rows = results[kind].rows()
    assert results[kind].to_polars().to_dicts() == rows
    frame = results[kind].to_pandas()
    assert list(frame.columns) == list(rows[0])
    for name in ("item", "mechanism", "group"):
        assert name not in rows[0] or frame[name].tolist() == [row[name] for row in rows]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, release: qr.Release, library: str) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError):
        importlib.import_module(library)
    with pytest.raises(qr.QuietrankError, match=f"pip install {library}"):
        getattr(release, f"to_{library}")()


def test_the_representation_is_one_line(release: qr.Release, grouped: qr.GroupedRelease) -> None:
    """What it is, for whom and how strong; `print` shows the whole table."""
    survey = qr.rank(votes(["tea", "water"]), qr.Privacy(0.5, "comparison", delta=1e-6), mechanism="gaussian")
    pattern = r"<Release: (tea|water) first of 2 items; ε = 0\.5, δ = 1e-06 per comparison, gaussian>"
    assert re.fullmatch(pattern, repr(survey))
    assert repr(grouped) == "<GroupedRelease: 2 groups by <b>land, 5 items each; ε = 1 per comparison, laplace>"
    for one in (release, grouped):
        assert repr(one).isprintable()
        assert one.statement in " ".join(str(one).split())
        assert "win rate" in str(one)


class Page(HTMLParser):
    """The tags and the text of a piece of HTML; every tag that is opened must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text, self.open = "", list[str]()
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_the_table_and_runs_nothing(results: dict[str, Tabular], kind: str) -> None:
    """All that the terminal shows is there, and no name becomes a tag, an attribute or a control character."""
    html = results[kind]._repr_html_()
    page = Page(html)
    assert page.tags <= {"div", "p", "b", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style"}
    assert all(letter.isprintable() or letter == "\n" for letter in html)
    assert html.count("<tr>") == len(results[kind].rows()) + 1
    if kind != "plan":
        assert "&lt;script&gt;" in html
        assert NASTY[0] in page.text
    if isinstance(results[kind], qr.Release | qr.GroupedRelease):
        assert results[kind].statement in page.text  # type: ignore[attr-defined]
        assert "Note: " in page.text


def test_the_fit_says_that_it_is_not_private(results: dict[str, Tabular]) -> None:
    """In the terminal and in a notebook."""
    for shown in (repr(results["fit"]), results["fit"]._repr_html_()):
        assert "Not private: exact scores" in shown
