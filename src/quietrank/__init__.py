"""Private rankings from pairwise votes.

import quietrank as qr

votes = qr.read_votes("votes.csv", items=["tea", "coffee", "water"])
release = qr.rank(votes, qr.Privacy(epsilon=1.0, unit="comparison"))
print(release)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from quietrank import estimators
    from quietrank.auditing.run import audit
    from quietrank.boards.board import Board
    from quietrank.errors import QuietrankError
    from quietrank.estimate.noisy import GroupedTally, NoisyTally
    from quietrank.ledger.book import Ledger
    from quietrank.pipeline import fit, noisy_tally, noisy_tally_by_group, rank, rank_by_group, rerank, top
    from quietrank.planning.board import plan_board
    from quietrank.planning.board_result import BoardPlan
    from quietrank.planning.plan import plan
    from quietrank.planning.result import Plan
    from quietrank.planning.top import TopPlan, plan_top
    from quietrank.promise.privacy import Privacy
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.nonprivate import NonPrivateFit
    from quietrank.publish.release import Release
    from quietrank.publish.top import TopRelease
    from quietrank.simulation import simulate, synthetic
    from quietrank.votes.check import check
    from quietrank.votes.read import Votes, read_votes

# Imported when first used: `import quietrank` itself must stay light.
_HOME = {
    "Board": "quietrank.boards.board",
    "BoardPlan": "quietrank.planning.board_result",
    "GroupedRelease": "quietrank.publish.grouped",
    "GroupedTally": "quietrank.estimate.noisy",
    "Ledger": "quietrank.ledger.book",
    "NoisyTally": "quietrank.estimate.noisy",
    "NonPrivateFit": "quietrank.publish.nonprivate",
    "Plan": "quietrank.planning.result",
    "Privacy": "quietrank.promise.privacy",
    "QuietrankError": "quietrank.errors",
    "Release": "quietrank.publish.release",
    "TopPlan": "quietrank.planning.top",
    "TopRelease": "quietrank.publish.top",
    "Votes": "quietrank.votes.read",
    "audit": "quietrank.auditing.run",
    "check": "quietrank.votes.check",
    "fit": "quietrank.pipeline",
    "noisy_tally": "quietrank.pipeline",
    "noisy_tally_by_group": "quietrank.pipeline",
    "plan": "quietrank.planning.plan",
    "plan_board": "quietrank.planning.board",
    "plan_top": "quietrank.planning.top",
    "rank": "quietrank.pipeline",
    "rank_by_group": "quietrank.pipeline",
    "read_votes": "quietrank.votes.read",
    "rerank": "quietrank.pipeline",
    "simulate": "quietrank.simulation",
    "synthetic": "quietrank.simulation",
    "top": "quietrank.pipeline",
}

__all__ = [
    "Board",
    "BoardPlan",
    "GroupedRelease",
    "GroupedTally",
    "Ledger",
    "NoisyTally",
    "NonPrivateFit",
    "Plan",
    "Privacy",
    "QuietrankError",
    "Release",
    "TopPlan",
    "TopRelease",
    "Votes",
    "__version__",
    "audit",
    "check",
    "estimators",
    "fit",
    "noisy_tally",
    "noisy_tally_by_group",
    "plan",
    "plan_board",
    "plan_top",
    "rank",
    "rank_by_group",
    "read_votes",
    "rerank",
    "simulate",
    "synthetic",
    "top",
]


def __getattr__(name: str) -> object:
    if name == "estimators":
        return importlib.import_module("quietrank.estimators")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'quietrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
