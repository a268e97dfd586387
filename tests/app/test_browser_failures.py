"""What a browser and a server may do at any moment: second clicks, reloads, kills, and a file larger than memory.

After each, payments and releases are the same in number. The long forms are `slow`; run them with -s to see how many
kills fell before the payment, between payment and delivery, and after it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest

from tests.app.browsing import Budget, Visit, Window, is_settled, until

pytestmark = pytest.mark.browser

LARGE = 200_000_000
MOST_GROWTH = 60_000_000
"""bytes of memory that a server may need more than before for a file of any size"""


def rounds(short: int, long: int) -> pytest.MarkDecorator:
    """A few that always run, and many that are slow."""
    return pytest.mark.parametrize("count", [short, pytest.param(long, marks=pytest.mark.slow)])


def _strengths(count: int) -> list[float]:
    """As many ε, each of which makes another release."""
    return [round(0.01 + k / 1000, 3) for k in range(count)]


# ---- clicks and reloads ----------------------------------------------------------------------------------------------


@rounds(5, 50)
def test_double_clicks(house: Visit, survey: Path, count: int) -> None:
    """As many payments as double clicks, and as many releases."""
    budget = Budget.make(house.folder, 100, f"clicks-{count}.db")
    window = house.another()
    window.ready_to_pay(survey, budget)
    for done, epsilon in enumerate(_strengths(count), start=1):
        window.double_click(epsilon)
        is_settled(house, budget)
        assert (budget.paid, len(budget.fetched)) == (done, done)
        window.go("release")


@rounds(5, 50)
def test_reloads_at_any_moment(house: Visit, survey: Path, count: int) -> None:
    """Each order is paid for at most once, and delivered if it was."""
    rng, seen = random.Random(1), Counter[str]()
    budget = Budget.make(house.folder, 100, f"reloads-{count}.db")
    window = house.another()
    for moment, epsilon in zip(cycle(MOMENTS), _strengths(count)):
        before = budget.paid
        window.ready_to_pay(survey, budget)
        window.set_epsilon(epsilon)
        window.ask_price()
        window.page.click("#release-spend")
        _wait_for(moment, budget, before, rng)
        seen[_state(budget, before)] += 1
        window.reload()
        is_settled(house, budget)
        assert budget.paid <= before + 1
    until(lambda: len(budget.fetched) == budget.paid == count, what="all releases")
    print(f"{count} reloads: {_told(seen)}")


BEFORE, BETWEEN, AFTER = "before the payment", "between payment and delivery", "after the delivery"
MOMENTS = (BETWEEN, BEFORE, AFTER)


def _wait_for(moment: str, budget: Budget, paid: int, rng: random.Random) -> None:
    """Some time within a stretch of the order, however long that takes on a busy machine."""
    if moment != BEFORE:
        until(lambda: budget.paid > paid and (moment == BETWEEN or budget.is_even), what="the payment")
    time.sleep(rng.uniform(0, 0.2))


def _state(budget: Budget, before: int) -> str:
    """How far the last order is."""
    if budget.paid == before:
        return BEFORE
    return AFTER if budget.is_even else BETWEEN


def _told(seen: Counter[str]) -> str:
    return ", ".join(f"{number} {moment}" for moment, number in sorted(seen.items()))


# ---- kills -----------------------------------------------------------------------------------------------------------


@rounds(2, 20)
def test_kills_during_a_release(visited: Visit, survey: Path, count: int) -> None:
    """Of the server, or of all its processes at once: after the next start every payment has its release, no order is
    open, and no vote is left in the temporary folder."""
    rng, seen = random.Random(2), Counter[str]()
    visited.may_lose_server = True
    budget = Budget.make(visited.folder, 100)
    window = visited.enter()
    for number, (moment, epsilon) in enumerate(zip(cycle(MOMENTS), _strengths(count))):
        before = budget.paid
        window.ready_to_pay(survey, budget)
        window.set_epsilon(epsilon)
        window.ask_price()
        window.page.click("#release-spend")
        _wait_for(moment, budget, before, rng)
        visited.server.kill(whole_family=number % 2 == 1)
        seen[_state(budget, before)] += 1
        window = visited.restart()
        assert budget.is_even
        assert before <= budget.paid == len(budget.fetched) <= before + 1
        assert (visited.server.orders(), visited.server.kept()) == ([], [])
    budget.ledger.verify()
    assert count < 10 or set(seen) == set(MOMENTS)
    print(f"{count} kills: {_told(seen)}; {budget.paid} paid, {len(budget.fetched)} can be fetched")


def test_a_killed_server(visited: Visit, survey: Path) -> None:
    """After the next start the release is in the history, and the uploads of the killed run are gone."""
    visited.may_lose_server = True
    budget = Budget.make(visited.folder)
    window = visited.enter()
    window.ready_to_spend(survey, budget)
    shown = window.spend()
    assert [path.suffix for path in visited.server.kept()] == [".csv"]
    visited.server.kill()
    assert "The connection to quietrank is lost" in window.text("#lost")
    window = visited.restart()
    assert visited.server.kept() == []
    window.go("history")
    window.page.click("text=Open 1")
    assert window.result() == shown
    assert (budget.paid, len(budget.fetched)) == (1, 1)
    assert visited.server.stop() == 0
    assert visited.server.scratches() == []


# ---- a large file ----------------------------------------------------------------------------------------------------

NOTES_PROGRESS = """() => {
    window.noted = []
    const note = () => {
        const bar = document.querySelector("#votes-file_progress"), work = document.querySelector("#votes-progress")
        if (getComputedStyle(bar).visibility === "visible") window.noted.push("upload: " + bar.textContent.trim())
        if (!work.hidden) window.noted.push("work: " + work.querySelector(".doing").textContent)
    }
    new MutationObserver(note).observe(document.querySelector("#page-votes"),
        {subtree: true, childList: true, attributes: true, characterData: true})
}"""


def test_a_large_file(visited: Visit, tmp_path: Path) -> None:
    """It is uploaded, read and checked in little memory, with progress; and reading it can be stopped."""
    path = _large_file(tmp_path)
    window = visited.enter()
    window.wait_for("#plan-expected .big")
    _stops_reading(visited, window, path)
    before = visited.server.peak
    window.page.evaluate(NOTES_PROGRESS)
    begun, jobs = time.monotonic(), [0]
    window.page.set_input_files("#votes-file", path)

    def is_read() -> bool:
        jobs.append(visited.server.peak_of_jobs)
        return window.sees("#votes-understood :text('What was read from large.csv')")

    until(is_read, 300, "a large file")
    growth = visited.server.peak - before
    print(
        f"{LARGE / 1e6:.0f} MB in {time.monotonic() - begun:.1f} s: the server had {before / 1e6:.0f} MB, and grew by "
        f"{growth / 1e6:.0f} MB; its largest job had {max(jobs) / 1e6:.0f} MB"
    )
    assert growth < MOST_GROWTH
    rows = path.read_bytes().count(b"\n") - 1
    assert f"rows {rows:g}" in window.text("#votes-understood") or f"rows {rows}" in window.text("#votes-understood")
    noted = window.page.evaluate("window.noted")
    assert any(one.startswith("upload:") for one in noted)
    assert any(one.startswith("work:") for one in noted)


def _large_file(folder: Path) -> Path:
    """Votes with a long remark each."""
    remark = "x" * 170
    block = "".join(f"p{k},item-{k % 5},item-{(k + 1 + k % 4) % 5},{remark}\n" for k in range(5000)).encode()
    path = folder / "large.csv"
    with path.open("wb") as stream:
        stream.write(b"person,winner,loser,remark\n")
        while stream.tell() < LARGE:
            stream.write(block)
    return path


def _stops_reading(visited: Visit, window: Window, path: Path) -> None:
    """The button ends the process that reads, and nothing is shown."""
    window.go("votes")
    until(lambda: len(visited.server.family()) <= 3, what="the other jobs")
    idle = visited.server.family()
    window.page.fill("#votes-path", str(path))
    window.page.click("#votes-open_path")
    window.wait_for("#votes-progress")
    window.page.click("#votes-stop")
    until(lambda: not window.sees("#votes-progress") and visited.server.family() <= idle, what="the end of reading")
    assert not window.sees("#votes-understood .card")
