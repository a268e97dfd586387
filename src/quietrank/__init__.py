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
    from quietrank.audit.run import audit
    from quietrank.errors import QuietrankError
    from quietrank.grouped import GroupedRelease
    from quietrank.noisy import GroupedTally, NoisyTally
    from quietrank.nonprivate import NonPrivateFit
    from quietrank.pipeline import fit, noisy_tally, noisy_tally_by_group, rank, rank_by_group, rerank
    from quietrank.planning.ask import plan
    from quietrank.planning.result import Plan
    from quietrank.privacy import Privacy
    from quietrank.release import Release
    from quietrank.votes import Votes, read_votes

# Imported when first used: `import quietrank` itself must stay light.
_HOME = {
    "GroupedRelease": "quietrank.grouped",
    "GroupedTally": "quietrank.noisy",
    "NoisyTally": "quietrank.noisy",
    "NonPrivateFit": "quietrank.nonprivate",
    "Plan": "quietrank.planning.result",
    "Privacy": "quietrank.privacy",
    "QuietrankError": "quietrank.errors",
    "Release": "quietrank.release",
    "Votes": "quietrank.votes",
    "fit": "quietrank.pipeline",
    "noisy_tally": "quietrank.pipeline",
    "noisy_tally_by_group": "quietrank.pipeline",
    "plan": "quietrank.planning.ask",
    "rank": "quietrank.pipeline",
    "rank_by_group": "quietrank.pipeline",
    "read_votes": "quietrank.votes",
    "rerank": "quietrank.pipeline",
}

__all__ = [
    "GroupedRelease",
    "GroupedTally",
    "NoisyTally",
    "NonPrivateFit",
    "Plan",
    "Privacy",
    "QuietrankError",
    "Release",
    "Votes",
    "__version__",
    "audit",
    "estimators",
    "fit",
    "noisy_tally",
    "noisy_tally_by_group",
    "plan",
    "rank",
    "rank_by_group",
    "read_votes",
    "rerank",
]


def __getattr__(name: str) -> object:
    if name in ("audit", "estimators"):
        return importlib.import_module(f"quietrank.{name}")  # audit, a package, can be called
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'quietrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
