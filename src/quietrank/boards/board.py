"""`Board`: a ranking that is published every week or night, for one promise; votes in, boards out.

A board is two files. The public one has what was published, and everything that is shown comes from it. The
confidential one beside it has what is kept about people. Days are counted in order, each exactly once: bounded,
encoded, drawn and committed to the confidential file in one transaction; then noted in the ledger; then copied to the
public file. A crash in between loses nothing, and repeats nothing that anybody has seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from quietrank.boards import public_file
from quietrank.boards.log import Every, EveryWord, Log, Terms
from quietrank.crossing import cross_board, cross_day
from quietrank.errors import BoardError, VotesError, option
from quietrank.ledger.book import BudgetLedger
from quietrank.promise.arguments import file_path, parse, whole_number
from quietrank.promise.declare import declare, declare_groups
from quietrank.promise.privacy import NeighboursWord, Privacy
from quietrank.votes.daily import kept as kept_files
from quietrank.votes.daily.arrivals import arrivals
from quietrank.votes.daily.kept import Kept, unusable
from quietrank.votes.daily.limits import Encoded, Norm
from quietrank.votes.read import Votes, read_votes

CLIP = 3.0
"""C, as a rule: the best is 1.5 to 3 at ε ≤ 2 on a simulated arena"""


class Board:
    """A board; make one with `create`, or `open` one."""

    def __init__(self, path: Path, log: Log) -> None:
        self.path, self.log = path, log

    def __repr__(self) -> str:
        terms = self.log.terms
        return (
            f"<Board: {len(self.log.days)} of {terms.horizon} {terms.every}s, {len(self.log.items)} items, {self.path}>"
        )

    @classmethod
    def create(
        cls,
        path: str | Path,
        items: Iterable[object],
        *,
        epsilon: float,
        delta: float,
        ledger: str | Path | BudgetLedger,
        horizon: int = 52,
        every: EveryWord = "week",
        clip: float = CLIP,
        neighbours: NeighboursWord = "replace",
        start: date | str | None = None,
        window: int | None = None,
        by: str | None = None,
        groups: Iterable[object] | None = None,
    ) -> Board:
        """Make a board, and pay for its whole horizon at once.

        path            the public file; the confidential one has `.confidential` after it
        items           what is ranked; more may join later
        epsilon, delta  the promise to each person, for all days of the board together
        ledger          the budget that pays: an open `Ledger`, or its path. It also knows how far the board has come,
                        so that no copy or backup of it can be continued.
        horizon         how many weeks, or days, are published
        every           "week" or "day"
        clip            how much one person may contribute over the whole horizon; 1.5 to 3 is best for many people
        start           the first day; None: today, in UTC
        window          how many weeks, or days, a board sums up; None: all so far
        by, groups      the column of a vote's group, and the public list of all groups: a board for each
        """
        place, period = file_path(path).absolute(), parse(Every, "every", every)
        first, length = _date("start", start) or _today(), whole_number(horizon)
        if length is None:
            raise BoardError(f"{option('horizon')} must be a whole number, got {horizon!r}")
        if (by is None) != (groups is None):
            raise BoardError(f"say both, {option('by')} and {option('groups')}, or neither")
        terms = Terms(
            secrets.token_hex(8), Privacy(epsilon, "person", delta=delta, clip=clip, neighbours=neighbours),
            declare(items).names, length, period, first, window, by, None if groups is None else declare_groups(groups),
        )  # fmt: skip
        book = ledger if isinstance(ledger, BudgetLedger) else BudgetLedger.open(file_path(ledger, "ledger"))
        book.require_writable()
        noise, log = terms.noise, Log.new(terms)
        if place.exists() or confidential(place).exists():
            return cls._resumed(place, log, book)
        kept_files.create(confidential(place), terms.board, str(book.path), log.lines[0])
        cross_board(noise, book, _charged(terms))
        public_file.copy(place, log.lines)
        return cls(place, log)

    @classmethod
    def _resumed(cls, place: Path, asked: Log, book: BudgetLedger) -> Board:
        """A board whose making was interrupted, if it is the same that is asked for now: it is not paid for twice."""
        taken = BoardError(f"{place} exists already and is not overwritten; choose another name")
        if place.exists() or not confidential(place).exists():
            raise taken
        with kept_files.opened(confidential(place)) as kept:
            log = Log.of(kept.lines)
        same = {**asked.terms.to_dict(), "board": log.terms.board} == log.terms.to_dict()
        if not same or log.days:
            raise taken
        if book.paid(_charged(log.terms)) is None:
            cross_board(log.terms.noise, book, _charged(log.terms))
        public_file.copy(place, log.lines)
        return cls(place, log)

    @classmethod
    def open(cls, path: str | Path) -> Board:
        """Open a board by its public file."""
        place = file_path(path).resolve()
        return cls(place, Log.of(public_file.read(place)))

    # ---- what it says -----------------------------------------------------------------------------------------------

    @property
    def terms(self) -> Terms:
        return self.log.terms

    @property
    def items(self) -> tuple[str, ...]:
        """All items that were ever listed."""
        return self.log.items

    @property
    def days(self) -> int:
        """How many days, or weeks, have been published."""
        return len(self.log.days)

    # ---- what it does -----------------------------------------------------------------------------------------------

    def update(
        self,
        source: object = None,
        *,
        until: date | str | None = None,
        ledger: str | Path | None = None,
        **reading: Any,
    ) -> list[int]:
        """Count the votes of all days that are over and not yet published, publish these days, and return them.

        source   the votes: what `read_votes` takes, with its other arguments, of which `day_column` is needed, and `id`
                 is best given; rows of days that were counted before may be among them
        until    the last day that is over; None: yesterday, in UTC. It is never taken from the votes.
        ledger   where the ledger is now, if it was moved

        Votes that come late count on the first day that is published after they were seen; a vote that was counted
        stays counted, whatever becomes of its row.
        """
        votes = self._read(source, reading)
        last = self._over(until)
        with self._confidential() as kept:
            secret, self.log = kept.secret, self._settled(kept, ledger)
        first = self.days + 1
        if last < first:
            return []
        with arrivals(votes, self.terms.calendar, secret) as db, self._confidential(db) as kept:
            self.log = self._settled(kept, ledger)
            first = self.days + 1
            flaws = kept.take(first, last, self.log.since)
            if flaws and not votes.skip_invalid:
                raise unusable(flaws)
            days = list(range(first, last + 1))
            for _ in days:
                self._publish_next(kept, ledger)
        return days

    def add_items(self, names: Iterable[object], *, ledger: str | Path | None = None) -> None:
        """List more items, from the next day on; votes on them from before are not counted."""
        joined = declare([*self.items, *names]).names[len(self.items) :]
        with self._confidential() as kept:
            self.log = self._settled(kept, ledger)
            longer = self.log.with_items(joined)
            kept.append(longer.lines[-1])
            self.log = self._settled(kept, ledger)

    def retire(self, names: Iterable[str], *, ledger: str | Path | None = None) -> None:
        """Show these items no longer; their votes count as before."""
        gone = tuple(names)
        unknown = [name for name in gone if name not in self.items]
        if unknown:
            raise BoardError(f"{unknown[0]!r} is not on this board; its items are {', '.join(self.items[:8])}, …")
        with self._confidential() as kept:
            self.log = self._settled(kept, ledger)
            kept.append(self.log.with_retired(gone).lines[-1])
            self.log = self._settled(kept, ledger)

    def forget(self, person: object) -> bool:
        """Erase all that is kept about a person, whose later votes will not count; whether there was anything."""
        with self._confidential() as kept:
            found = kept.forget(str(person))
        kept_files.rewrite(confidential(self.path))
        return found

    # ---- one day ----------------------------------------------------------------------------------------------------

    def _publish_next(self, kept: Kept, ledger: str | Path | None) -> None:
        """Count, bound, encode, draw and commit one day; then note it in the ledger, then show it."""
        terms, day = self.terms, self.days + 1
        noise, listed, parts = terms.noise, self.log.listed(day), len(terms.groups or ("",))
        norm = Norm.of(noise)
        with kept.transaction():
            kept.count(day, noise.factor.gram(day), norm)
            net, met = kept.sums(day, parts, listed)
            net_wins, exposures = cross_day(Encoded.of(net, met, noise.factor.roots, norm), noise)
            kept.write(self.log.with_day(net_wins, exposures).lines[-1])
        self.log = self._settled(kept, ledger)

    def _settled(self, kept: Kept, ledger: str | Path | None) -> Log:
        """The log, of which the ledger has noted the last day and the public file has every line; in this order.

        A day that was committed and not noted was never shown: it is noted now. A ledger that knows a later day, or
        another one, has seen this board continued elsewhere.
        """
        log = Log.of(kept.lines)
        book = BudgetLedger.open(file_path(ledger if ledger is not None else kept.ledger, "ledger"))
        if book.paid(_charged(log.terms)) is None:
            raise BoardError(
                f"{book.path} has not paid for this board; give the ledger that did with {option('ledger')}"
            )
        noted = book.position(log.terms.topic)
        if noted != log.position:
            book.advance(log.terms.topic, str(log.position), log.position_before())
        public_file.copy(self.path, log.lines)
        return log

    @contextmanager
    def _confidential(self, db: Any | None = None) -> Iterator[Kept]:
        with kept_files.opened(confidential(self.path), db) as kept:
            if kept.board != self.terms.board:
                raise BoardError(f"{kept.path} belongs to another board; give each board its own files")
            yield kept

    def _read(self, source: object, reading: dict[str, Any]) -> Votes:
        for name in ("items", "items_from_votes", "by", "groups", "pairs"):
            if name in reading:
                raise VotesError(f"{option(name)} is fixed when a board is made; leave it out")
        if reading.get("day_column") is None:
            raise VotesError(f"say which column has the day of a vote, with {option('day_column')}")
        terms = self.terms
        return read_votes(source, self.items, by=terms.by, groups=terms.groups, **reading)

    def _over(self, until: date | str | None) -> int:
        """The last day of the board that is over."""
        terms, last = self.terms, _date("until", until)
        yesterday = _today() - timedelta(days=1)
        if last is not None and last > yesterday:
            raise BoardError(f"{option('until')} must be a day that is over, {yesterday} or before; got {last}")
        over = terms.calendar.number((last or yesterday) + timedelta(days=1)) - 1
        return min(over, terms.horizon)


def confidential(path: Path) -> Path:
    """The confidential file of a board."""
    return path.with_name(f"{path.name}.confidential")


def _charged(terms: Terms) -> str:
    """What the ledger says about the payment."""
    return f"{terms.topic}: gaussian noise on {terms.horizon} {terms.every}s"


def _today() -> date:
    return datetime.now(UTC).date()


def _date(name: str, value: date | str | None) -> date | None:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise BoardError(f"{option(name)} must be a date such as 2026-11-16; got {value!r}") from None
