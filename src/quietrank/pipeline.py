"""The whole chain, votes in, release out; shared by the API, the command line and the app."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, overload

from quietrank.crossing import add_noise, add_noise_to_groups
from quietrank.errors import PrivacyError, QuietrankError, either, option
from quietrank.estimate.methods import Estimate, assumptions, estimate, resolve
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.mechanisms.additive import MechanismName, for_items
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.perturbed_mle.mechanism import PerturbedScores, perturbed_mle, perturbed_mle_of_groups
from quietrank.promise.accounting import Ledger
from quietrank.promise.arguments import file_path, number, parse
from quietrank.promise.privacy import Design, Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.nonprivate import NonPrivateFit
from quietrank.publish.release import Mechanism, Release, make_release
from quietrank.statistics.method import Method, needs_pairs
from quietrank.votes.read import Votes
from quietrank.votes.tally import tally_groups, tally_pairs, tally_pairs_of_groups, tally_votes

Gamma = float | Literal["auto"]
Payer = Ledger | str | os.PathLike[str] | None
"""an open ledger, the path of one, or none"""
Made = TypeVar("Made")


def rank(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    gamma: Gamma = "auto",
    comparisons_per_item: float | None = None,
    calibration: str = "tight",
    link: str = "logistic",
    ledger: Payer = None,
) -> Release:
    """Rank the items of `votes` and keep the promise of `privacy`.

    `gamma` is the ridge of Bradley–Terry scores. `comparisons_per_item`, `calibration` and `link` belong to
    mechanism="perturbed-mle": how many comparisons per item were expected before the votes came in, whether the
    noise is `tight` or as `published`, and the link of the model. `ledger`, an open one or its path, is debited after
    the votes were found usable and before any noise is drawn.
    """
    asked = Asked.of(mechanism, method, gamma, comparisons_per_item, calibration, link)
    privacy, budget = _checked(votes, privacy, groups=False), _opened(ledger)
    if asked.mechanism is MechanismName.PERTURBED_MLE:
        return _release_perturbed(
            perturbed_mle(
                tally_pairs(votes, privacy),
                privacy,
                **asked.for_perturbed,
                ledger=budget,
                rows_skipped=votes.skip_invalid,
            )
        )
    (noisy,) = _noisy(votes, privacy, asked, budget, needs_pairs(asked.method, privacy))
    return rerank(noisy, method=method, gamma=gamma)


def rank_by_group(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    gamma: Gamma = "auto",
    comparisons_per_item: float | None = None,
    calibration: str = "tight",
    link: str = "logistic",
    ledger: Payer = None,
) -> GroupedRelease:
    """One ranking per group of voters, which keep the promise of `privacy` together; the ledger is debited once.

    The votes are read with `by`, the column of the group, and `groups`, the public list of all groups: each of them
    is released, whether or not it has votes. The other options are those of `rank`; `comparisons_per_item` are the
    ones expected in one group.
    """
    asked = Asked.of(mechanism, method, gamma, comparisons_per_item, calibration, link)
    privacy, budget = _checked(votes, privacy, groups=True), _opened(ledger)
    if asked.mechanism is MechanismName.PERTURBED_MLE:
        scores = perturbed_mle_of_groups(
            tally_pairs_of_groups(votes, privacy),
            privacy,
            **asked.for_perturbed,
            ledger=budget,
            rows_skipped=votes.skip_invalid,
        )
        return GroupedRelease(_by(votes), _per_group(votes, [_release_perturbed(found) for found in scores]))
    noisy = _noisy(votes, privacy, asked, budget, needs_pairs(asked.method, privacy))
    return rerank(GroupedTally(_by(votes), _per_group(votes, noisy)), method=method, gamma=gamma)


def noisy_tally(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    ledger: Payer = None,
) -> NoisyTally:
    """What `rank` computes its release from, to be kept: `rerank` makes any release from it at no further cost.

    `method` says what the counts must suffice for. Under a public design the pairs that met are kept as well.
    """
    asked, privacy = Asked.for_tally(mechanism, method), _checked(votes, privacy, groups=False)
    (noisy,) = _noisy(votes, privacy, asked, _opened(ledger), privacy.design is Design.PUBLIC)
    return noisy


def noisy_tally_by_group(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: str = "auto",
    method: str = "auto",
    ledger: Payer = None,
) -> GroupedTally:
    """What `rank_by_group` computes its releases from, to be kept for `rerank`."""
    asked, privacy = Asked.for_tally(mechanism, method), _checked(votes, privacy, groups=True)
    noisy = _noisy(votes, privacy, asked, _opened(ledger), privacy.design is Design.PUBLIC)
    return GroupedTally(_by(votes), _per_group(votes, noisy))


@overload
def rerank(tally: NoisyTally, *, method: str = "auto", gamma: Gamma = "auto") -> Release: ...
@overload
def rerank(tally: GroupedTally, *, method: str = "auto", gamma: Gamma = "auto") -> GroupedRelease: ...
def rerank(
    tally: NoisyTally | GroupedTally, *, method: str = "auto", gamma: Gamma = "auto"
) -> Release | GroupedRelease:
    """A release from a noisy tally that has been paid for; costs nothing, however often it is done."""
    asked = Asked.of("auto", method, gamma)
    if isinstance(tally, NoisyTally):
        return _release(tally, asked.method, asked.gamma)
    if not isinstance(tally, GroupedTally):
        raise QuietrankError("give a noisy tally: rerank(NoisyTally.from_json(...)), or what noisy_tally returned")
    # `auto` may differ between groups where exposures are public: then the win rate is right for all.
    methods = {resolve(one, asked.method) for _, one in tally.tallies}
    common = methods.pop() if len(methods) == 1 else Method.WIN_RATE
    return GroupedRelease(tally.by, tuple((group, _release(one, common, asked.gamma)) for group, one in tally.tallies))


def fit(votes: Votes, *, ridge: float = 0.0, link: str = "logistic") -> NonPrivateFit:
    """Bradley–Terry scores with standard errors, WITHOUT any privacy: for votes you may look at."""
    if not isinstance(votes, Votes):
        raise QuietrankError("give what read_votes returned: fit(read_votes(...))")
    exact = tally_pairs(votes, Privacy(1.0, "comparison"))  # every vote counts once; the ε is not used
    return NonPrivateFit.of(exact.items, exact.in_votes(), ridge, link)


# ---- the parts of the chain --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What was asked for, checked: what would fail, or be ignored, is refused before anything is debited."""

    mechanism: MechanismName
    method: Method
    gamma: Gamma
    comparisons_per_item: float | None
    calibration: str
    link: str

    @classmethod
    def of(
        cls,
        mechanism: str,
        method: str,
        gamma: Gamma = "auto",
        comparisons_per_item: float | None = None,
        calibration: str = "tight",
        link: str = "logistic",
    ) -> Asked:
        """From the words of the edge."""
        asked, ranked_by = parse(MechanismName, "mechanism", mechanism), parse(Method, "method", method)
        gamma = "auto" if _is(gamma, "auto") else _positive("gamma", gamma, ", or auto")
        if comparisons_per_item is not None:
            comparisons_per_item = _positive("comparisons_per_item", comparisons_per_item)
        _check_options(asked, ranked_by, gamma, comparisons_per_item, calibration, link)
        return cls(asked, ranked_by, gamma, comparisons_per_item, calibration, link)

    @classmethod
    def for_tally(cls, mechanism: str, method: str) -> Asked:
        """For a noisy tally that is kept, which the perturbed MLE does not have."""
        asked = cls.of(mechanism, method)
        if asked.mechanism is MechanismName.PERTURBED_MLE:
            raise PrivacyError(
                f"{option('mechanism', 'perturbed-mle')} releases scores and no counts, so there is no tally to save; "
                f"{either('use rank', 'leave --save-tally out')}, or choose another mechanism"
            )
        return asked

    @property
    def for_perturbed(self) -> dict[str, Any]:
        """The options of the perturbed MLE."""
        gamma = None if self.gamma == "auto" else self.gamma
        return {
            "gamma": gamma, "per_item": self.comparisons_per_item, "calibration": self.calibration, "link": self.link
        }  # fmt: skip


