"""A caller's arguments in, what they ask for out, checked once: a `Request`, a promise, an open ledger.

What would fail or be ignored is refused here, before anything is debited.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quietrank.errors import PrivacyError, QuietrankError, either, option
from quietrank.estimate.overall import NO_SCORES, require_overall
from quietrank.maths.links import Link
from quietrank.mechanisms.choose import Choice
from quietrank.mechanisms.choose_top import choose_top
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.perturbed_mle.mechanism import PerturbedMLE
from quietrank.mechanisms.registry import named
from quietrank.mechanisms.scatter import Share, price
from quietrank.mechanisms.selection import Selection
from quietrank.promise.accounting import Ledger
from quietrank.promise.arguments import file_path, flag, number, parse, whole_number
from quietrank.promise.privacy import Privacy, Unit
from quietrank.promise.promise import Promise
from quietrank.publish.view import USUAL, Scale, View
from quietrank.statistics.method import NO_TIES, Method, Ties, require_counts
from quietrank.votes.read import Votes

Gamma = float | Literal["auto"]
LARGEST_SHARE = 0.5
"""of ε, for the scatter"""
Payer = Ledger | str | os.PathLike[str] | None
"""an open ledger, the path of one, or none"""


@dataclass(frozen=True)
class Request:
    """The caller's choices, checked: what would fail or be ignored is refused before anything is debited."""

    mechanism: Mechanism | None
    """None: the best of those that keep the promise"""
    method: Method
    gamma: Gamma
    view: View = USUAL
    sampling_share: Share = "auto"
    overall: bool = False
    """whether there is also a ranking over all groups"""
    ties: Ties = Ties.HALF

    @classmethod
    def of(
        cls,
        mechanism: object,
        method: object,
        gamma: Gamma = "auto",
        comparisons_per_item: float | None = None,
        calibration: object = "tight",
        link: str | Link = "logistic",
        *,
        view: View = USUAL,
        sampling_share: object = "auto",
        overall: object = False,
        ties: object = "half",
    ) -> Request:
        """From a caller's arguments, of whatever type."""
        chosen, ranked_by, share = named(mechanism), parse(Method, "method", method), _checked_share(sampling_share)
        _require_ranking(chosen)
        all_groups, of_ties = flag("overall", overall), parse(Ties, "ties", ties)
        if of_ties is Ties.DAVIDSON:
            ranked_by = _method_for_ties(ranked_by, chosen)
        if ranked_by is Method.AUTO and view.scale is not Scale.LOG_ODDS and not isinstance(chosen, PerturbedMLE):
            ranked_by = Method.BRADLEY_TERRY  # nothing else has scores on a scale
        gamma = "auto" if is_word(gamma, "auto") else _positive("gamma", gamma, ", or auto")
        if comparisons_per_item is not None:
            comparisons_per_item = _positive("comparisons_per_item", comparisons_per_item)
        if isinstance(chosen, PerturbedMLE):
            _require_scores(ranked_by)
            if all_groups:
                raise PrivacyError(NO_SCORES)
            ridge = None if gamma == "auto" else gamma
            with_options = chosen.with_options(ridge, comparisons_per_item, calibration, link)
            return cls(with_options, Method.AUTO, "auto", view, share)
        if not (comparisons_per_item is None and is_word(calibration, "tight") and is_word(link, "logistic")):
            raise PrivacyError(OF_PERTURBED_MLE)
        _require_ridge_used(gamma, ranked_by)
        if ranked_by is not Method.AUTO:
            view.require_for(ranked_by)
        return cls(chosen, ranked_by, gamma, view, share, all_groups, of_ties)

    def price_of_scatter(self, promise: Promise) -> float:
        """The part of ε that is spent on the intervals; nothing where there are none."""
        if promise.privacy.unit is Unit.COMPARISON and self.sampling_share not in ("auto", 0):
            raise PrivacyError(
                f"{option('sampling_share')} is for {option('unit', 'person')}: single votes are taken to be "
                "independent, and nothing is bought; leave it out"
            )
        return 0.0 if self.method is Method.WINS else price(self.sampling_share, promise)

    def require_groups(self, groups: Sequence[str] | None) -> None:
        """Refuse a ranking over all groups where there are none, or where one of them has its name."""
        if self.overall and groups is None:
            raise QuietrankError(
                f"{option('overall')} is the ranking over all groups, and there are none; leave it out, or add "
                f"{option('by')} and {option('groups')}"
            )
        if self.overall:
            require_overall(groups or ())

    def of_counts(self) -> Request:
        """The same request for counts to be saved, which the perturbed MLE does not have."""
        if isinstance(self.mechanism, PerturbedMLE):
            raise PrivacyError(
                f"{option('mechanism', 'perturbed-mle')} releases scores and no counts, so there is no tally to save; "
                f"{either('use rank', 'leave --save-tally out')}, or choose another mechanism"
            )
        return self


