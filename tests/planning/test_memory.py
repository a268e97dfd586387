"""Many items: the plan stays within 2 GB, or is refused before it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import QuietrankError
from quietrank.planning import forecast
from quietrank.planning.memory import MOST_BYTES

LARGE: dict[str, Any] = {"items": 5000, "people": 1000, "per_person": 20, "epsilon": 1.0, "curves": False}
CHILD = """
import json, pathlib, re, sys
import quietrank as qr
from quietrank.planning.memory import bytes_needed
plan = qr.plan(**json.loads(sys.argv[1]))
# Not ru_maxrss, which counts what the parent held when it started this process.
taken = int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
print(bytes_needed(plan.question), 1024 * taken, plan.question.runs)
"""


def _largest(options: dict[str, Any]) -> tuple[int, int, int]:
    """What the model says, what a process of its own took, and the repetitions that it ran."""
    words = [sys.executable, "-c", CHILD, json.dumps(LARGE | options)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    predicted, taken, runs = map(int, done.stdout.split())
    return predicted, taken, runs


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "bradley-terry"},
        {"one_per_pair": True},
        {"delta": 1e-6},
        {"people": 250_000, "repetitions": 10},
        pytest.param({"one_per_pair": True, "delta": 1e-6, "method": "bradley-terry"}, marks=pytest.mark.slow),
        pytest.param({"design": "public", "neighbours": "outcome", "method": "bradley-terry"}, marks=pytest.mark.slow),
        pytest.param({"items": 100_000}, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.few(1)
def test_five_thousand_items_stay_within_the_memory_foreseen(options: dict[str, Any]) -> None:
    """The model is an upper bound, and below 2 GB."""
    predicted, taken, runs = _largest(options)
    assert taken <= predicted <= MOST_BYTES
    assert runs == options.get("repetitions", 100)


@pytest.mark.parametrize(
    "options",
    [
        {"items": 1_000_000},
        {"items": 10**12},
        {"items": 100_000, "delta": 1e-6, "method": "bradley-terry"},
        {"items": 20_000, "design": "public", "neighbours": "outcome", "method": "bradley-terry"},
        {"items": 20, "per_person": 10**6, "delta": 1e-6},
        {"items": 10, "repetitions": 10**9},
        {"people": 10**7},
        {"people": 10**30},
        {"items": 100_000, "one_per_pair": True, "per_person": None},
    ],
    ids=str,
)
def test_what_takes_more_is_refused_before_it_starts(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence that says what to do; nothing is simulated."""
    monkeypatch.setattr(forecast, "simulate", lambda *args, **kwargs: pytest.fail("it started"))
    with pytest.raises(QuietrankError, match=r"plan for (a smaller survey|fewer)") as refused:
        qr.plan(**(LARGE | options))
    assert ("repetitions" in str(refused.value)) == ("repetitions" in options)


def test_a_number_of_people_is_sought_among_those_that_can_be_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not refused in the middle of the search."""
    sizes = []

    def simulated(survey: Any, *args: Any, **kwargs: Any) -> Any:
        sizes.append(survey.people)
        raise _StoppedError

    monkeypatch.setattr(forecast, "simulate", simulated)
    options = LARGE | {"people": None, "target": "rank error 1", "solve": "people"}
    with pytest.raises(_StoppedError):
        qr.plan(**options)
    assert sizes == [500]


class _StoppedError(Exception):
    """Raised where a simulation would start."""
