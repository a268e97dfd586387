"""What to do where a server cannot be had: its tests are skipped, and fail where servers are required."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
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


def die_with_parent() -> None:
    """For a new process: Linux ends it at once when the tests are killed, and cannot stop their servers any more."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
