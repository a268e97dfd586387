"""What items are ranked by, and what has to be released for it; decided by public things alone."""

from __future__ import annotations

from enum import StrEnum

from quietrank.promise.privacy import Design, Privacy
from quietrank.statistics.sensitivity import Statistic


class Method(StrEnum):
    """What the items are ranked by."""

    AUTO = "auto"
    NET_WINS = "net-wins"
    WINS = "wins"
    WIN_RATE = "win-rate"
    BRADLEY_TERRY = "bradley-terry"


def needs_pairs(method: Method, privacy: Privacy) -> bool:
    """Whether the method makes use of who met whom, where that is public."""
    return method is Method.BRADLEY_TERRY and privacy.design is Design.PUBLIC


def statistic_for(
    method: Method,
    privacy: Privacy,
    *,
    free_total: bool = True,
    cheap_exposures: bool = False,
    groups: bool = False,
) -> Statistic:
    """What has to be released for this method; decided by public things alone.

    `free_total` says that the mechanism charges nothing for the total beside the net wins, `cheap_exposures` that it
    can take exposures at a small share; `groups`, that the votes are split by group, where no group's number of votes
    is public.
    """
    if method is Method.WINS:
        return Statistic.WINS
    if privacy.design is Design.PUBLIC:
        return Statistic.NET_WINS
    if privacy.design is Design.PRIVATE:
        # Exposures double the sensitivity: do not buy them for a ranking that makes no use of them.
        if method is Method.NET_WINS:
            return Statistic.NET_WINS
        return Statistic.NET_WINS_AND_EXPOSURES if cheap_exposures else Statistic.WINS_AND_LOSSES
    if privacy.votes_are_public and not groups:
        return Statistic.NET_WINS
    if not free_total and method in (Method.AUTO, Method.NET_WINS):
        return Statistic.NET_WINS  # the order does not need the total
    # The sum of noisy exposures is a better total than a total at a share as small.
    return Statistic.NET_WINS_AND_EXPOSURES if cheap_exposures else Statistic.NET_WINS_AND_TOTAL
