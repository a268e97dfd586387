"""A method and a promise in, the statistic that has to be released out; decided from public values alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NoReturn

from quietrank.errors import PrivacyError, either, option
from quietrank.promise.privacy import Design, Privacy, Unit
from quietrank.promise.promise import Promise
from quietrank.statistics.net_wins import (
    NET_WINS,
    NET_WINS_AND_EXPOSURES,
    NET_WINS_AND_SHOWN,
    NET_WINS_AND_TOTAL,
)
from quietrank.statistics.scores import SCORES
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.ties import WITH_TIES, WithTies
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES

STATISTICS: dict[str, Statistic] = {
    statistic.name: statistic
    for statistic in (
        NET_WINS,
        NET_WINS_AND_TOTAL,
        WINS,
        WINS_AND_LOSSES,
        NET_WINS_AND_EXPOSURES,
        NET_WINS_AND_SHOWN,
        SCORES,
        TOP_BY_NET_WINS,
        TOP_BY_WINS,
    )
}
"""every statistic without ties, by name"""


def statistic_named(name: str) -> Statistic:
    """The statistic of this name, with or without ties; a KeyError where there is none."""
    return {**STATISTICS, **{statistic.name: statistic for statistic in WITH_TIES}}[name]


class Method(StrEnum):
    """What the items are ranked by."""

    AUTO = "auto"
    NET_WINS = "net-wins"
    WINS = "wins"
    WIN_RATE = "win-rate"
    BRADLEY_TERRY = "bradley-terry"


class Ties(StrEnum):
    """What a tie is to Bradley–Terry scores."""

    HALF = "half"
    """half a win for each side"""
    DAVIDSON = "davidson"
    """an outcome of its own, with the odds ν√(π_i π_j)"""


TiesWord = Ties | Literal["half", "davidson"]
"""what callers may write: the word, or the member it stands for"""

MethodWord = Method | Literal["auto", "net-wins", "wins", "win-rate", "bradley-terry"]
"""what callers may write: the word, or the member it stands for"""


TopMethodWord = Method | Literal["auto", "net-wins", "wins"]
"""the same where only the first few are named"""


def needs_pairs(method: Method, privacy: Privacy) -> bool:
    """Whether the method uses the list of who met whom, where that is public."""
    return method is Method.BRADLEY_TERRY and privacy.design is Design.PUBLIC


def statistic_for(
    method: Method, promise: Promise, offered: Sequence[Statistic], *, free_total: bool, ties: Ties = Ties.HALF
) -> Statistic:
    """What has to be released for this method, among the statistics that a mechanism offers.

    `free_total` says that the mechanism charges nothing for the total in addition to the net wins.
    """
    if ties is Ties.HALF:
        return _without_ties(method, promise, offered, free_total=free_total)
    if method not in (Method.AUTO, Method.BRADLEY_TERRY) or SCORES in offered or TOP_BY_NET_WINS in offered:
        raise PrivacyError(NO_TIES)
    promise.require_pairs(option("ties", ties))
    return WithTies(_without_ties(Method.BRADLEY_TERRY, promise, offered, free_total=free_total))


NO_TIES = (
    f"{option('ties', Ties.DAVIDSON)} is a model of Bradley-Terry scores from noisy counts: it does not go with other "
    f"methods, nor with {option('mechanism', 'perturbed-mle')}; use {option('ties', Ties.HALF)}, or "
    f"{option('method', Method.BRADLEY_TERRY)} with another mechanism"
)


def _without_ties(method: Method, promise: Promise, offered: Sequence[Statistic], *, free_total: bool) -> Statistic:
    privacy = promise.privacy
    if SCORES in offered:
        return SCORES
    if TOP_BY_NET_WINS in offered:
        return _selected_by(method, promise)
    if promise.items.in_sets:
        return _for_sets(method, promise, offered, free_total=free_total)
    if method is Method.WINS:
        return WINS
    if privacy.design is Design.PUBLIC:
        return NET_WINS
    if privacy.design is Design.PRIVATE:
        # Exposures double the sensitivity: do not pay for them where the ranking does not use them.
        return NET_WINS if method is Method.NET_WINS else _first(offered, NET_WINS_AND_EXPOSURES, WINS_AND_LOSSES)
    if promise.total_is_public:
        return NET_WINS
    if not free_total and not _clipped(method, privacy, offered) and method in (Method.AUTO, Method.NET_WINS):
        return NET_WINS
    # The sum of noisy exposures is a better total than one released at such a small share.
    return _first(offered, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL)


def _selected_by(method: Method, promise: Promise) -> Statistic:
    """What decides who is at the top, where nothing else is released."""
    require_counts(method)
    if method is Method.WINS:
        promise.require_pairs(option("method", method))
        return TOP_BY_WINS
    return TOP_BY_NET_WINS


def require_counts(method: Method) -> None:
    """Refuse to name the first few by anything but counts."""
    if method not in (Method.AUTO, Method.NET_WINS, Method.WINS):
        raise PrivacyError(
            f"a list of the first few is by net wins or by wins; leave {option('method', method)} out, or "
            f"{either('use rank', 'leave --only-top out')} and cut the ranking"
        )


def _for_sets(method: Method, promise: Promise, offered: Sequence[Statistic], *, free_total: bool) -> Statistic:
    """The same for best–worst sets: nobody wins a set, and times shown take the place of exposures."""
    design = promise.privacy.design
    if method is Method.WINS:
        promise.require_pairs(option("method", method))
    if design is Design.PRIVATE and method is Method.BRADLEY_TERRY:
        refuse_unknown_sets(promise.privacy)
    if design is Design.PUBLIC:
        return NET_WINS
    if design is Design.PRIVATE:
        return NET_WINS if method is Method.NET_WINS else NET_WINS_AND_SHOWN
    if promise.total_is_public:
        return NET_WINS
    if not free_total and not _clipped(method, promise.privacy, offered) and method in (Method.AUTO, Method.NET_WINS):
        return NET_WINS
    return _first(offered, NET_WINS_AND_TOTAL, NET_WINS_AND_SHOWN)


def _clipped(method: Method, privacy: Privacy, offered: Sequence[Statistic]) -> bool:
    """Whether people are clipped: clipped net wins say nothing about all people, win rates do (docs/uncertainty.md).
    The order needs neither."""
    return method is Method.AUTO and NET_WINS_AND_EXPOSURES in offered and privacy.unit is Unit.PERSON


def refuse_unknown_sets(privacy: Privacy) -> NoReturn:
    """Refuse scores where nothing is known of the sets: those of ordinary Bradley–Terry would be stretched."""
    raise PrivacyError(
        f"{option('method', 'bradley-terry')} needs to know which best-worst sets were shown, and under "
        f"{option('design', privacy.design)} only how often each item was is known; declare "
        f"{option('design', 'uniform')} if the sets were drawn at random, or {option('design', 'public')} with "
        f"{option('neighbours', 'outcome')} if they are no secret, or use {option('method', 'win-rate')}"
    )


def _first(offered: Sequence[Statistic], *wanted: Statistic) -> Statistic:
    return next((statistic for statistic in wanted if statistic in offered), wanted[-1])
