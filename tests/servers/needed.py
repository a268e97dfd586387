"""What to do where a server cannot be had: its tests are skipped, and fail where servers are required."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest

REQUIRED = "QUIETRANK_REQUIRE_SERVERS"
"""set to 1 by `make engines` and CI"""


def missing(reason: str) -> NoReturn:
    """Skip, or fail where servers are required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{reason} ({REQUIRED}=1)", pytrace=False)
    pytest.skip(reason)


def free_port() -> int:
    """A port on loopback that nobody listens on; somebody may take it before it is used, so try again then."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
