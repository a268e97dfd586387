"""The page for readers: all that must be said is there, nothing gets out of its place, and everybody can read it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

import quietrank as qr
from quietrank.demo import demo_privacy, demo_votes
from quietrank.errors import ReleaseError
from quietrank.promise.privacy import Privacy
from quietrank.publish.view import Scale
from quietrank.render.headline import headline, headline_grouped
from quietrank.render.meaning import meaning, symbols, unprotected
from quietrank.render.page_figure import MOST_ITEMS, Axis, forest
from tests.render.made import CITIES, NASTY, grouped, release, unsure

VOID = {"meta", "link", "img", "line", "circle", "br"}


@dataclass
class Page(HTMLParser):
    """What a browser makes of a page: tags with their attributes, and the text of each."""

    html: str
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(self.html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.texts["body"][0].replace("\xa0", " ").split())


def page(one: qr.Release | qr.GroupedRelease) -> Page:
    return Page(one.report())


# ---- what it says ----------------------------------------------------------------------------------------------------


def test_the_answer_comes_first() -> None:
    """The headline is the only first heading, and the rest follows in order."""
    one = page(release())
    assert [text.replace("\xa0", " ") for text in one.texts["h1"]] == [headline(release())]
    assert one.texts["h2"] == [
        "The ranking", "What these numbers mean", "What is promised", "Unprotected quantities", "What was assumed",
        "What was spent", "How to cite", "How to verify", "Download",
    ]  # fmt: skip
    levels = [int(tag[1]) for tag, _ in one.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_everything_that_must_be_said_is_there() -> None:
    """Statement, symbols, meaning, price, assumptions, citation and what cannot be checked."""
    one, words = release(), page(release()).words
    for sentence in (one.statement, *meaning(one), *unprotected(one.privacy), *one.assumptions):
        assert sentence in words
    for name, value in symbols(one):
        assert f"{name}{value}" in words.replace(f"{name} {value}", f"{name}{value}")
    assert "P[M(D) ∈ S] ≤ eε · P[M(D′) ∈ S] + δ" in words
    for part in ("ε = 1, δ = 0.", "entry 7-abc", "Cai, Chakraborty and Wang (2025)", "docs/proofs/noisy-tally.md",
                 "What cannot be checked from outside", one.made_with, "width of the intervals"):  # fmt: skip
        assert part in words


def test_what_is_left_is_shown_only_if_given() -> None:
    """That is the owner's choice."""
    assert "What remains" not in release().report()
    assert "What remains: ε = 3 &lt; 4" in release().report(remaining="ε = 3 < 4")


def test_a_ranking_without_certainty_says_so() -> None:
    """No intervals, no tiers, and the warning that noise may have made the order where it may have."""
    one = page(unsure())
    assert "cannot be said" in one.texts["h1"][0]
    assert "interval" not in "".join(one.texts["th"])
    assert "Noise alone could make differences like these" in one.words
    assert "Noise alone" not in page(release()).words
    assert not [line for line in one.all("line") if line.get("class") == "interval"]


