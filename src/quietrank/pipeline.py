"""The whole chain, votes in, release out; shared by the API, the command line and the app."""

from __future__ import annotations

from quietrank.errors import PrivacyError
from quietrank.estimators.methods import Method, estimate, statistic_for
from quietrank.mechanism import Ledger, add_noise
from quietrank.privacy import Privacy
from quietrank.release import Release, make_release
from quietrank.tally import tally_votes
from quietrank.votes import Votes

MECHANISMS = ("auto", "laplace")


def rank(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    ledger: Ledger | None = None,
) -> Release:
    """Rank the items of `votes` and keep the promise of `privacy`.

    `ledger` is debited after the votes were found usable and before any noise is drawn.
    """
    if mechanism not in MECHANISMS:
        raise PrivacyError(f"mechanism must be one of {', '.join(MECHANISMS)}; got mechanism={mechanism!r}")
    ranked_by = Method.parse(method)
    tally = tally_votes(votes, privacy)
    noisy = add_noise(tally, privacy, statistic_for(ranked_by, privacy), ledger=ledger, rows_skipped=votes.skip_invalid)
    return make_release(estimate(noisy, ranked_by), noisy)