def _opened(ledger: Payer) -> Ledger | None:
    """The ledger, opened if a path was given; what could not pay is refused before the votes are read."""
    if isinstance(ledger, str | os.PathLike):
        from quietrank.ledger.book import BudgetLedger

        found = BudgetLedger.open(file_path(ledger, "ledger"))
        found.require_writable()
        return found
    if ledger is not None and (isinstance(ledger, type) or not callable(getattr(ledger, "debit", None))):
        raise QuietrankError(f"ledger must be a ledger or the path of one; got {ledger!r}")
    return ledger


def _checked(votes: Votes, privacy: Privacy, *, groups: bool) -> Privacy:
    """The promise for these items, once it is clear that both arguments are what they should be."""
    if not (isinstance(votes, Votes) and isinstance(privacy, Privacy)):
        raise QuietrankError("give what read_votes returned, and a Privacy: rank(read_votes(...), Privacy(...))")
    if groups and votes.groups is None:
        raise QuietrankError("say what the groups are: read_votes(..., by='country', groups=[...])")
    if not groups and votes.groups is not None:
        raise QuietrankError("these votes were read by group; use rank_by_group, or read them without by and groups")
    return for_items(privacy, votes.items)


def _noisy(votes: Votes, privacy: Privacy, asked: Asked, ledger: Ledger | None, pairs: bool) -> list[NoisyTally]:
    """Choose the noise, count, pay, draw: one noisy tally, or one for each group."""
    choice = choose(votes.items, privacy, asked.method, asked.mechanism, groups=votes.groups is not None)
    noise, skipped = choice.noise, votes.skip_invalid
    if votes.groups is None:
        count = tally_pairs if pairs else tally_votes
        drawn = [add_noise(count(votes, noise.privacy, noise.clip), noise, ledger=ledger, rows_skipped=skipped)]
    else:
        count_groups = tally_pairs_of_groups if pairs else tally_groups
        tallies = count_groups(votes, noise.privacy, noise.clip)
        drawn = add_noise_to_groups(tallies, noise, ledger=ledger, rows_skipped=skipped)
    return [replace(noisy, alternatives=choice.alternatives) for noisy in drawn]