PUBLIC = [
    (Privacy(1, "person", max_per_person=3), False, ["The number of people."], ["votes.", "pairs", "groups"]),
    (Privacy(1, "comparison"), False, ["The number of votes."], ["people", "pairs"]),
    (Privacy(1, "comparison"), True, ["The list of groups.", "Protected: how many are in one group."], ["pairs"]),
    (
        Privacy(1, "person", neighbours="outcome", design="public", max_per_person=3), True,
        ["Which pairs were compared", "number of people", "Which group each"], [],
    ),
    (Privacy(1, "comparison", neighbours="outcome", design="public"), False, ["number of votes"], ["number of people"]),
    (
        Privacy(1, "person", neighbours="add-remove", max_per_person=3), False,
        ["the numbers of people and of votes are protected"], ["The number of", "pairs"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("privacy", "by_group", "there", "absent"), PUBLIC)
def test_what_is_public_by_declaration(privacy: Privacy, by_group: bool, there: list[str], absent: list[str]) -> None:
    """As the design page has it: the number of units under replace, the design where it is public, nothing else."""
    said = " ".join(unprotected(privacy, grouped=by_group))
    without_promise = said.replace("they were chosen without the votes.", "")
    assert "The list of items." in said
    assert all(part in said for part in there)
    assert not [part for part in absent if part in without_promise]


def test_votes_are_not_people() -> None:
    """Where single votes are protected, a reader is told what that means for a person."""
    votes = qr.Release(release().ranking, Privacy(1, "comparison"), release().mechanism, "bradley-terry")
    assert "All c votes of one person together are protected with c times ε only." in page(votes).words
    assert "c times ε" not in page(release()).words


@pytest.mark.parametrize(("scale", "sentence"), [(Scale.LOG_ODDS, "73 %"), (Scale.ELO, "64 %")])
def test_a_scale_is_explained_with_a_true_number(scale: Scale, sentence: str) -> None:
    """1 in log-odds, 100 in Elo."""
    step = {Scale.LOG_ODDS: 2.718281828, Scale.ELO: 10 ** (100 / 400)}[scale]
    assert f"{100 * step / (1 + step):.0f} %" == sentence
    assert sentence in " ".join(meaning(release(scale=scale)))


def test_groups_have_a_section_each_on_one_axis() -> None:
    """One promise and one payment; pictures can be compared."""
    one = grouped()
    shown = page(one)
    assert shown.texts["h1"][0].replace("\xa0", " ") == headline_grouped(one)
    assert shown.texts["h2"][:2] == ["land: de", "land: fr"]
    assert len(shown.all("svg")) == len(shown.all("table")) == 2
    ids = [attributes["id"] for _, attributes in shown.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) == 6
    assert "for all groups together" in shown.words
    assert one.statement in shown.words


# ---- nothing gets out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [release(NASTY), unsure(NASTY), grouped(NASTY[:3], NASTY, NASTY[0])])
def test_names_stay_names(one: qr.Release | qr.GroupedRelease) -> None:
    """The same tags and attributes as with harmless names, and every name is read as it is, controls as escapes."""
    harmless_names = [f"item {k}" for k in range(len(NASTY))]
    harmless = (
        grouped(["a", "b", "c"], harmless_names, "by")
        if isinstance(one, qr.GroupedRelease)
        else (release(harmless_names) if one.certainty else unsure(harmless_names))
    )
    hostile = page(one)
    assert [(tag, set(attributes)) for tag, attributes in hostile.tags] == [
        (tag, set(attributes)) for tag, attributes in page(harmless).tags
    ]
    assert "alert(1)" not in "".join(hostile.texts["script"])
    assert hostile.html.count("</script>") == 1
    assert not [letter for letter in hostile.html if not letter.isprintable() and letter != "\n"]
    for name in ("<script>alert(1)</script>", "\\u202eright\\u200fto left\\u2066", "&lt;b&gt; & ${x} $policy"):
        assert name in hostile.texts["bdi"]


@pytest.mark.parametrize("text", NASTY)
def test_every_other_text_is_escaped_too(text: str) -> None:
    """A release may come from a file that somebody else wrote."""
    one = release(assumptions=(text,), ledger_entry=text, made_with=text)
    assert [tag for tag, _ in page(one).tags] == [tag for tag, _ in page(release()).tags]


@pytest.mark.parametrize("one", [release(NASTY), grouped(NASTY[:2], NASTY)])
def test_the_files_inside_are_those_of_the_release(one: qr.Release | qr.GroupedRelease) -> None:
    """The JSON reads back as the release, the CSV is its table."""
    links = {link["download"]: link["href"] for link in page(one).all("a")}
    found = {name: base64.b64decode(link.partition("base64,")[2]).decode() for name, link in links.items()}
    assert found == {"release.json": one.to_json(), "release.csv": one.to_csv()}
    assert type(one).from_dict(json.loads(found["release.json"])) == one


def test_nothing_is_loaded_and_nothing_else_runs() -> None:
    """No address but data: in the whole page; the policy names the hashes of its style and script, and no more."""
    one = page(release())
    addresses = [value for _, attributes in one.tags for name, value in attributes.items() if name in ("src", "href")]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?://|url\(|@import|//[a-z]", one.html)
    assert not [name for _, attributes in one.tags for name in attributes if name == "style" or name.startswith("on")]
    (policy,) = [meta["content"] for meta in one.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    hashes = [base64.b64encode(hashlib.sha256(one.texts[tag][0].encode()).digest()).decode() for tag in STYLED]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


STYLED = ("style", "script")


# ---- everybody can read it -------------------------------------------------------------------------------------------


def test_the_page_is_accessible() -> None:
    """A language, a caption, scopes, a description of the picture, a box that can be scrolled by keyboard."""
    one = page(release())
    assert one.all("html") == [{"lang": "en"}]
    assert len(one.texts["title"]) == 2  # of the page and of the picture
    assert one.texts["caption"] == ["Numbers for 4 items"]
    assert {cell["scope"] for cell in one.all("th")} == {"col", "row"}
    assert one.all("th")[0]["aria-sort"] == "ascending"
    (picture,) = one.all("svg")
    ids = {attributes["id"] for _, attributes in one.tags if "id" in attributes}
    assert picture["role"] == "img"
    assert set(picture["aria-labelledby"].split()) <= ids
    assert "from London at 0.50 to Oslo at −2.50" in one.texts["desc"][0]
    (box,) = [attributes for _, attributes in one.tags if attributes.get("class") == "scroll"]
    assert (box["tabindex"], box["role"], box["aria-labelledby"] in ids) == ("0", "region", True)
    assert {"viewport", "color-scheme", "generator"} <= {meta.get("name") for meta in one.all("meta")}


CSS = (files("quietrank.render") / "report.css").read_text(encoding="utf-8")
TEXTS = [("text", "page"), ("quiet", "page"), ("accent", "page"), ("text", "shade")]
SHAPES = [("bar", "page"), ("accent", "page"), ("quiet", "page")]


def _themes() -> list[dict[str, str]]:
    """The colours of the light page, of the dark one, and on paper."""
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)]
    assert len(themes) == 3
    return themes


def _luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "paper"])
def test_colours_have_contrast(theme: int) -> None:
    """WCAG AA: 4.5 for text, 3 for what has to be seen in the picture; and every colour used is one of these."""
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    colours = _themes()[theme]
    for text, ground in TEXTS:
        assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for shape, ground in SHAPES:
        assert _contrast(colours[shape], colours[ground]) >= 3, (shape, ground)
    used = set(re.findall(r"(?<!-)(?:color|fill|stroke): var\(--(\w+)\)", CSS))
    assert used - {"rule"} == {"text", "quiet", "accent", "bar"}  # rules only decorate


