"""A `BoardCase` in; what one person's whole stream of votes does to all that a board publishes, exactly, out.

Boards are made, updated and read by the real code, in a folder of their own. `Watched` looks on where noise is drawn:
it sees the encoded sums before and after. So the difference between two neighbours is known exactly, over all days, and
so is the loss of the whole stream; and whatever else is public must be the same for both.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from quietrank import crossing
from quietrank.arrays import Integers
from quietrank.auditing import losses, streams
from quietrank.auditing.distribution import BLOCK, Fit, gaussian_parts, in_children, independent, laplace_parts
from quietrank.auditing.streams import BoardCase, Schedule, Stream
from quietrank.boards.board import Board
from quietrank.boards.history import Reading
from quietrank.boards.log import Log
from quietrank.errors import QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms.horizon import GRID, STEP, BoardNoise
from quietrank.mechanisms.stream import GaussianBoardNoise
from quietrank.mechanisms.tents import LaplaceBoardNoise
from quietrank.promise.accounting import as_written
from quietrank.promise.promise import PERSON_GRID
from quietrank.votes.daily.kept import Kept
from quietrank.votes.daily.limits import Draws, Encoded

READ_BACK = 1e-6
"""votes: how far what is read back may be from the sum, for the rounding of doubles; r unrounded is 10^-4 off"""
SAME_BY_CHANCE = 2
"""noise is finer than 10^-9 of itself: more values that come twice in a board are a sign that something is wrong"""
Values = tuple[Integers, Integers]
"""net wins and exposures of one day, in steps"""


# ---- the law of the noise -------------------------------------------------------------------------------------------


class Law(Protocol):
    """What the audit has to know about a kind of noise."""

    def part(self, apart: Sequence[Values]) -> Fraction:
        """How far the encoded sums of all days moved, as a part of what the noise was calibrated for; exactly. A power
        of it will do: it is compared with 1."""

    def fresh(self, deviations: Sequence[Values]) -> list[Values]:
        """The noise that was drawn for each day, from what was added to the sums of all days so far; none where that
        cannot be told."""

    def epsilon(self, apart: Sequence[Values], delta: float) -> float:
        """The exact loss of the whole stream: the smallest ε at this δ."""

    def fits(self, net_wins: Integers, exposures: Integers) -> list[Fit]:
        """One p-value for each part of the law, from noise that was drawn: one row for each draw."""


@dataclass(frozen=True)
class GaussianStream:
    """Independent Gaussian noise on every day and entry: what counts is the L2 norm of the difference over all days."""

    noise: GaussianBoardNoise

    def part(self, apart: Sequence[Values]) -> Fraction:
        """The squares. In units of the noise that is drawn: σ on net wins, and on exposures whatever is drawn there."""
        scales = [Fraction(noise.scale) for noise in self.noise.noises(1)]
        moved = sum(_square(day[k]) / scales[k] ** 2 for day in apart for k in range(2))
        return Fraction(moved) / (self.noise.reach / (STEP * Fraction(self.noise.scale)) ** 2)

    def epsilon(self, apart: Sequence[Values], delta: float) -> float:
        scales = [noise.scale for noise in self.noise.noises(1)]
        whole = np.concatenate([day[k] / scales[k] for day in apart for k in range(2)])
        return losses.gaussian_epsilon(1.0, whole, delta)

    def fresh(self, deviations: Sequence[Values]) -> list[Values]:
        return list(deviations)

    def fits(self, net_wins: Integers, exposures: Integers) -> list[Fit]:
        # σ on net wins and σ/β on exposures: written down again, so that other noise is seen.
        scales = self.noise.scale, self.noise.scale / float(self.noise.statistic.beta)
        return _fits((net_wins, exposures), scales, gaussian_parts)


@dataclass(frozen=True)
class LaplaceStream:
    """Laplace noise on the sum of every day and of every tent: what counts is the L1 norm of the difference of all of
    these sums, C(x − x'), each in units of its noise."""

    noise: LaplaceBoardNoise

    def part(self, apart: Sequence[Values]) -> Fraction:
        return self._loss(apart) / Fraction(as_written(self.noise.promise.privacy.epsilon))

    def epsilon(self, apart: Sequence[Values], delta: float) -> float:
        return float(self._loss(apart))

    def _loss(self, apart: Sequence[Values]) -> Fraction:
        """Σ_k |C(x − x')|_k/b_k, with the scales that are drawn. Published is Ax: increments are its differences."""
        tents, loss = self.noise.tents, Fraction(0)
        for side in range(2):
            x = np.diff(self._of_all_days(apart, side) // GRID, axis=0, prepend=0)
            sums = np.vstack([x, tents.heights[:, : len(x)] @ x])
            draws = [*range(1, len(x) + 1), *range(tents.horizon + 1, tents.horizon + 1 + len(tents.heights))]
            for draw, moved in zip(draws, sums, strict=True):
                loss += int(np.abs(moved).sum()) / Fraction(self.noise.noises(draw)[side].scale)
        return loss

    def _of_all_days(self, values: Sequence[Values], side: int) -> Integers:
        """As (day, entry), group by group; of items that join later there is nothing before."""
        parts = len(self.noise.promise.groups or ("",))
        days = [day[side].reshape(parts, -1) for day in values]
        listed = days[-1].shape[1]
        return np.stack([np.pad(day, ((0, 0), (0, listed - day.shape[1]))).ravel() for day in days])

    def fresh(self, deviations: Sequence[Values]) -> list[Values]:
        """Without tents a day adds one draw to the noise of the day before; with them draws cannot be told apart."""
        if len(self.noise.tents.heights):
            return []
        sides = [np.diff(self._of_all_days(deviations, side) // GRID, axis=0, prepend=0) for side in range(2)]
        return list(zip(*sides, strict=True))

    def fits(self, net_wins: Integers, exposures: Integers) -> list[Fit]:
        scales = self.noise.scale, self.noise.scale / float(self.noise.statistic.beta)
        return _fits((net_wins, exposures), scales, laplace_parts)


def _fits(
    noises: Values, scales: tuple[float, float], parts_of: Callable[[Integers, float], Iterator[Fit]]
) -> list[Fit]:
    """Net wins and exposures, each by itself, day after day, entry by entry, and one beside the other."""
    parts = []
    for name, values, scale in zip(("net wins", "exposures"), noises, scales, strict=True):
        parts += [Fit(f"{name}, {fit.part}", fit.p_value) for fit in parts_of(values, scale)]
        parts.append(Fit(f"{name}, day after day", independent(values[: len(values) // 2 * 2].T.reshape(-1))))
        if values.shape[1] > 1:
            across = values[:, : values.shape[1] // 2 * 2].reshape(-1)
            parts.append(Fit(f"{name}, entry by entry", independent(across)))
    mixed = np.stack([values[:, 0] for values in noises], axis=1).reshape(-1)
    return [*parts, Fit("net wins beside exposures", independent(mixed))]


def law_of(noise: BoardNoise) -> Law:
    """The law of a board's noise; another kind of noise is added here."""
    if isinstance(noise, LaplaceBoardNoise):
        return LaplaceStream(noise)
    assert isinstance(noise, GaussianBoardNoise)
    return GaussianStream(noise)


def _square(values: Integers) -> int:
    return sum(int(value) ** 2 for value in values)


# ---- one board ------------------------------------------------------------------------------------------------------


class Watched(Board):
    """A board whose exact sums are seen before the noise, and whose days may not be shown before they are committed."""

    def __init__(self, path: Path, log: Log) -> None:
        super().__init__(path, log)
        self.exact: list[Values] = []
        self.complaints: list[str] = []
        self._open: Kept | None = None

    def _draw(self, encoded: Encoded, noise: BoardNoise) -> Values:
        self.exact.append((encoded.net_wins.astype(np.int64), encoded.exposures.astype(np.int64)))
        return super()._draw(encoded, noise)

    @contextmanager
    def _confidential(self, db: Any | None = None) -> Iterator[Kept]:
        with super()._confidential(db) as kept:
            self._open = kept
            yield kept
            self._open = None

    def _show(self, log: Log, book: BudgetLedger) -> None:
        if self._open is not None and not _is_committed(self._open):
            self.complaints.append("a day is shown before it is committed")
        super()._show(log, book)

    def sums(self) -> tuple[Any, Any]:
        """The exact bounded increments of each day, part and item: net wins and exposures, in votes."""
        parts = len(self.terms.groups or ("",))
        with self._confidential() as kept:
            net, met = kept.sums(self.days, parts, len(self.items))
        return net / (2 * PERSON_GRID), met / PERSON_GRID


def _is_committed(kept: Kept) -> bool:
    """Outside of a transaction every statement is one of its own, and has a number of its own."""
    first, second = (kept.db.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return bool(first != second)


@dataclass(frozen=True, eq=False)
class Run:
    """What was published of one stream, before the noise and after it, and all else that is public."""

    stream: Stream
    noise: BoardNoise | None
    exact: list[Values]
    drawn: list[Values]
    outline: list[Any]
    complaints: list[str] = field(default_factory=list)

    @property
    def fresh(self) -> list[Values]:
        """The noise that was drawn for each day."""
        return [] if self.noise is None else law_of(self.noise).fresh(_deviations(self.drawn, self.exact))


def _deviations(drawn: Sequence[Values], exact: Sequence[Values]) -> list[Values]:
    return [(y[0] - sums[0], y[1] - sums[1]) for y, sums in zip(drawn, exact, strict=True)]


def run(case: BoardCase, schedule: Schedule, stream: Stream, folder: Path) -> Run:
    """The whole life of one board; an error is part of what is public."""
    privacy, ledger = case.privacy, folder / "ledger"
    folder.mkdir()
    book = BudgetLedger.create(
        ledger, privacy.epsilon, privacy.delta, data="made up", unit="person", neighbours=privacy.neighbours.value
    )
    board = Watched.create(
        folder / "board", streams.ITEMS, epsilon=privacy.epsilon, delta=privacy.delta or None, ledger=ledger,
        horizon=case.horizon, every=case.every.value, pure=privacy.delta == 0, clip=privacy.clip,
        max_per_person=privacy.max_per_person, neighbours=privacy.neighbours.value,
        start=streams.START, window=case.window, by=None if case.groups is None else "group", groups=case.groups,
    )  # fmt: skip
    assert isinstance(board, Watched)
    try:
        for night, until in enumerate(schedule.until):
            _one_night(case, schedule, stream, board, night, until)
    except (QuietrankError, AssertionError) as error:
        return Run(stream, None, [], [], [str(error)])
    drawn = [(day.net_wins, day.exposures) for day in board.log.days]
    wrong = [*board.complaints, *_read_back(board), *_paid(board, book), *_repeated(board, drawn)]
    return Run(stream, board.terms.noise, board.exact, drawn, _outline(board), wrong)


def _one_night(case: BoardCase, schedule: Schedule, stream: Stream, board: Watched, night: int, until: int) -> None:
    board.update(
        _table([*schedule.others[night], *stream.nights[night]]), until=case.last_date(until), person="person", a="a",
        b="b", outcome="outcome", day_column="day", id="id", skip_invalid=True,
    )  # fmt: skip
    if schedule.joins_after == night:
        board.add_items([streams.JOINED])
    if stream.erased_after == night:
        board.forget("u")


def _table(votes: Sequence[streams.Vote]) -> Any:
    import pyarrow as pa

    names = ("person", "a", "b", "outcome", "id", "day", "group")
    return pa.table({name: pa.array([getattr(vote, name) for vote in votes], pa.string()) for name in names})


def _read_back(board: Watched) -> list[str]:
    """Boards that are decoded from the exact sums are these sums, of all days or of the window."""
    log = replace(
        board.log,
        days=tuple(
            replace(day, net_wins=exact[0], exposures=exact[1])
            for day, exact in zip(board.log.days, board.exact, strict=True)
        ),
    )
    window, sums, furthest = board.terms.window or board.days, board.sums(), 0.0
    for day, part in itertools.product(range(1, board.days + 1), range(len(board.terms.groups or ("",)))):
        for read, whole in zip(Reading(log, day, part).board(), sums, strict=True):
            expected = whole[max(0, day - window) : day, part, : len(read)].sum(axis=0).astype(float)
            furthest = max(furthest, float(np.abs(read - expected).max()))
    return [] if furthest <= READ_BACK else [f"what is read back is {furthest:.2g} votes off"]


def _paid(board: Watched, book: BudgetLedger) -> list[str]:
    """Once, for the whole promise."""
    privacy = board.terms.privacy
    if len(book.entries()) == 1 and book.spent == privacy.epsilon:
        return []
    return ["the ledger was not debited once for the whole horizon"]


def _repeated(board: Watched, drawn: Sequence[Values]) -> list[str]:
    """Whether the same noise was used on two days or entries."""
    fresh = law_of(board.terms.noise).fresh(_deviations(drawn, board.exact))
    noises = [int(value) for day in fresh for side in day for value in side if value]
    return ["noise was used twice in a board"] if len(noises) - len(set(noises)) > SAME_BY_CHANCE else []


def _outline(board: Watched) -> list[Any]:
    """The public file without its random parts: of what was drawn, only how much there is."""
    outline = []
    for line in board.log.lines:
        said = json.loads(line)
        for name in ("hash", "board", "paid"):
            said.pop(name, None)
        outline.append(
            {name: len(value) if name in ("net_wins", "exposures") else value for name, value in said.items()}
        )
    return outline


# ---- neighbours -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moves:
    """What neighbouring streams did to a board."""

    epsilon: float
    """the largest loss of a whole stream"""
    part: Fraction
    """the furthest move, as a part of what the noise is for (squared, for Gaussian noise)"""
    pairs: int
    complaints: tuple[str, ...]


def check(case: BoardCase, schedules: Sequence[Schedule], risk: float) -> Moves:
    """All neighbours among the streams of each schedule. The noise of the boards that are made for this is looked at as
    well; `risk` is the probability that it is complained of without reason."""
    epsilon, part, number = 0.0, Fraction(0), 0
    wrong: list[str] = []
    every: list[Run] = []
    for schedule in schedules:
        runs = _runs(case, schedule)
        every += runs
        wrong += [f"{one.stream.name}: {what}" for one in runs for what in one.complaints]
        for k, j in streams.pairs(case, schedule.streams):
            moved, lost, what = _compare(case, schedule, runs[k], runs[j])
            part, epsilon, number = max(part, moved), max(epsilon, lost), number + 1
            wrong += [f"{runs[k].stream.name} and {runs[j].stream.name}: {one}" for one in what]
    wrong += _unlike_the_law(every, risk)
    return Moves(epsilon, part, number, tuple(wrong))


def _unlike_the_law(runs: Sequence[Run], risk: float) -> list[str]:
    """What is wrong with the noise of these boards, taken together; entry after entry, each on all days in turn."""
    drawn = [one for one in runs if one.fresh]
    if not drawn or drawn[0].noise is None:
        return []
    noises = [np.concatenate([_entries(one, k) for one in drawn])[:, None] for k in range(2)]
    fits = law_of(drawn[0].noise).fits(noises[0], noises[1])
    return [f"{fit.part}: p = {fit.p_value:.1e}" for fit in fits if fit.p_value < risk / len(fits)]


def _entries(one: Run, k: int) -> Integers:
    days = [values[k] for values in one.fresh]
    least = min(map(len, days))
    return np.stack([day[:least] for day in days]).T.reshape(-1)


def _runs(case: BoardCase, schedule: Schedule) -> list[Run]:
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        return [run(case, schedule, stream, Path(folder) / str(k)) for k, stream in enumerate(schedule.streams)]


def _compare(case: BoardCase, schedule: Schedule, one: Run, other: Run) -> tuple[Fraction, float, list[str]]:
    """How far two neighbours are apart, what that loses, and what is wrong."""
    if one.outline != other.outline or one.noise is None:
        return Fraction(0), 0.0, ["what is public beside the noise differs, or there is an error"]
    apart = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(one.exact, other.exact, strict=True)]
    law, wrong = law_of(one.noise), []
    part, lost = law.part(apart), law.epsilon(apart, case.privacy.delta)
    if part > 1:
        wrong.append(f"all days together move too far: {float(part):.8g} of what was derived")
    first = streams.first_difference(case, schedule, one.stream, other.stream)
    if any(values.any() for day in apart[: first - 1] for values in day):
        wrong.append(f"days before day {first} differ, on which the first row differs")
    return part, lost, wrong


# ---- noise ----------------------------------------------------------------------------------------------------------


def fits(case: BoardCase, draws: int) -> list[Fit]:
    """The noise of many days as one crossing draws it, alternating between two sums that are far apart."""
    noise = _noise(case)
    return law_of(noise).fits(*_drawn_alone(noise, draws))


def _noise(case: BoardCase) -> BoardNoise:
    """As the terms of such a board have it."""
    from quietrank.boards.log import Terms

    terms = Terms(
        "audit", case.privacy, streams.ITEMS, case.horizon, case.every, streams.START, case.window,
        None if case.groups is None else "group", case.groups,
    )  # fmt: skip
    return terms.noise


def _drawn_alone(noise: BoardNoise, draws: int) -> Values:
    """The noise of so many first days, one row for each of them."""
    since, law = (1,) * len(streams.ITEMS), law_of(noise)
    sums = [np.full(2 * len(since), far, dtype=np.int64) for far in (0, 2**40 + GRID)]
    rows: list[Values] = []
    for k in range(draws):
        exact = sums[k % 2]
        encoded = Encoded(1, exact, exact, noise.limit, Draws.of(noise, 1, since, 2, {}))
        rows += law.fresh(_deviations([crossing.cross_day(encoded, noise)], [(exact, exact)]))
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def repeated(case: BoardCase) -> list[str]:
    """Whether noise repeats: in two blocks of days, or in two processes that started alike."""
    noise = _noise(case)
    block = partial(_bytes, noise)
    complaints = []
    if block() == block():
        complaints.append("two blocks of days had the same noise")
    children = in_children(block)
    if len(set(children)) != len(children):
        complaints.append("two processes that started alike drew the same noise")
    return complaints


def _bytes(noise: BoardNoise) -> bytes:
    return b"".join(values.tobytes() for values in _drawn_alone(noise, BLOCK))
