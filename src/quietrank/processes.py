"""Jobs in, their results out as they finish, from worker processes that Ctrl-C stops together with their parent."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Literal, TypeVar

Result = TypeVar("Result")


def results(
    jobs: Sequence[Callable[[], Result]], workers: int, start: Literal["fork", "spawn"]
) -> Iterator[tuple[int, Result]]:
    """Each job's number and result; `start` says whether workers are copies of this process or start from scratch."""
    with ProcessPoolExecutor(workers, mp_context=get_context(start)) as pool:
        with _interrupts_held_back():  # workers inherit this, so that only the parent receives Ctrl-C
            waiting: dict[Future[Result], int] = {pool.submit(job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            for worker in _workers(pool):
                worker.terminate()
            # Waits for the pool's own thread, which ends with its workers: at exit Python would wake it up through a
            # pipe that it may just be closing.
            pool.shutdown(cancel_futures=True)
            raise


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
