"""A `NoisyTally` and a method in, an `Estimate` out: what each item is ranked by, and the figures beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from quietrank.errors import QuietrankError
from quietrank.noisy import Floats, NoisyTally
from quietrank.privacy import Design, Neighbours, Privacy
from quietrank.sensitivity import Statistic


class Method(StrEnum):
    """What the items are ranked by."""

    AUTO = "auto"
    NET_WINS = "net-wins"
    WINS = "wins"
    WIN_RATE = "win-rate"

    @classmethod
    def parse(cls, word: str) -> Method:
        try:
            return cls(word)
        except ValueError:
            raise QuietrankError(f"method must be one of {', '.join(cls)}; got method={word!r}") from None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Scores to rank by, in the order of the items; win rates and net wins where they are known."""

    method: Method
    scores: Floats
    win_rate: Floats | None
    net_wins: Floats | None
    assumptions: tuple[str, ...]


def statistic_for(method: Method, privacy: Privacy) -> Statistic:
    """What has to be released for this method; decided by public things alone."""
    if method is Method.WINS:
        return Statistic.WINS
    if privacy.design is Design.PUBLIC:
        return Statistic.NET_WINS
    if privacy.design is Design.PRIVATE:
        # Exposures double the sensitivity: do not buy them for a ranking that makes no use of them.
        return Statistic.NET_WINS if method is Method.NET_WINS else Statistic.WINS_AND_LOSSES
    if privacy.votes_are_public:
        return Statistic.NET_WINS
    if privacy.neighbours is Neighbours.ADD_REMOVE and method is not Method.WIN_RATE:
        return Statistic.NET_WINS  # the total would cost, and the order does not need it
    return Statistic.NET_WINS_AND_TOTAL


def estimate(noisy: NoisyTally, method: Method) -> Estimate:
    """Score every item by the method."""
    method = resolve(noisy, method)
    win_rate, net_wins = win_rates(noisy), noisy.net_wins
    scores = {Method.WINS: noisy.wins, Method.NET_WINS: net_wins, Method.WIN_RATE: win_rate}[method]
    if scores is None:
        raise QuietrankError(f"method={method} cannot be computed from a release of {noisy.statistic}")
    shown = None if win_rate is None else np.clip(win_rate, 0, 1)
    return Estimate(method, scores, shown, net_wins, _assumptions(noisy, method))


def resolve(noisy: NoisyTally, method: Method) -> Method:
    """`auto`: net wins where every item was compared equally often, else the win rate."""
    if method is not Method.AUTO:
        return method
    if noisy.privacy.design is Design.UNIFORM:
        return Method.NET_WINS
    exposure = noisy.public_exposure
    equal = exposure is not None and bool(np.all(exposure == exposure[0]))
    return Method.NET_WINS if equal else Method.WIN_RATE


def win_rates(noisy: NoisyTally) -> Floats | None:
    """τ̂_i = 1/2 + s̃_i/d_i, or None where the exposure d was not released.

    An exposure below its own noise says nothing, so it is raised to the noise's standard deviation, or to one
    vote: otherwise an item that was hardly compared could come first by a division by almost nothing.
    """
    if noisy.net_wins is None or noisy.exposure is None:
        return None
    noise_of_exposure = noisy.noise_sd * np.sqrt(2) if noisy.statistic is Statistic.WINS_AND_LOSSES else 0.0
    return np.asarray(0.5 + noisy.net_wins / np.maximum(noisy.exposure, max(noise_of_exposure, 1.0)))


def _assumptions(noisy: NoisyTally, method: Method) -> tuple[str, ...]:
    """What a reader has to believe beyond the arithmetic."""
    made = []
    if noisy.items.from_votes:
        made.append("The list of items was taken from the votes: which items are on it is treated as public.")
    if noisy.privacy.design is Design.PUBLIC:
        made.append("Which pairs were compared, and how often, is treated as public.")
    if noisy.privacy.design is Design.UNIFORM:
        made.append("Every pair of items was equally likely to be compared.")
    if noisy.privacy.design is Design.PRIVATE and method is not Method.WIN_RATE:
        made.append("Items are ranked by counts, which favours items that were compared more often.")
    if method is Method.WIN_RATE and noisy.privacy.design is not Design.UNIFORM:
        made.append("Opponents met at random: an item that mostly met strong opponents is ranked too low.")
    if noisy.rows_skipped:
        made.append("Rows that could not be used were to be skipped; whether there were any is not published.")
    return tuple(made)
