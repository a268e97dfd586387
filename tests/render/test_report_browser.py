"""The report in a real browser: silent, without a network, sorted by mouse and keyboard, and as wide as a phone.

Needs the extra `browser` (Playwright) and a Chromium on the path. Skipped without them, unless the variable
QUIETRANK_REQUIRE_BROWSER is set, as `make browser` and CI do: then it fails.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

import quietrank as qr
from quietrank.demo import demo_privacy, demo_votes
from tests.render.made import NASTY, grouped, release, unsure

pytestmark = pytest.mark.browser


def missing(reason: str) -> NoReturn:
    """Skip, or fail where a browser is required."""
    if os.environ.get("QUIETRANK_REQUIRE_BROWSER"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


try:
    import playwright.sync_api as sync_api
except ImportError:
    missing("Playwright is not installed: it is the extra browser")

PHONE, DESK = 360, 1200
LONG = ("An item with a name that does not fit on a telephone", "Nowordbreaksinthisveryverylongnameofanitem", "c", "d")
PAGES: dict[str, qr.Release | qr.GroupedRelease] = {
    "usual": release(),
    "unsure": unsure(),
    "nasty": release(NASTY),
    "long": release(LONG),
    "many": release([f"item {k}" for k in range(40)]),
    "grouped": grouped(NASTY[:3], NASTY, NASTY[4]),
}


@dataclass
class Seen:
    """A page, and what the browser did and said."""

    page: Any = None
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def column(self, number: int) -> list[str]:
        cells = self.page.locator(f"table >> nth=0 >> tbody tr > :nth-child({number})")
        return [str(text) for text in cells.all_inner_texts()]

    @property
    def sorted_by(self) -> dict[str, str]:
        heads = self.page.locator("th[aria-sort]").all()
        return {head.inner_text().strip(): str(head.get_attribute("aria-sort")) for head in heads}

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("there is no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium)
        yield started
        started.close()


@contextmanager
def opened(browser: Any, path: Path, width: int = DESK, scheme: str = "light", **more: Any) -> Iterator[Seen]:
    """The file in a window, without a network; whatever else it asks for is refused, and seen."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True, accept_downloads=True, **more
    )
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.console.append(message.text))
    seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(path.as_uri())
    yield seen
    context.close()


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    release().report(tmp_path / "usual.html")
    return tmp_path / "usual.html"


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_it_opens_in_silence(browser: Any, tmp_path: Path, name: str, scheme: str, width: int) -> None:
    """No message, no request but the file, no scrolling to the side, and the colours of the scheme."""
    path = tmp_path / "report.html"
    PAGES[name].report(path)
    with opened(browser, path, width, scheme) as seen:
        for button in seen.page.locator("th button").all()[:3]:
            button.click()
        assert seen.console == []
        assert seen.requests == [path.as_uri()]
        assert seen.overflow == 0
        ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 23, 28)"}[scheme]


@pytest.mark.parametrize("width", [PHONE, 390, DESK])
def test_the_page_of_the_demo_fits(browser: Any, tmp_path: Path, width: int) -> None:
    """What `quietrank demo` writes: nothing is cut off at the side, from the headline to the figure."""
    path = tmp_path / "demo.html"
    qr.rank(demo_votes(), demo_privacy(1.0), method="bradley-terry").report(path)
    with opened(browser, path, width) as seen:
        for part in ("h1", "figure", ".scroll"):
            box = seen.page.locator(part).first.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert (seen.console, seen.overflow) == ([], 0)


def test_what_it_must_not_do_would_be_seen(browser: Any, usual: Path) -> None:
    """This test can fail: a script that the policy does not know, a picture from elsewhere and a wide line are seen."""
    text = usual.read_text(encoding="utf-8")
    planted = '<script>document.title = "owned"</script><img src="https://example.invalid/x.png"><pre>' + "x" * 999
    usual.write_text(text.replace("</main>", f"{planted}</pre></main>"), encoding="utf-8")
    with opened(browser, usual, PHONE) as seen:
        assert "London" in seen.page.title()
        assert any("Content Security Policy" in message for message in seen.console)
        assert len([message for message in seen.console if "example.invalid" in message]) == 1
        assert seen.overflow > 0