def test_the_picture_fits_every_screen() -> None:
    """Places along the axis are per cent, within the picture; there are two to six round ticks."""
    for values in ((-2.5, 0.5), (0.0, 1.0), (996.0, 1003.0), (1e-9, 3e-9), (-1e6, 4e6), (5.0, 5.0)):
        axis = Axis(*values) if values[0] < values[1] else Axis(values[0] - 1, values[1] + 1)
        assert 2 <= len(axis.ticks()) <= 6, values
        assert len({format(tick, axis.tick_format()) for tick in axis.ticks()}) == len(axis.ticks())
        assert all(4 <= float(axis.place(tick).rstrip("%")) <= 96 for tick in axis.ticks())
    same = [qr.Release(tuple(rows), release().privacy, release().mechanism, "wins") for rows in [unsure().ranking[:1]]]
    assert Axis.of(same).low < Axis.of(same).high


def test_a_long_list_is_cut_in_the_picture_only() -> None:
    """The table has all items, and the caption says so."""
    names = [f"item {k}" for k in range(MOST_ITEMS + 5)]
    one = release(names)
    assert forest(one, Axis.of([one])).count("<circle") == MOST_ITEMS
    shown = page(one)
    assert shown.html.count("<tr>") == 1 + len(names)
    assert f"The first {MOST_ITEMS} of {MOST_ITEMS + 5} items" in shown.words


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_report_is_written_whole_and_replaces_only_a_report(tmp_path: Path) -> None:
    """As every other output."""
    path = tmp_path / "report.html"
    text = release().report(path)
    assert path.read_text(encoding="utf-8") == text
    with pytest.raises(ReleaseError, match="exists already"):
        unsure().report(path)
    assert unsure().report(path, overwrite=True) == path.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    other.write_text("<p>mine</p>")
    with pytest.raises(ReleaseError, match="is not a report by quietrank"):
        release().report(other, overwrite=True)
    assert other.read_text() == "<p>mine</p>"


def test_a_picture_of_ones_own_takes_the_place_of_the_pages(tmp_path: Path) -> None:
    """Inside the page, with a description."""
    path = tmp_path / "own.svg"
    path.write_text("<svg/>")
    for one, pictures in ((release(), 1), (grouped(), 1)):
        shown = Page(one.report(figure=path))
        assert len(shown.all("img")) == pictures
        assert shown.all("img")[0]["src"] == f"data:image/svg+xml;base64,{base64.b64encode(b'<svg/>').decode()}"
        assert shown.all("img")[0]["alt"]
        assert not shown.all("svg")
    for wrong in (tmp_path / "own.gif", tmp_path / "nowhere.png"):
        with pytest.raises(ReleaseError, match=r"svg or \.png|cannot read"):
            release().report(figure=wrong)


def test_the_page_comes_from_the_release_alone() -> None:
    """A release that was written and read again has the same page, and the same release always has."""
    one = qr.rank(demo_votes(), demo_privacy(1.0), method="bradley-terry")
    again = qr.Release.from_dict(json.loads(one.to_json()))
    assert again.report() == one.report() == one.report()
    assert one.top(2).report().count("<circle") == 2


def test_cities_are_in_the_table() -> None:
    """Each item once as a label of the picture and once in the table."""
    assert page(release()).texts["bdi"] == [*CITIES, *CITIES]


def test_the_citation_is_that_of_the_project() -> None:
    """Every field of CITATION.cff that the page prints, with the version that made the release."""
    from pathlib import Path

    from quietrank.render import citation

    cff = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    for line in (f'title: "{citation.TITLE}"', f'name: "{citation.AUTHORS}"', f'title: "{citation.METHOD_TITLE}"',
                 f"year: {citation.METHOD_YEAR}", f'notes: "{citation.METHOD_NOTES}"'):  # fmt: skip
        assert line in cff
    assert re.findall("family-names: (.*)", cff) == list(citation.METHOD_AUTHORS)
    words = page(release()).words
    assert f"{citation.AUTHORS}: {citation.TITLE}. Software, version " in words
    assert "@software{quietrank, author = {{The quietrank authors}}" in words
    assert citation.in_words("something else").endswith("Software.")
