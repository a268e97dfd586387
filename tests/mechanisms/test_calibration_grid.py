"""The calibrations of several thousand promises are what they were."""

from __future__ import annotations

import json

from tests.mechanisms.calibration_grid import entries, recorded


def test_every_calibration_is_the_recorded_one() -> None:
    """Scale, step, law, figures, cost, statement or refusal: a change in any of them shows here by name."""
    before, after = recorded(), {name: json.loads(json.dumps(entry)) for name, entry in entries()}
    assert len(before) > 7000
    assert list(after) == list(before)
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert not changed, f"{len(changed)} of {len(before)}, the first: {next(iter(changed.items()))}"
