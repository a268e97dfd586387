"""`quietrank demo`: the bundled survey."""

from __future__ import annotations

from tests.cli.running import Run


def test_demo_ranks_the_six_universities(run: Run) -> None:
    """The bundled survey, the person as unit."""
    result = run("demo")
    assert result.code == 0
    for name in ("Barcelona", "London", "Milano", "Paris", "St.Gallen", "Stockholm"):
        assert name in result.stdout
    assert "No single person" in result.stdout
