"""The pictures of docs/app.md: the path from the bundled survey to its release, in a real browser.

Needs the extra `browser` and a Chromium on the path: .venv/bin/python docs/make_app.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

PLACE = Path(__file__).parent / "app"
PATIENCE = 120_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "quietrank", "app", folder, "--no-browser"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address is not None
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
                page = browser.new_page(viewport={"width": 1040, "height": 760})
                page.set_default_timeout(PATIENCE)
                page.goto(address[0])
                walk(page)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def walk(page: Any) -> None:
    """Every click of the transcript in docs/app.md."""
    began = time.monotonic()
    page.wait_for_selector("#plan-expected .big")
    picture(page, "plan")
    page.get_by_role("button", name="Next: votes").click()
    page.get_by_role("button", name="Try the bundled survey").click()
    page.get_by_role("button", name="Declare this list").click()
    page.get_by_role("button", name="Next: release").wait_for()
    picture(page, "votes")
    page.get_by_role("button", name="Next: release").click()
    page.get_by_label("Which votes it is for").fill("student survey")
    page.get_by_role("button", name="Make this budget").click()
    page.get_by_role("button", name="Make this budget").wait_for(state="hidden")
    page.get_by_role("button", name="What does it cost?").click()
    page.locator("#release-spend").wait_for()
    page.wait_for_selector("#release-expected .big")
    picture(page, "release")
    page.locator("#release-spend").click()
    page.wait_for_selector("#the-result")
    picture(page, "result")
    print(f"{time.monotonic() - began:.0f} s by a program that does not hesitate")
    page.locator("nav").get_by_role("button", name="History").click()
    page.wait_for_selector("#history-payments table")
    picture(page, "history")


def picture(page: Any, name: str) -> None:
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=str(PLACE / f"{name}.png"), full_page=True)


if __name__ == "__main__":
    main()
