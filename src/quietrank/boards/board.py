"""`Board`: a ranking that is published every week or night, for one promise; votes in, boards out.

A board is two files. The public one has what was published, and everything that is shown comes from it. The
confidential one beside it has what is kept about people. Days are counted in order, each exactly once: bounded,
encoded, drawn and committed to the confidential file in one transaction; then noted in the ledger; then copied to the
public file. A crash in between loses nothing, and repeats nothing that anybody has seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from quietrank.arrays import Integers
from quietrank.boards import public_file
from quietrank.boards.changes import Changes, changes
from quietrank.boards.history import Reading, tally_of, without
from quietrank.boards.log import Log, Terms
from quietrank.boards.rules import Rules
from quietrank.crossing import cross_board, cross_day, with_draws
from quietrank.errors import BoardError, VotesUsageError, option
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms.horizon import BoardNoise
from quietrank.pipeline import Request, release_of
from quietrank.promise.arguments import file_path, parse, whole_number
from quietrank.promise.declare import declare, declare_groups
from quietrank.promise.every import Every, EveryWord
from quietrank.promise.privacy import NeighboursWord, Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.view import USUAL_LEVEL, Anchor, ScaleWord, View
from quietrank.statistics.method import MethodWord
from quietrank.votes.daily import kept as kept_files
from quietrank.votes.daily.arrivals import arrivals, require_known
from quietrank.votes.daily.kept import Kept, unusable
from quietrank.votes.daily.limits import Draws, Encoded
from quietrank.votes.read import Votes, read_votes

CLIP = 3.0
"""C, as a rule: the best is 1.5 to 3 at ε ≤ 2 on a simulated arena"""
LIMIT = 5
"""L, as a rule, where there is no δ"""


class Board:
    """A ranking that is published every week or night, for one promise; make one with `create`, or `open` one.

    >>> import quietrank as qr, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = qr.Ledger.create(f"{folder.name}/budget.db", 2, 1e-6, data="arena", unit="person")
    >>> board = qr.Board.create(
    ...     f"{folder.name}/arena.board", ["tea", "coffee"], epsilon=2, delta=1e-6, ledger=ledger, start="2026-01-01",
    ... )
    >>> votes = {"judge": ["ana"], "winner": ["tea"], "loser": ["coffee"], "when": ["2026-01-03"]}
    >>> import pyarrow as pa
    >>> board.update(pa.table(votes), day_column="when", person="judge", until="2026-01-14")
    [1, 2]
    """

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
        delta: float | None = None,
        ledger: str | Path | BudgetLedger,
        horizon: int = 52,
        every: EveryWord = "week",
        pure: bool = False,
        clip: float | None = None,
        max_per_person: int | None = None,
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
        pure            True: the promise is epsilon alone, without delta, which takes more noise
        clip            with delta: how much one person may contribute over the whole horizon, as a norm; 3 as a rule
        max_per_person  without delta: the total weight of one person's votes over the whole horizon; 5 as a rule
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
            secrets.token_hex(8), promised(epsilon, delta, pure, clip, max_per_person, neighbours),
            declare(items).names, length, period, first, window, by, None if groups is None else declare_groups(groups),
        )  # fmt: skip
        book = ledger if isinstance(ledger, BudgetLedger) else BudgetLedger.open(file_path(ledger, "ledger"))
        book.require_writable()
        noise, log = terms.noise, Log.new(terms)
        if place.exists() or confidential(place).exists():
            return cls._resume(place, log, book)
        kept_files.create(confidential(place), terms.board, str(book.path), log.lines[0])
        return cls._finish(place, log, cross_board(noise, book, terms.payment))

    @classmethod
    def _finish(cls, place: Path, log: Log, entry: str) -> Board:
        """The board, once its payment is written down."""
        if log.entry is None:
            log = log.with_payment(entry)
            with kept_files.opened(confidential(place)) as kept:
                kept.append(log.lines[-1])
        public_file.copy(place, log.lines)
        return cls(place, log)

    @classmethod
    def _resume(cls, place: Path, wanted: Log, book: BudgetLedger) -> Board:
        """A board whose making was interrupted, if it is the same that is asked for now: it is not paid for twice."""
        taken = BoardError(f"{place} exists already and is not overwritten; choose another name")
        if not confidential(place).exists():
            raise taken
        with kept_files.opened(confidential(place)) as kept:
            log = Log.of(kept.lines)
        same = {**wanted.terms.to_dict(), "board": log.terms.board} == log.terms.to_dict()
        shown = public_file.read(place) if place.exists() else []
        if not same or log.days or shown != list(log.lines[: len(shown)]) or len(shown) == len(log.lines) > 1:
            raise taken
        book.settle()
        paid = book.paid(log.terms.payment)
        return cls._finish(place, log, cross_board(log.terms.noise, book, log.terms.payment) if paid is None else paid)

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

    def summary(self) -> str:
        """Where it stands, in one line."""
        terms = self.terms
        last = "" if not self.days else f", up to {terms.last_day(self.days)}"
        whole = f"{terms.horizon} {terms.every}s"
        promise = f"{terms.privacy.strength} for all {whole} together"
        return f"{self.days} of {whole} published{last}; {len(self.items)} items; {promise}"

    @property
    def ends_soon(self) -> str | None:
        """What to do before the horizon ends, once a tenth of it is left."""
        terms, left = self.terms, self.terms.horizon - self.days
        if left > max(1, terms.horizon // 10):
            return None
        return (
            f"{left} of {terms.horizon} {terms.every}s are left of this board, which ends on "
            f"{terms.last_day(terms.horizon)}; make the next one with `quietrank board new`, and a payment of its own"
        )

    def hidden(self, day: int | None = None) -> str | None:
        """Why a day shows no ranks yet: the noise is not below the spread of the scores; None if it shows them."""
        if not self.days:
            return f"nothing is published yet; the first {self.terms.every} ends on {self.terms.last_day(1)}"
        parts = range(len(self.terms.groups or ("",)))
        if all(Reading(self.log, day or self.days, part).ranks_are_shown for part in parts):
            return None
        return (
            "ranks are not shown yet, because most of what they would say is noise; they will be once the items differ "
            "by more than that"
        )

    def tally(self, day: int | None = None) -> NoisyTally | GroupedTally:
        """The noisy counts of a day (the last one, as a rule), for `rerank`."""
        return tally_of(self.log, self.days if day is None else day)

    def release(
        self,
        day: int | None = None,
        *,
        method: MethodWord = "bradley-terry",
        level: float = USUAL_LEVEL,
        simultaneous: bool = False,
        scale: ScaleWord = "log-odds",
        anchor: Anchor = None,
        overall: bool = False,
    ) -> Release | GroupedRelease:
        """The ranking of a day (the last one, as a rule): all that a release has, at no cost.

        Refused while it would be mostly noise; the others are as for `rerank`.
        """
        if (reason := self.hidden(day)) is not None:
            raise BoardError(reason)
        view = View.of(level, simultaneous, scale, anchor)
        release = release_of(self.tally(day), Request.of("auto", method, view=view, overall=overall))
        if isinstance(release, Release):
            return without(release, self.log.retired)
        of_groups = tuple((group, without(one, self.log.retired)) for group, one in release.releases)
        in_all = None if release.overall is None else without(release.overall, self.log.retired)
        return replace(release, releases=of_groups, overall=in_all)

    def changes(
        self,
        since: int,
        day: int | None = None,
        *,
        level: float = USUAL_LEVEL,
        group: str | None = None,
        scale: ScaleWord = "log-odds",
    ) -> Changes:
        """How each score has changed since a day, with intervals from the joint law of both boards; `scale` is
        "log-odds" or "elo"."""
        chosen = View.of(level, False, scale, None).scale
        groups = self.terms.groups or ("",)
        if (group is None) != (self.terms.groups is None) or (group is not None and group not in groups):
            raise BoardError(f"say of which group, {', '.join(groups)}" if self.terms.groups else "there are no groups")
        last = self.days if day is None else day
        return changes(self.log, last, since, level, groups.index(group or "")).on(chosen)

    def verify(self, *, ledger: str | Path | None = None) -> None:
        """Check that the public file, the confidential one and the ledger agree; raises what is wrong."""
        with self._confidential() as kept:
            log, book = Log.of(kept.lines), self._book(kept, ledger)
            book.verify()
            if list(self.log.lines) != list(log.lines) or book.position(log.terms.topic) != log.position:
                raise BoardError(
                    f"{self.path} does not agree with its confidential file or its ledger; if an update was cut off, "
                    "run `quietrank board update` again"
                )
            noise, days = log.terms.noise, range(1, self.days + 1)
            kept.require_bounded([noise.gram(day) for day in days], noise.limit)
            for day in days if noise.keeps_draws else ():
                self._require_drawn(kept, day)

    def _require_drawn(self, kept: Kept, day: int) -> None:
        """What was published on this day must be its exact counts with the draws that are kept."""
        encoded, shown = self._encode(kept, day), self.log.days[day - 1]
        agrees = not encoded.draws.missing
        if agrees:
            net_wins, exposures = with_draws(encoded, self.terms.noise)
            agrees = (net_wins == shown.net_wins).all() and (exposures == shown.exposures).all()
        if not agrees:
            raise BoardError(
                f"{kept.path} is damaged: the noise of {self.terms.every} {day} is not the one that is kept"
            )

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
        stays counted, whatever becomes of its row. The first update that publishes a day fixes `person`, `day_column`,
        `id`, `shape` and `where`: one that differs is refused.
        """
        votes = self._read(source, reading)
        last = self._last_over(until)
        require_known(votes)
        rules = Rules.of(votes)
        with self._confidential() as kept:
            secret = kept.secret
            self._settle(kept, ledger)
        self._require_same(rules)
        if self.days == self.terms.horizon:
            return []
        assumed = votes.source.assumed
        if last > self.days and assumed is not None and assumed not in self.log.assumed:
            self._append(lambda log: log.with_assumption(assumed), ledger)
        # Also if no day is due: a wrong column is better known now than on the day when it matters.
        with arrivals(votes, self.terms.calendar, secret) as db, self._confidential(db) as kept:
            book = self._settle(kept, ledger)
            self._require_same(rules)
            days = list(range(self.days + 1, last + 1))
            flaws = kept.take(days[0], last, self.log.since) if days else kept.undated()
            if flaws and not votes.skip_invalid:
                raise unusable(flaws)
            for _ in days:
                self._publish_next(kept, book, rules)
        return days

    def _require_same(self, rules: Rules) -> None:
        """Refuse votes that are read by other rules than those that were counted."""
        if self.log.rules is not None:
            self.log.rules.require_same(rules)

    def add_items(self, names: Iterable[object], *, ledger: str | Path | None = None) -> None:
        """List more items, from the next day on; votes on them from before are not counted."""
        joined = tuple(names)
        # The list that counts is the one in the confidential file: an addition that was cut off is in it already.
        self._append(lambda log: log.with_items(declare([*log.items, *joined]).names[len(log.items) :]), ledger)

    def retire(self, names: Iterable[str], *, ledger: str | Path | None = None) -> None:
        """Show these items no longer; their votes count as before."""
        gone = tuple(names)
        unknown = [name for name in gone if name not in self.items]
        if unknown:
            raise BoardError(f"{unknown[0]!r} is not on this board; its items are {', '.join(self.items[:8])}, …")
        if self.log.retired.union(gone).issuperset(self.items):
            raise BoardError("no item would be left to show; keep one of them")
        self._append(lambda log: log.with_retired(gone), ledger)

    def _append(self, event: Callable[[Log], Log], ledger: str | Path | None) -> None:
        """Write down a public event, and show it."""
        with self._confidential() as kept:
            book = self._settle(kept, ledger)
            longer = event(self.log)
            kept.append(longer.lines[-1])
            self._show(longer, book)

    def forget(self, person: object) -> bool:
        """Erase all that is kept about a person, whose later votes will not count; whether there was anything."""
        with self._confidential() as kept:
            was_known = kept.forget(str(person))
        kept_files.rewrite(confidential(self.path))
        return was_known

    # ---- one day ----------------------------------------------------------------------------------------------------

    def _publish_next(self, kept: Kept, book: BudgetLedger, rules: Rules) -> None:
        """Count, bound, encode, draw and commit one day; then note it in the ledger, then show it.

        With the first day, the rules by which its votes were read: an update that counts nothing fixes nothing."""
        noise, day = self.terms.noise, self.days + 1
        with kept.transaction():
            kept.count(day, noise.gram(day), noise.limit)
            encoded = self._encode(kept, day)
            net_wins, exposures = self._draw(encoded, noise)
            if noise.keeps_draws:
                kept.keep(encoded.draws, self.log.listed(day))
            log = self.log.with_rules(rules) if self.log.rules is None else self.log
            longer = log.with_day(net_wins, exposures)
            for line in longer.lines[len(self.log.lines) :]:
                kept.write(line)
        self._show(longer, book)

    def _draw(self, encoded: Encoded, noise: BoardNoise) -> tuple[Integers, Integers]:
        """What is published of one day; the audit looks on here."""
        return cross_day(encoded, noise)

    def _encode(self, kept: Kept, day: int) -> Encoded:
        """The exact counts of a day that was counted, encoded, and what of its noise was drawn before."""
        noise, listed, parts = self.terms.noise, self.log.listed(day), len(self.terms.groups or ("",))
        net, met = kept.sums(day, parts, listed)
        known = kept.drawn(listed) if noise.keeps_draws else {}
        draws = Draws.of(noise, day, self.log.since[:listed], parts, known)
        return Encoded.of(net, met, noise.weights(day), noise.limit, draws)

    def _settle(self, kept: Kept, ledger: str | Path | None) -> BudgetLedger:
        """Read the log, and show what of it was not shown; returns the ledger that paid for the board."""
        book = self._book(kept, ledger)
        self._show(Log.of(kept.lines), book)
        return book

    def _show(self, log: Log, book: BudgetLedger) -> None:
        """Note the last day of what was committed in the ledger, then copy all of it to the public file.

        A day that was committed and not noted was never shown: it is noted now. A ledger that knows a later day, or
        another one, has seen this board continued elsewhere.
        """
        if book.position(log.terms.topic) != log.position:
            book.advance(log.terms.topic, str(log.position), log.position_before())
        public_file.copy(self.path, log.lines)
        self.log = log

    def _book(self, kept: Kept, ledger: str | Path | None) -> BudgetLedger:
        """The ledger that paid for this board."""
        book = BudgetLedger.open(file_path(ledger if ledger is not None else kept.ledger, "ledger"))
        if book.paid(self.terms.payment) is None:
            raise BoardError(
                f"{book.path} has not paid for this board; give the ledger that did with {option('ledger')}"
            )
        book.settle()
        return book

    @contextmanager
    def _confidential(self, db: Any | None = None) -> Iterator[Kept]:
        with kept_files.opened(confidential(self.path), db) as kept:
            if kept.board != self.terms.board:
                raise BoardError(f"{kept.path} belongs to another board; give each board its own files")
            yield kept

    def _read(self, source: object, reading: dict[str, Any]) -> Votes:
        for name in ("items", "items_from_votes", "by", "groups", "pairs"):
            if name in reading:
                raise VotesUsageError(f"{option(name)} is fixed when a board is made; leave it out")
        if reading.get("day_column") is None:
            raise VotesUsageError(f"say which column has the day of a vote, with {option('day_column')}")
        terms = self.terms
        return read_votes(source, self.items, by=terms.by, groups=terms.groups, **reading)

    def _last_over(self, until: date | str | None) -> int:
        """The last day of the board that is over."""
        terms, last = self.terms, _date("until", until)
        yesterday = _today() - timedelta(days=1)
        if last is not None and last > yesterday:
            raise BoardError(f"{option('until')} must be a day that is over, {yesterday} or before; got {last}")
        over = terms.calendar.number((last or yesterday) + timedelta(days=1)) - 1
        return min(over, terms.horizon)


