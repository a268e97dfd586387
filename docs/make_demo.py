"""docs/demo.json in, docs/demo.png out: what `quietrank demo` released once. `make figure` draws it anew.

Noise is random, so that another run of the demo is another release; the README shows the one in docs/demo.json. To show
a new one: `quietrank demo --format json > docs/demo.json`, `make figure`, and its table into the README.
"""

from __future__ import annotations

from pathlib import Path

from quietrank.publish.release import Release

SHOWN = Path(__file__).parent / "demo.json"
PICTURE = SHOWN.with_suffix(".png")

if __name__ == "__main__":
    Release.from_json(SHOWN).plot(PICTURE, overwrite=True)
