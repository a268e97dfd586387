"""Names that columns with answers usually have, of every shape, whether or not such a column is read."""

from __future__ import annotations

from quietrank.votes.shapes.best_worst import BEST_NAMES, WORST_NAMES
from quietrank.votes.shapes.long_names import (
    AGREEMENT,
    ONE_HOT_NAMES,
    OUTCOME_NAMES,
    PAIR_NAMES,
    TEXTS,
    TIE_NAMES,
    WINNER_LOSER_NAMES,
    WINS_NAMES,
)

_ONE_HOT = (name.format(a=a, b=b) for names in ONE_HOT_NAMES.values() for name in names for a, b in PAIR_NAMES)

ANSWER_NAMES = frozenset(
    (
        *(name for names in (*WINNER_LOSER_NAMES, *WINS_NAMES) for name in names),
        *OUTCOME_NAMES, *TIE_NAMES, *TEXTS, *AGREEMENT, *BEST_NAMES, *WORST_NAMES, *_ONE_HOT,
        "answer", "ballot", "choice", "ranking",
    )
)  # fmt: skip
"""in lower case, with underscores for other marks"""