def first_period(start: date | str | None, every: EveryWord) -> str:
    """When the first day or week of a new board is, and what to do if that is too late."""
    period, first = parse(Every, "every", every), _date("start", start) or _today()
    last = first + timedelta(days=period.days - 1)
    when = f"first {period} {first}" + (f" to {last}" if last > first else "")
    return when if start is not None else f"{when}; give {option('start')} to begin earlier"


def confidential(path: Path) -> Path:
    """The confidential file of a board."""
    return path.with_name(f"{path.name}.confidential")


def promised(
    epsilon: float,
    delta: float | None,
    pure: bool,
    clip: float | None,
    max_per_person: int | None,
    neighbours: NeighboursWord,
) -> Privacy:
    """The promise of a board: with δ people are bounded by C, without it by L."""
    if pure and delta:
        raise BoardError(f"{option('pure', True)} promises epsilon alone; leave {option('delta')} out")
    if not pure and delta is None:
        raise BoardError(
            f"say how much of the promise may fail, with {option('delta', '1e-6')}; or promise epsilon alone, with "
            f"{option('pure', True)}, which takes more noise"
        )
    if delta and clip is None:
        clip = CLIP
    if not delta and max_per_person is None:
        max_per_person = LIMIT
    return Privacy(epsilon, "person", delta or 0.0, neighbours, clip=clip, max_per_person=max_per_person)


def _today() -> date:
    return datetime.now(UTC).date()


def _date(name: str, value: date | str | None) -> date | None:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise BoardError(f"{option(name)} must be a date such as 2026-11-16; got {value!r}") from None
