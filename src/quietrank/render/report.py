"""A release in, one HTML page out: the answer, the figure, the table, and what a reader has to know about them.

The page needs nothing but itself: no network, no script but its own few lines, and a policy that lets a browser run
nothing else. All of it comes from the release, and every text from there is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from quietrank.errors import ReleaseError
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import plain_number
from quietrank.publish.grouped import GroupedRelease
from quietrank.render import citation, top
from quietrank.render.cells import PER_TIME_SHOWN, Column, columns
from quietrank.render.headline import headline, headline_grouped
from quietrank.render.meaning import meaning, notes_of, promise_notes, proof, symbols, unprotected
from quietrank.render.page_figure import Axis, caption, description, forest
from quietrank.render.parts import data, definitions, file, listed, paragraphs, policy, text
from quietrank.render.table import noise_notes as noise_sentences

if TYPE_CHECKING:
    from quietrank.publish.release import Release, Row
    from quietrank.publish.top import TopRelease

PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}

METHODS = {
    "net-wins": "net wins",
    "wins": "wins",
    "win-rate": "win rate",
    "bradley-terry": "Bradley–Terry scores",
}


def report(
    result: Release | GroupedRelease,
    *,
    figure: str | Path | None = None,
    remaining: str | None = None,
    history: tuple[str, str, str] | None = None,
) -> str:
    """The whole page; `figure` takes the place of its own pictures, `remaining` is what is left of the budget, and
    `history` what a board was before: a heading, a description, and an SVG picture."""
    grouped = isinstance(result, GroupedRelease)
    release = result.releases[0][1] if isinstance(result, GroupedRelease) else result
    return _page(
        result, release, notes_of(result) if isinstance(result, GroupedRelease) else release.assumptions, remaining,
        title=_title(result), kicker=_kicker(result),
        headline=headline_grouped(result) if isinstance(result, GroupedRelease) else headline(result),
        warning="" if grouped else _warning(release),
        results=_results(result, figure) + ("" if history is None else _history(*history)),
        meaning=listed(meaning(release)), noise=noise_notes(release)[:1],
    )  # fmt: skip


def report_top(release: TopRelease, remaining: str | None = None) -> str:
    """The page of a list of the first few items."""
    kicker = f"The first {release.k} of {release.items} items · ε = {plain_number(release.privacy.epsilon)}"
    return _page(
        release, release, release.assumptions, remaining, title=f"Private list: {top.headline(release)}",
        kicker=f"{kicker} per {release.privacy.unit}", headline=top.headline(release), warning="",
        results="\n".join(_top_list(release, group, names) for group, names in release.lists),
        meaning=listed(top.MEANING) + _chances(release), noise=[top.selected(release)],
    )  # fmt: skip


def summary(result: Release | GroupedRelease) -> str:
    """The answer, the promise, the figure, the table and the notes, for a page that has a head and a style already."""
    if isinstance(result, GroupedRelease):
        return _summary(result, _kicker(result), headline_grouped(result), _results(result, None), notes_of(result))
    results = _warning(result) + _results(result, None)
    return _summary(result, _kicker(result), headline(result), results, result.assumptions)


def summary_top(release: TopRelease) -> str:
    """The same of a list of the first few items."""
    lists = "\n".join(_top_list(release, group, names) for group, names in release.lists)
    results = f"{lists}\n{_chances(release)}"
    return _summary(release, f"The first {release.k} items", top.headline(release), results, release.assumptions)


def _summary(
    result: Release | GroupedRelease | TopRelease, kicker: str, headline: str, results: str, notes: Sequence[str]
) -> str:
    return (
        f'<p class="kicker">{text(kicker)}</p>\n<h2 class="answer">{text(headline)}</h2>\n'
        f"<p>{text(result.statement)}</p>\n{results}\n<section>\n<h2>What was assumed</h2>\n{listed(notes)}\n</section>"
    )


def _page(
    result: Release | GroupedRelease | TopRelease, release: Release | TopRelease, notes: Sequence[str],
    remaining: str | None, *, title: str, kicker: str, headline: str, warning: str, results: str, meaning: str,
    noise: Sequence[str],
) -> str:  # fmt: skip
    """What all pages have in common; `release` is the result, or one of its groups. Titles and `noise` are text, the
    other parts HTML."""
    style, script, privacy = file("report.css"), file("report.js"), release.privacy
    return Template(file("report.html")).substitute(
        policy=policy(style, script), style=style, script=script, title=text(title), kicker=text(kicker),
        headline=text(headline), warning=warning, results=results, meaning=meaning,
        statement=text(result.statement), noise=paragraphs(noise),
        symbol_notes=paragraphs(promise_notes(privacy)), symbols=definitions(symbols(release)),
        unprotected=listed(
            unprotected(privacy, grouped=has_groups(result), where=release.where, board=is_of_a_board(release))
        ),
        assumed=listed(notes) if notes else "<p>Nothing beyond what is said above.</p>",
        spent=paragraphs(_spent(result, remaining)), made_with=text(release.made_with),
        cited=text(citation.in_words(release.made_with)),
        bibtex="\n".join(map(text, citation.bibtex(release.made_with).splitlines())),
        checkable=listed(_checkable(release)), unchecked=listed(unchecked(release)),
        json=data("application/json", result.to_json()), csv=data("text/csv", result.to_csv()),
    )  # fmt: skip


def _chances(release: TopRelease) -> str:
    """The table of simulated chances, if there is one."""
    if not release.chances:
        return ""
    heads = "".join(f'<th scope="col">{text(head)}</th>' for head in top.HEADINGS)
    rows = "\n".join(
        f'<tr><th scope="row" class="text">{text(first)}</th>{"".join(f"<td>{text(one)}</td>" for one in cells)}</tr>'
        for first, *cells in top.chances(release)
    )
    return (
        f"\n<p>{text(top.simulated(release))}</p>\n"
        f'<div class="scroll" role="region" tabindex="0" aria-label="Simulated chances">\n<table>\n'
        f"<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _top_list(release: TopRelease, group: str, names: Sequence[str]) -> str:
    heading = "The list" if release.by is None else f"{release.by}: {group}"
    rows = "\n".join(f"<li><bdi>{text(name)}</bdi></li>" for name in names)
    return f"<section>\n<h2>{text(heading)}</h2>\n<ol>\n{rows}\n</ol>\n</section>"


# ---- head ------------------------------------------------------------------------------------------------------------


def _title(result: Release | GroupedRelease) -> str:
    if isinstance(result, GroupedRelease):
        return f"Private rankings by {result.by}"
    return f"Private ranking: {headline(result)}"


def _kicker(result: Release | GroupedRelease) -> str:
    """What this is, in a line."""
    if isinstance(result, GroupedRelease):
        release = result.releases[0][1]
        total = "" if result.overall is None else ", and overall"
        what = f"Private rankings of {len(release)} items in {len(result.releases)} groups by {result.by}{total}"
    else:
        release, what = result, f"Private ranking of {len(result)} items"
    epsilon, by = plain_number(release.privacy.epsilon), METHODS.get(release.method, release.method)
    if release.set_size > 2:
        by = {"win-rate": PER_TIME_SHOWN, "bradley-terry": "scores of best–worst sets"}.get(release.method, by)
    return f"{what}, by {by} · ε = {epsilon} per {release.privacy.unit}"


# ---- results ---------------------------------------------------------------------------------------------------------


def _results(result: Release | GroupedRelease, picture: str | Path | None) -> str:
    """Figure and table, of each group if there are several."""
    if not isinstance(result, GroupedRelease):
        own = _own_picture(picture, result) if picture is not None else _picture(result, Axis.of([result]))
        return f"<section>\n<h2>The ranking</h2>\n{own}\n{_table(result)}\n{_ties(result)}</section>"
    releases = [release for _, release in result]
    axis = None if picture is not None else Axis.of(releases)
    sections = [_group(result, k, axis) for k in range(len(result))]
    if picture is not None:
        sections.insert(0, f"<section>\n<h2>The rankings</h2>\n{_own_picture(picture, releases[0])}\n</section>")
    return "\n".join(sections)


def _group(grouped: GroupedRelease, place: int, axis: Axis | None) -> str:
    group, release = grouped.boards[place]
    name = "Overall: all groups together" if release is grouped.overall else f"{grouped.by}: {group}"
    picture = "" if axis is None else _picture(release, axis, str(place))
    return (
        f"<section>\n<h2>{text(name)}</h2>\n<p>{text(headline(release))}</p>\n{_warning(release)}\n{picture}\n"
        f"{_table(release, str(place), f' in {group}')}\n{_ties(release)}</section>"
    )


def _ties(release: Release) -> str:
    """The chance of a tie, where ties have a model."""
    return "" if release.ties is None else f"<p>{text(release.ties.sentence)}</p>\n"


def _picture(release: Release, axis: Axis, key: str = "") -> str:
    return f"<figure>\n{forest(release, axis, key)}\n<figcaption>{text(caption(release, axis))}</figcaption>\n</figure>"


def _own_picture(path: str | Path, release: Release) -> str:
    """A picture from a file, inside the page."""
    place = file_path(path)
    if place.suffix.lower() not in PICTURES:
        raise ReleaseError(f"the figure must be an .svg or .png file; got {str(path)!r}")
    try:
        content = base64.b64encode(place.read_bytes()).decode()
    except OSError as error:
        raise ReleaseError(f"cannot read {path}: {error.strerror}; check the path") from None
    source = f"data:{PICTURES[place.suffix.lower()]};base64,{content}"
    return f'<figure>\n<img alt="{text(description(release))}" src="{source}">\n</figure>'


def _history(heading: str, said: str, picture: str) -> str:
    source = data("image/svg+xml", picture)
    return (
        f"\n<section>\n<h2>{text(heading)}</h2>\n<figure>\n"
        f'<img alt="{text(said)}" src="{source}">\n<figcaption>{text(said)}</figcaption>\n</figure>\n</section>'
    )


def _table(release: Release, key: str = "", where: str = "") -> str:
    """All rows, in a box of its own that scrolls where the page is narrow."""
    shown, title = columns(release), f"Numbers for {len(release)} items{where}"
    heads = "".join(_head(column, first=k == 0) for k, column in enumerate(shown))
    rows = "\n".join(_row(row, shown) for row in release.ranking)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="table{key}">\n<table class="sortable">\n'
        f'<caption id="table{key}">{text(title)}</caption>\n<thead>\n<tr>{heads}</tr>\n</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _head(column: Column, *, first: bool) -> str:
    kind = ' class="text" data-kind="text"' if column.is_text else ""
    order = ' aria-sort="ascending"' if first else ""
    return f'<th scope="col"{kind}{order}>{text(column.heading).replace("(top ", "(top&nbsp;")}</th>'


def _row(row: Row, shown: Sequence[Column]) -> str:
    return f"<tr>{''.join(_cell(row, column) for column in shown)}</tr>"


def _cell(row: Row, column: Column) -> str:
    value = f'data-value="{text(str(column.value(row)))}"'
    if column.is_text:
        return f'<th scope="row" class="text" {value}><bdi>{text(column.text(row))}</bdi></th>'
    return f"<td {value}>{text(column.text(row))}</td>"


def _warning(release: Release) -> str:
    """That noise may have made the order, where there are no rank sets to tell."""
    sentences = noise_notes(release)[1:] if release.certainty is None else []
    return "".join(f'<p class="warning">{text(sentence)}</p>' for sentence in sentences)


def noise_notes(release: Release) -> list[str]:
    """How much noise there is, and a warning where it drowns the differences."""
    return [sentence.plain for sentence in noise_sentences(release)]


# ---- small print -----------------------------------------------------------------------------------------------------


def _spent(result: Release | GroupedRelease | TopRelease, remaining: str | None) -> list[str]:
    """The price, who recorded it, and what is left if that is to be known."""
    privacy, groups = result.privacy, " for all groups together" if has_groups(result) else ""
    price = f"ε = {plain_number(privacy.epsilon)}, δ = {plain_number(privacy.delta)}{groups}."
    entry = (
        f"It was paid from a ledger, entry {result.ledger_entry}."
        if result.ledger_entry
        else "No ledger is named. Every other release from the same votes adds to what was spent."
    )
    return [price, entry, *([] if remaining is None else [f"What remains: {remaining}"])]


def is_of_a_board(release: Release | TopRelease) -> bool:
    return "board" in dict(release.mechanism.figures)


def has_groups(result: Release | GroupedRelease | TopRelease) -> bool:
    return getattr(result, "by", None) is not None


def _checkable(release: Release | TopRelease) -> list[str]:
    """What a reader can check with this page alone, and the source of quietrank."""
    checks = [
        "The JSON in this page is the whole release. Release.from_json of quietrank (GroupedRelease.from_json for "
        "groups, TopRelease.from_json for a list of names) reads it, and refuses a ranking that does not follow from "
        "its scores.",
        f"The sensitivity and the scale of the noise follow from the promise: {proof(release)} in the source of "
        "quietrank derives them, and quietrank audit tries to break each mechanism.",
    ]
    if release.ledger_entry:
        checks.append(
            f"Whoever keeps the ledger can show that entry {release.ledger_entry} is in it; quietrank ledger verify "
            "checks its history."
        )
    return checks


def unchecked(release: Release | TopRelease) -> list[str]:
    """What a reader has to take on trust."""
    paid = release.ledger_entry is not None
    other = (
        "That the ledger holds all releases from these votes, and that the entry named here paid for this one: an "
        "entry says what was promised, not what came out, so a release that was never paid for can name one."
        if paid
        else "That no other release was made of them, and that this one was paid for."
    )
    return [
        "That the votes are real, and who cast them; and that the version of quietrank which is named here made this.",
        "That the noise was drawn as described, once, and that nobody chose among several runs.",
        other,
    ]