@dataclass(frozen=True)
class TopRequest:
    """The choices of a caller who wants to know who is first, checked."""

    k: int
    mechanism: Mechanism | None
    """None: what finds most of the first k"""
    method: Method

    @classmethod
    def of(cls, k: object, mechanism: object = "auto", method: object = "auto") -> TopRequest:
        """From a caller's arguments, of whatever type."""
        first = whole_number(k)
        if first is None or first < 1:
            raise PrivacyError(
                f"{either('k', '--only-top')} must be a whole number, 1 or more, and below the number of items; got "
                f"{k!r}"
            )
        ranked_by = parse(Method, "method", method)
        require_counts(ranked_by)
        return cls(first, named(mechanism), ranked_by)

    def require_few(self, promise: Promise) -> None:
        """Refuse a list of all items."""
        if self.k >= len(promise.items):
            raise PrivacyError(
                f"{either('k', '--only-top')} must be below the number of items, {len(promise.items)}; got {self.k}"
            )

    def choice(self, promise: Promise) -> Choice:
        """The noise, from public values."""
        self.require_few(promise)
        return choose_top(promise, self.k, self.method, self.mechanism)


def _checked_share(share: object) -> Share:
    """The part of ε for the scalar, as the user gives it."""
    if is_word(share, "auto"):
        return "auto"
    value = number(share)
    if value is None or not 0 <= value <= LARGEST_SHARE:
        name = "sampling_share"
        raise PrivacyError(
            f"{option(name)} must be a number from 0, which buys nothing, to {LARGEST_SHARE}, or auto; got "
            f"{option(name, repr(share))}"
        )
    return value


OF_PERTURBED_MLE = (
    f"{option('comparisons_per_item')}, {option('calibration')} and {option('link')} belong to "
    f"{option('mechanism', 'perturbed-mle')}; leave them out"
)


def _require_ranking(mechanism: Mechanism | None) -> None:
    if isinstance(mechanism, Selection):
        raise PrivacyError(
            f"{option('mechanism', mechanism.name)} names the first few items and ranks no others; "
            f"{either('use top', 'add --only-top K')}, or choose another mechanism"
        )


def _require_ridge_used(gamma: Gamma, method: Method) -> None:
    if gamma != "auto" and method is not Method.BRADLEY_TERRY:
        raise PrivacyError(
            f"{option('gamma')} belongs to {option('method', 'bradley-terry')}; leave it out, or use that (got "
            f"{option('method', method)})"
        )


def _require_scores(method: Method) -> None:
    if method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(
            f"{option('mechanism', 'perturbed-mle')} gives Bradley-Terry scores; leave {option('method', method)} out"
        )


def _method_for_ties(method: Method, mechanism: Mechanism | None) -> Method:
    """Davidson's model is one of scores from counts."""
    if isinstance(mechanism, PerturbedMLE) or method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(NO_TIES)
    return Method.BRADLEY_TERRY


def is_word(argument: object, word: str) -> bool:
    """Whether the argument is this word; an array, for one, compares differently with text."""
    return isinstance(argument, str) and argument == word


def _positive(name: str, argument: object, otherwise: str = "") -> float:
    value = number(argument)
    if value is None or not (math.isfinite(value) and value > 0):
        raise PrivacyError(f"{option(name)} must be a finite number > 0{otherwise}; got {option(name, repr(argument))}")
    return value


# ---- the votes, the promise, the ledger ------------------------------------------------------------------------------


def ungrouped(votes: Votes) -> Votes:
    """The same votes, if they were read without groups."""
    if isinstance(votes, Votes) and votes.groups is not None:
        raise QuietrankError("these votes were read by group; use rank_by_group, or read them without by and groups")
    return votes


def by_group(votes: Votes) -> Votes:
    """The same votes, if they were read by group."""
    if isinstance(votes, Votes) and votes.groups is None:
        raise QuietrankError("say what the groups are: read_votes(..., by='country', groups=[...])")
    return votes


def promise_for(votes: Votes, privacy: Privacy) -> Promise:
    """What is promised for these votes, which must fit it."""
    if not (isinstance(votes, Votes) and isinstance(privacy, Privacy)):
        raise QuietrankError("give what read_votes returned, and a Privacy: rank(read_votes(...), Privacy(...))")
    votes.require_fits(privacy)
    return Promise(privacy, votes.items, votes.groups, votes.group_of, votes.leaves_out)


def open_ledger(ledger: Payer) -> Ledger | None:
    """The ledger, which is opened if it is a path; one that cannot pay is refused before the votes are read."""
    if isinstance(ledger, str | os.PathLike):
        from quietrank.ledger.book import BudgetLedger

        book = BudgetLedger.open(file_path(ledger, "ledger"))
        book.require_writable()
        return book
    if ledger is not None and (isinstance(ledger, type) or not callable(getattr(ledger, "debit", None))):
        raise QuietrankError(f"ledger must be a ledger or the path of one; got {ledger!r}")
    return ledger
