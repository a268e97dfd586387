"""What several tests of boards need."""

from __future__ import annotations

import pytest

from quietrank.votes.daily.limits import Encoded
from tests.boards.arena import without_noise


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Without noise: what would be published, exactly."""
    return without_noise(monkeypatch)
