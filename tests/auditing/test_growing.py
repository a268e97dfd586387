"""A file that grows while it is counted: either it is refused before any debit, or one person's bound holds."""

from __future__ import annotations

import pytest

from quietrank.auditing import case_lists, growing
from quietrank.auditing.cases import Case
from quietrank.auditing.growing import Growth


@pytest.mark.parametrize("case", list(case_lists.growing_cases(1.0, quick=True)), ids=lambda case: case.name)
@pytest.mark.few(1)
def test_a_file_that_grows_while_it_is_counted_breaks_no_bound(case: Case) -> None:
    """Weights and sums come from one reading, whenever twenty thousand votes of one person are appended."""
    found = growing.check(case, tries=5)
    assert not found.complaints, found.complaints
    assert found.tries == 5


def test_what_is_wrong_is_told() -> None:
    """Too far, or refused when it was too late; refusals in time are no complaint."""
    assert Growth(4, 4, 0.0, False).complaints == ()
    assert Growth(4, 0, 1.0, False).complaints == ()
    assert Growth(4, 0, 2500.0, False).complaints == ("moves 2500 times as far as derived",)
    assert Growth(4, 1, 0.5, True).complaints == ("refused after the debit",)
