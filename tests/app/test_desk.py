"""The work of a page: who is told of it when it has ended."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from quietrank.app.work import State

pytest.importorskip("shiny")


class Finished:
    """A job that has its result before anybody has looked."""

    doing, share = "counting", None

    def poll(self) -> State:
        return State.DONE

    def stop(self) -> None:
        pass


async def _nothing(*words: Any) -> None:
    pass


def test_work_that_was_stopped_tells_nobody() -> None:
    """Also where it had just ended: its result is about what was chosen before."""
    from shiny import reactive

    from quietrank.app.pages.desk import Runner

    session = SimpleNamespace(on_ended=lambda then: None, send_custom_message=_nothing)
    told: list[str] = []

    async def run(stop: bool) -> list[str]:
        runner: Any = Runner(SimpleNamespace(session=session), "place")  # type: ignore[arg-type]

        async def then(done: Any) -> None:
            told.append("told")

        told.clear()
        runner.start(Finished(), then)
        if stop:
            runner.stop()
        await reactive.flush()
        return list(told)

    assert asyncio.run(run(stop=False)) == ["told"]  # this test can fail
    assert asyncio.run(run(stop=True)) == []
