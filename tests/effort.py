"""How much is tried of what takes long: a small version in every run, and all of it with `make slow`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("QUIETRANK_EXAMPLES") == "thorough"


def effort(quick: int, thorough: int) -> int:
    """How often something is tried."""
    return thorough if THOROUGH else quick
