"""The figure of an audit: one panel for each black-box attack, with ±ε where the loss may end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quietrank.auditing.report import Audit, Finding, Histogram
from quietrank.errors import QuietrankError
from quietrank.publish.files import PICTURE


def attack(epsilon: float) -> Finding:
    rng = np.random.default_rng(1)
    losses = Histogram.of(rng.uniform(-epsilon, epsilon, 500), rng.uniform(-epsilon, epsilon, 500), epsilon)
    subject = "laplace, comparison, replace, 3 items, net-wins"
    return Finding("black box", subject, epsilon, 0.9 * epsilon, True, 500, 1.0, "", "runs", losses)


@pytest.mark.parametrize("attacks", [0, 1, 5])
def test_the_losses_are_drawn(attacks: int, tmp_path: Path) -> None:
    """Whole rows or not; what made no attack has no panel; and a figure is not replaced unless told."""
    other = Finding("loss", "laplace", 1.0, 1.0, True, 9, 0.1, "", "draws")
    audit = Audit((other, *(attack(1.0 + k) for k in range(attacks))), 1e-3, True, 1.0)
    path = audit.plot(tmp_path / "losses.png")
    assert PICTURE.is_ours(path)
    with pytest.raises(QuietrankError, match=r"losses\.png"):
        audit.plot(path)
    audit.plot(path, overwrite=True)
