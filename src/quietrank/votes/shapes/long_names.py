"""The names that columns of long tables usually have; and those of tables that hold no comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from quietrank.errors import option
from quietrank.votes.shapes.shape import listed

WINNER_LOSER_NAMES = (
    ("winner", "loser"),
    ("chosen_model", "rejected_model"),
    ("model_chosen", "model_rejected"),
    ("chosen_name", "rejected_name"),
)
PAIR_NAMES = (
    ("model_a", "model_b"),
    ("item_a", "item_b"),
    ("left", "right"),
    ("a", "b"),
    ("player1", "player2"),
    ("item1", "item2"),
)
OUTCOME_NAMES = ("outcome", "winner", "result", "label", "preference")
TIE_NAMES = ("tie", "tied", "is_tie", "draw", "ties")
WINS_NAMES = (("win1", "win2"), ("wins1", "wins2"), ("win_a", "win_b"), ("wins_a", "wins_b"))
ONE_HOT_NAMES = {
    "a won": ("winner_{a}",),
    "b won": ("winner_{b}",),
    "tie": ("winner_tie",),
    "both bad": ("winner_tie_bothbad", "winner_bothbad", "winner_both_bad"),
}
"""of a column for each outcome, beside the columns a and b"""

TEXTS = ("chosen", "rejected")
STATEMENTS = ("comment_id", "statement_id", "statement", "comment", "comment_body", "tid")
AGREEMENT = ("vote", "agree", "agrees", "disagree", "disagrees", "agreement")


def known_names(names: Sequence[str]) -> dict[str, str]:
    """Columns by their names in lower case, as written or with underscores for other marks."""
    marked = {underscored(name): name for name in reversed(names)}
    return marked | {name.lower(): name for name in names}


def no_comparisons(names: Sequence[str]) -> str | None:
    """Why a table with these columns, none of which names two items and who won, cannot be ranked; None: unknown.

    Decided by the names of columns alone, never by their cells.
    """
    known = known_names(names)
    if all(name in known for name in TEXTS):
        return (
            "the columns chosen and rejected usually hold texts, which do not say what is ranked; name the columns of "
            f"what wrote them with {option('winner')} and {option('loser')}, such as chosen_model and rejected_model "
            f"(the columns are {listed(names)})"
        )
    statements, votes = ([known[name] for name in common if name in known] for common in (STATEMENTS, AGREEMENT))
    if statements and votes:
        return (
            f"the columns {statements[0]} and {votes[0]} hold votes on single statements, to agree or disagree: they "
            "compare nothing with anything, so there is no ranking; give a table of comparisons, or name its columns "
            f"with {option('winner')} and {option('loser')}"
        )
    return None


def underscored(name: str) -> str:
    """A name as it is compared: in lower case, with underscores for other marks."""
    return "".join("_" if mark in "-. " else mark for mark in name.strip().lower())
