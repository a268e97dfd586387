"""How every screen looks: light and dark, wide and narrow; what axe-core finds; and the way through by keyboard alone.

axe-core is no part of this repository: `make browser` puts it into the virtual environment, beside Playwright.
Screenshots are written to the folder $QUIETRANK_SCREENSHOTS, if there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from tests.app.browsing import Budget, Visit, Window, arena_votes, until, visit

pytestmark = pytest.mark.browser

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")
RUN = """async grave => {
    const told = node => `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`
    const found = (await axe.run(document, {resultTypes: ["violations"]})).violations
    return found.filter(one => grave.includes(one.impact)).map(one => `${one.id}: ${one.nodes.map(told).join("; ")}`)
}"""


def axe_source() -> str:
    """The script; without it a test is skipped, or fails where a browser is required."""
    if not AXE.exists():
        reason = f"axe-core is not in {AXE.parent}; make browser puts it there"
        if os.environ.get("QUIETRANK_REQUIRE_BROWSER"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return AXE.read_text(encoding="utf-8")


@dataclass
class Looks:
    """Pictures of screens, and what is wrong with them."""

    axe: str
    flaws: list[str] = field(default_factory=list)

    def at(self, window: Window, name: str) -> None:
        """A screen, in all its looks."""
        window.page.evaluate(self.axe)
        for scheme, width in window.in_all_looks():
            look = f"{name}-{scheme}-{width}"
            window.screenshot(look)
            self.flaws += [f"{look}: {flaw}" for flaw in window.page.evaluate(RUN, list(GRAVE))]
            if window.overflow > 0:
                self.flaws.append(f"{look}: {window.overflow} pixels wider than the window")


@pytest.fixture
def free(browser: Any, tmp_path: Path, pictures: Path) -> Iterator[Visit]:
    """A visit whose browser lets axe-core run, which the policy of the pages forbids."""
    with visit(browser, tmp_path, pictures, bypass_csp=True) as one:
        yield one


def test_every_screen(free: Visit, survey: Path, tmp_path: Path) -> None:
    """No serious or critical flaw, and nothing wider than a telephone."""
    looks = Looks(axe_source())
    odd = tmp_path / "odd.csv"
    odd.write_text("who,better,worse\n1,x,y\n2,y,x\n")
    budget = Budget.make(free.folder)
    _make_board(free.folder, tmp_path)
    window = free.enter()
    window.wait_for("#plan-expected .big")
    looks.at(window, "1-plan")
    window.go("votes")
    looks.at(window, "2-votes-empty")
    window.choose(odd)
    looks.at(window, "3-votes-not-understood")
    window.choose(survey)
    window.declare()
    looks.at(window, "4-votes-understood")
    window.to_release()
    window.pay_from(budget)
    window.ask_price()
    window.wait_for("#release-expected .big")
    looks.at(window, "5-release-with-price")
    window.spend()
    looks.at(window, "6-result")
    _only_top(window)
    looks.at(window, "7-result-only-top")
    window.go("boards")
    window.wait_for("#boards-last figure svg")
    looks.at(window, "8-boards")
    window.go("history")
    window.wait_for("#history-payments button[data-open]")
    looks.at(window, "9-history")
    assert looks.flaws == []


def _make_board(folder: Path, elsewhere: Path) -> None:
    ledger = qr.Ledger.create(folder / "zz-arena.db", 2, 1e-6, data="arena", unit="person")
    path, items = folder / "arena.board", ["tea", "coffee", "water"]
    board = qr.Board.create(path, items, epsilon=2, delta=1e-6, ledger=ledger, start="2026-01-05")
    board.update(arena_votes(elsewhere), day_column="when", until="2026-01-25")


def _only_top(window: Window) -> None:
    window.go("release")
    window.page.check("#release-publishes input[value=top]")
    window.ask_price()
    window.page.click("#release-spend")
    until(lambda: window.sees("#the-result") and "top" in window.result(), what="the list")


def test_axe_would_see_a_flaw(free: Visit) -> None:
    """This test can fail: a field without a label and a pale text are seen."""
    source = axe_source()
    window = free.enter()
    planted = "document.querySelector('h1').innerHTML = '<input><span style=\"color:#ddd;background:#fff\">pale</span>'"
    window.page.evaluate(planted)
    window.page.evaluate(source)
    found = " ".join(window.page.evaluate(RUN, list(GRAVE)))
    assert "label" in found
    assert "color-contrast" in found


# ---- by keyboard -----------------------------------------------------------------------------------------------------

HAS_FOCUS = "selector => document.activeElement.matches(selector)"
IS_MARKED = """() => {
    const style = getComputedStyle(document.activeElement)
    return style.outlineStyle !== "none" || style.boxShadow !== "none"
}"""
MOST_TABS = 120


@dataclass
class Hands:
    """A person without a mouse."""

    window: Window
    tabs: int = 0

    def reach(self, selector: str) -> None:
        """Press Tab until this has the focus, which must be visible."""
        self.window.wait_for(selector)
        for _ in range(MOST_TABS):
            if self.window.page.evaluate(HAS_FOCUS, selector):
                assert self.window.page.evaluate(IS_MARKED), f"{selector} does not show that it has the focus"
                return
            self.window.page.keyboard.press("Tab")
            self.tabs += 1
        raise AssertionError(f"{selector} cannot be reached by Tab")

    def press(self, selector: str, key: str = "Enter") -> None:
        self.reach(selector)
        self.window.page.keyboard.press(key)

    def type(self, selector: str, text: str) -> None:
        self.reach(selector)
        self.window.page.keyboard.type(text)


def test_by_keyboard_alone(visited: Visit) -> None:
    """From the front page to a release of the bundled survey, with a new budget: Tab, Enter and Space."""
    window = visited.enter()
    hands = Hands(window)
    hands.press("nav button[data-step=votes]")
    hands.press("#votes-bundled", "Space")
    hands.press("#votes-declare")
    hands.press("#votes-items button[data-step=release]")
    window.wait_for("#release-prepare:enabled")
    hands.type("#release-new_data", "students")
    hands.press("#release-make")
    until(lambda: window.page.input_value("#release-ledger") == "budget.db", what="the budget")
    hands.press("#release-prepare", "Space")
    hands.press("#release-spend")
    assert "London is first" in window.result()
    assert window.page.evaluate("document.activeElement.textContent") == "Result"
    hands.press("#result-again")
    hands.press("nav button[data-step=history]")
    hands.press("#history-payments button[data-open]")
    window.result()
    print(f"by keyboard: {hands.tabs} times Tab")
