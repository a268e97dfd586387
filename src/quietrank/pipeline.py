"""The whole chain, votes in, release out; shared by the API, the command line and the app."""

from __future__ import annotations

import math
from typing import Literal

from quietrank.accounting import Ledger
from quietrank.additive import MechanismName, for_items
from quietrank.choice import Choice, choose
from quietrank.errors import PrivacyError, QuietrankError
from quietrank.estimators.methods import Estimate, Method, assumptions, estimate, needs_pairs
from quietrank.mechanism import add_noise
from quietrank.noisy import NoisyTally
from quietrank.nonprivate import NonPrivateFit
from quietrank.perturbed import PerturbedScores, perturbed_mle
from quietrank.privacy import Privacy
from quietrank.release import Mechanism, Release, make_release
from quietrank.tally import tally_pairs, tally_votes
from quietrank.votes import Votes
from quietrank.words import parse


def rank(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    gamma: float | Literal["auto"] = "auto",
    comparisons_per_item: float | None = None,
    calibration: str = "tight",
    link: str = "logistic",
    ledger: Ledger | None = None,
) -> Release:
    """Rank the items of `votes` and keep the promise of `privacy`.

    `gamma` is the ridge of Bradley–Terry scores. `comparisons_per_item`, `calibration` and `link` belong to
    mechanism="perturbed-mle": how many comparisons per item were expected before the votes came in, whether the
    noise is `tight` or as `published`, and the link of the model. `ledger` is debited after the votes were found
    usable and before any noise is drawn.
    """
    if not (isinstance(votes, Votes) and isinstance(privacy, Privacy)):
        raise QuietrankError("give what read_votes returned, and a Privacy: rank(read_votes(...), Privacy(...))")
    asked, ranked_by = parse(MechanismName, "mechanism", mechanism), parse(Method, "method", method)
    _check_options(asked, ranked_by, gamma, comparisons_per_item, calibration, link)
    privacy = for_items(privacy, votes.items)
    if asked is MechanismName.PERTURBED_MLE:
        scores = perturbed_mle(
            tally_pairs(votes, privacy),
            privacy,
            gamma=None if gamma == "auto" else gamma,
            per_item=comparisons_per_item,
            calibration=calibration,
            link=link,
            ledger=ledger,
            rows_skipped=votes.skip_invalid,
        )
        return _release_perturbed(scores)
    choice = choose(votes.items, privacy, ranked_by, asked)
    count = tally_pairs if needs_pairs(ranked_by, privacy) else tally_votes
    tally = count(votes, choice.noise.privacy, choice.noise.clip)
    noisy = add_noise(tally, choice.noise, ledger=ledger, rows_skipped=votes.skip_invalid)
    scored = estimate(noisy, ranked_by, gamma)
    return make_release(noisy.items, noisy.privacy, _record(noisy, choice), scored, noisy.ledger_entry)


def fit(votes: Votes, *, ridge: float = 0.0, link: str = "logistic") -> NonPrivateFit:
    """Bradley–Terry scores with standard errors, WITHOUT any privacy: for votes you may look at."""
    exact = tally_pairs(votes, Privacy(1.0, "comparison"))  # every vote counts once; the ε is not used
    return NonPrivateFit.of(exact.items, exact.in_votes(), ridge, link)


def _check_options(
    asked: MechanismName,
    method: Method,
    gamma: float | Literal["auto"],
    comparisons_per_item: float | None,
    calibration: str,
    link: str,
) -> None:
    """Refuse what would fail, or be ignored, before anything is debited."""
    perturbed = asked is MechanismName.PERTURBED_MLE
    if perturbed and method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(f"mechanism=perturbed-mle gives Bradley-Terry scores; leave method={method} out")
    if not perturbed and (comparisons_per_item, calibration, link) != (None, "tight", "logistic"):
        raise PrivacyError(
            "comparisons_per_item, calibration and link belong to mechanism=perturbed-mle; leave them out"
        )
    if gamma == "auto":
        return
    if not perturbed and method is not Method.BRADLEY_TERRY:
        raise PrivacyError(
            f"gamma belongs to method=bradley-terry; leave it out, or ask for that (got method={method})"
        )
    if not (isinstance(gamma, int | float) and math.isfinite(gamma) and gamma > 0):
        raise PrivacyError(f"gamma must be a finite number > 0, or auto; got gamma={gamma}")


def _record(noisy: NoisyTally, choice: Choice) -> Mechanism:
    figures = {
        "statistic": noisy.statistic.value,
        **dict(noisy.figures),
        "step": float(noisy.step),
        "noise_sd": noisy.count_sd,
    }
    return Mechanism(noisy.mechanism, tuple(figures.items()), choice.alternatives)


def _release_perturbed(found: PerturbedScores) -> Release:
    plan = found.plan
    figures = {
        "calibration": plan.calibration.value,
        "link": plan.link.name,
        "scale": plan.lambda_,
        "epsilon_main": plan.epsilon_main,
        "epsilon_seal": plan.epsilon_seal,
        "seal_scale": plan.seal_scale * float(plan.step),
        "step": float(plan.step),
    }
    made = assumptions(found.items, found.privacy, Method.BRADLEY_TERRY, found.rows_skipped, actual_pairs=True)
    scored = Estimate(Method.BRADLEY_TERRY, found.scores, None, None, made, plan.gamma)
    record = Mechanism("perturbed-mle", tuple(figures.items()))
    return make_release(found.items, found.privacy, record, scored, found.ledger_entry)
