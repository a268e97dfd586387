"""Votes and a `Privacy` in, a release out: the whole chain, shared by the API, the command line, the app and the audit.

| module | comes in → goes out |
|---|---|
| `api.py` | the public functions: a caller's arguments → a release or a noisy tally |
| `request.py` | a caller's arguments → a `Request` or a `TopRequest`, checked once; a promise; an open ledger |
| `release.py` | votes, or a noisy tally, and a `Request` → a release |
| `counts.py` | votes and a `Request` → noisy tallies, paid for |
| `top_list.py` | votes and a `TopRequest` → the first k names, paid for |
| `limit.py` | votes without a limit → one reading of them, and the limit that was chosen; for the two above |
| `nonprivate.py` | votes → scores without noise: not private |
"""

from __future__ import annotations

from quietrank.pipeline.api import noisy_tally, noisy_tally_by_group, rank, rank_by_group, rerank, top
from quietrank.pipeline.counts import make_tally
from quietrank.pipeline.nonprivate import exact_scores, fit
from quietrank.pipeline.release import make_release, release_of
from quietrank.pipeline.request import Request, TopRequest
from quietrank.pipeline.top_list import make_top

__all__ = [
    "Request",
    "TopRequest",
    "exact_scores",
    "fit",
    "make_release",
    "make_tally",
    "make_top",
    "noisy_tally",
    "noisy_tally_by_group",
    "rank",
    "rank_by_group",
    "release_of",
    "rerank",
    "top",
]