def _release(noisy: NoisyTally, method: Method, gamma: Gamma) -> Release:
    scored = estimate(noisy, method, gamma)
    return make_release(noisy.items, noisy.privacy, _record(noisy), scored, noisy.ledger_entry)


def _by(votes: Votes) -> str:
    return votes.columns.group or ""


def _per_group(votes: Votes, made: list[Made]) -> tuple[tuple[str, Made], ...]:
    return tuple(zip(votes.groups or (), made, strict=True))


def _is(given: object, word: str) -> bool:
    """Whether this word was given; an array, say, compares with a word in a way of its own."""
    return isinstance(given, str) and given == word


def _positive(name: str, given: object, otherwise: str = "") -> float:
    value = number(given)
    if value is None or not (math.isfinite(value) and value > 0):
        raise PrivacyError(f"{option(name)} must be a finite number > 0{otherwise}; got {option(name, repr(given))}")
    return value


def _check_options(
    asked: MechanismName,
    method: Method,
    gamma: Gamma,
    comparisons_per_item: float | None,
    calibration: str,
    link: str,
) -> None:
    """Refuse what would fail, or be ignored, before anything is debited."""
    perturbed = asked is MechanismName.PERTURBED_MLE
    if perturbed and method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(
            f"{option('mechanism', 'perturbed-mle')} gives Bradley-Terry scores; leave {option('method', method)} out"
        )
    left_out = comparisons_per_item is None and _is(calibration, "tight") and _is(link, "logistic")
    if not (perturbed or left_out):
        raise PrivacyError(
            f"{option('comparisons_per_item')}, {option('calibration')} and {option('link')} belong to "
            f"{option('mechanism', 'perturbed-mle')}; leave them out"
        )
    if gamma == "auto":
        return
    if not perturbed and method is not Method.BRADLEY_TERRY:
        raise PrivacyError(
            f"{option('gamma')} belongs to {option('method', 'bradley-terry')}; leave it out, or ask for that (got "
            f"{option('method', method)})"
        )


def _record(noisy: NoisyTally) -> Mechanism:
    figures = {
        "statistic": noisy.statistic.value,
        **dict(noisy.figures),
        "step": float(noisy.step),
        "noise_sd": noisy.count_sd,
    }
    return Mechanism(noisy.mechanism, tuple(figures.items()), noisy.alternatives)


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
        "score_noise_sd": found.noise_sd,
        "score_noise_for": "items never compared" if found.per_item is None else "items compared equally often",
    }
    made = assumptions(found.items, found.privacy, Method.BRADLEY_TERRY, found.rows_skipped, actual_pairs=True)
    scored = Estimate(Method.BRADLEY_TERRY, found.scores, None, None, made, plan.gamma)
    record = Mechanism("perturbed-mle", tuple(figures.items()))
    return make_release(found.items, found.privacy, record, scored, found.ledger_entry)
