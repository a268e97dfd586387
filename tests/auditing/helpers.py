"""What tests of the audit share."""

from __future__ import annotations

import tempfile
from pathlib import Path

from quietrank.arrays import Integers
from quietrank.auditing import checks, neighbours
from quietrank.auditing.cases import Case
from quietrank.mechanisms.mechanism import Calibrated


def statistics(case: Case) -> tuple[Calibrated, Integers, Integers]:
    """The noise of a case without groups and the statistics of its worst neighbours, in steps."""
    with tempfile.TemporaryDirectory() as folder:
        calibrated, (one,), (other,) = checks._statistics(case, neighbours.worst(case), Path(folder))
    return calibrated, one, other
