"""The picture of docs/first-use.md: the page is run, and the top of its report is shown.

Needs a Chromium on the path: .venv/bin/python docs/make_first_use.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from docs import blocks  # noqa: E402

QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking"]


def main() -> None:
    picture = DOCS / "first-use" / "report.png"
    picture.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for _ in blocks.run((DOCS / "first-use.md").read_text(encoding="utf-8"), Path(folder)):
            pass
        shown = [f"--screenshot={picture}", "--window-size=900,1000", str(Path(folder, "tasting.html"))]
        subprocess.run([shutil.which("chromium") or "chromium", *QUIET, *shown], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
