"""Jobs in, their results out as they come, from worker processes that Ctrl-C stops together with their parent."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Literal, TypeVar

Made = TypeVar("Made")


def results(
    jobs: Sequence[Callable[[], Made]], workers: int, start: Literal["fork", "spawn"]
) -> Iterator[tuple[int, Made]]:
    """Each job's number and result; `start` says whether workers are copies of this process or begin anew."""
    with ProcessPoolExecutor(workers, mp_context=get_context(start)) as pool:
        with _interrupts_held_back():  # as workers inherit it: only the parent hears of Ctrl-C
            waiting: dict[Future[Made], int] = {pool.submit(job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            for worker in _workers(pool):
                worker.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _workers(pool: ProcessPoolExecutor) -> list[Any]:
    return list((getattr(pool, "_processes", None) or {}).values())


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