def test_headings_sort_by_click(browser: Any, usual: Path) -> None:
    """Up, then down, numbers as numbers; one heading says how the table is sorted."""
    with opened(browser, usual) as seen:
        assert seen.sorted_by == {"rank": "ascending"}
        item, score = seen.page.get_by_role("button", name="item"), seen.page.get_by_role("button", name="score")
        item.click()
        assert seen.column(2) == ["London", "Milano", "Oslo", "Paris"]
        item.click()
        assert seen.column(2) == ["Paris", "Oslo", "Milano", "London"]
        assert seen.sorted_by == {"item": "descending"}
        score.click()
        assert seen.column(3) == ["−2.50", "−1.50", "−0.50", "0.50"]
        assert seen.sorted_by == {"score": "ascending"}


def test_headings_sort_by_keyboard(browser: Any, usual: Path) -> None:
    """Tab reaches the box, then the headings from left to right; Enter and Space sort."""
    with opened(browser, usual) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.className") == "scroll"
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        assert seen.sorted_by == {"rank": "descending"}
        assert seen.column(1) == ["4", "3", "2", "1"]
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Space")
        assert seen.sorted_by == {"item": "ascending"}
        assert seen.column(2)[0] == "London"
        outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_equal_rows_keep_their_order(browser: Any, usual: Path) -> None:
    """Where a column does not decide, the rank does, up and down."""
    with opened(browser, usual) as seen:
        for expected in (["2", "3", "4", "1"], ["1", "2", "3", "4"]):
            seen.page.get_by_role("button", name="P(first)").click()
            assert seen.column(1) == expected


def test_without_scripts_it_is_a_table(browser: Any, usual: Path) -> None:
    """No dead buttons."""
    with opened(browser, usual, java_script_enabled=False) as seen:
        assert seen.page.locator("th button").count() == 0
        assert seen.column(2) == ["London", "Paris", "Milano", "Oslo"]


def test_the_files_can_be_saved(browser: Any, tmp_path: Path) -> None:
    """Both, offline, whatever the names in them are."""
    one, path = release(NASTY), tmp_path / "nasty.html"
    one.report(path)
    with opened(browser, path) as seen:
        for link, content in (("The release (JSON)", one.to_json()), ("(CSV)", one.to_csv())):
            with seen.page.expect_download() as download:
                seen.page.get_by_role("link", name=link).click()
            saved = Path(download.value.path()).read_text(encoding="utf-8")
            assert saved == content
        assert seen.console == []
    assert qr.Release.from_dict(json.loads(one.to_json())) == one


def test_a_wide_table_scrolls_in_its_own_box(browser: Any, usual: Path) -> None:
    """On a phone the box scrolls and the page does not; on paper nothing is hidden."""
    with opened(browser, usual, PHONE) as seen:
        box = "document.querySelector('.scroll')"
        assert seen.page.evaluate(f"{box}.scrollWidth > {box}.clientWidth")
        assert seen.overflow == 0
        seen.page.emulate_media(media="print")
        assert seen.page.evaluate(f"getComputedStyle({box}).overflowX") == "visible"


def test_the_picture_is_described(browser: Any, usual: Path) -> None:
    """What a screen reader finds: one image with a name and a description, and a table with its caption."""
    with opened(browser, usual) as seen:
        picture = seen.page.get_by_role("img", name="Score of 4 items")
        assert picture.count() == 1
        assert seen.page.get_by_role("table", name="Numbers for 4 items").count() == 1
        assert seen.page.get_by_role("rowheader", name="London").count() == 1
        labels, dots = seen.page.locator(".labels li").all(), seen.page.locator(".dot").all()
        for label, dot in zip(labels, dots, strict=True):  # each name stands beside its dot
            place, mark = label.bounding_box(), dot.bounding_box()
            assert abs((place["y"] + place["height"] / 2) - (mark["y"] + mark["height"] / 2)) < 2
