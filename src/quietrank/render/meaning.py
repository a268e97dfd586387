"""A `Release` in, plain sentences out: what its intervals mean, what it promises in symbols, what is not protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietrank.promise.privacy import Design, Neighbours, Privacy, Unit, plain_number
from quietrank.publish.view import Scale
from quietrank.render.headline import percent

if TYPE_CHECKING:
    from quietrank.mechanisms.mechanism import Figure
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Certainty, Release
    from quietrank.publish.top import TopRelease

Facts = list[tuple[str, str]]
"""names with their values"""

FIGURES = {
    "statistic": "What got the noise",
    "sensitivity": "Sensitivity",
    "norm": "Norm of the sensitivity",
    "scale": "Scale of the noise",
    "rho": "ρ (zero-concentrated differential privacy)",
    "noise_sd": "Noise on an item's count, standard deviation",
    "score_noise_sd": "Noise on an item's score, standard deviation",
    "score_noise_for": "That noise is for",
    "form": "Form of the noise",
    "dimension": "Dimension",
    "pairs": "Pairs that may be asked",
    "step": "Values are multiples of",
    "gamma": "Ridge γ",
    "calibration": "Calibration",
    "link": "Model of a vote",
    "epsilon_main": "ε of the noise inside",
    "epsilon_seal": "ε of the noise on the result",
    "seal_scale": "Scale of the noise on the result",
    "ties_share": "The weight of all ties got the noise after multiplication by",
    "ties_price": "More noise on other counts because ties were counted, as a part",
    "groups": "Groups whose counts, and noise, were added up",
    "top": "Items that are named",
    "person_range": "Votes by which one person may bring two items apart, at most",
}
"""what the figures of a mechanism are called; a name that is not here is shown as it is"""

PROOFS = {
    "laplace": "noisy-tally.md",
    "zonotope": "zonotope.md",
    "ball": "ball.md",
    "gaussian": "gaussian.md",
    "perturbed-mle": "perturbed-mle.md",
    "permute-and-flip": "selection.md",
    "exponential": "selection.md",
}
"""the page in docs/proofs about each mechanism"""

SCORES = {
    "net-wins": "Net wins are half of wins minus losses: 0 is an even record.",
    "wins": "Items are ranked by how often they won.",
    "win-rate": "A win rate is the share of an item's comparisons that it wins; 0.5 is even.",
}
SCORES_OF_SETS = {
    "net-wins": "Net wins are half of the times best minus the times worst: 0 is an even record.",
    "win-rate": (
        "Net wins per time shown are ½ + (times best − times worst)/(2 × times shown): 1 is always the best, 0 always "
        "the worst, 0.5 is even."
    ),
    "bradley-terry": "Scores are those of the model of best–worst choices (maxdiff); an average item has 0.",
}
"""the same for best–worst sets"""
SCALES = {
    Scale.LOG_ODDS: "Scores are Bradley–Terry log-odds: an item 1 above another wins 73 % of their comparisons.",
    Scale.ELO: "Scores are Elo points: an item 100 above another wins 64 % of their comparisons.",
    Scale.PROBABILITY: "Items are scored by their chance to win against an average item, by the Bradley–Terry model.",
}

SCALES_WITH_TIES = {
    Scale.LOG_ODDS: "Scores are log-odds by Davidson's model: an item 1 above another wins 73 % of their comparisons "
    "that are no ties.",
    Scale.ELO: "Scores are Elo points: an item 100 above another wins 64 % of their comparisons that are no ties.",
    Scale.PROBABILITY: "Items are scored by their chance to win against an average item, and half their chance to tie, "
    "by Davidson's model.",
}

NEIGHBOURS = {
    (Unit.COMPARISON, Neighbours.REPLACE): "one vote is replaced by any other",
    (Unit.COMPARISON, Neighbours.ADD_REMOVE): "one vote is added or removed",
    (Unit.COMPARISON, Neighbours.OUTCOME): "the answer of one comparison is another",
    (Unit.PERSON, Neighbours.REPLACE): "all votes of one person are replaced by any others",
    (Unit.PERSON, Neighbours.ADD_REMOVE): "one person, with all their votes, is added or removed",
    (Unit.PERSON, Neighbours.OUTCOME): "the answers of one person are others",
}
"""how D and D′ differ"""


# ---- what the numbers mean -------------------------------------------------------------------------------------------


def meaning(release: Release) -> list[str]:
    """What the score, the intervals and the rest say, and what they do not."""
    scales = SCALES if release.ties is None else SCALES_WITH_TIES
    score = scales[release.scale] if release.method == "bradley-terry" else SCORES.get(release.method, "")
    if release.set_size > 2:
        score = SCORES_OF_SETS.get(release.method, score)
    scores = [score] if score else []
    if release.anchor is not None:
        item, points = release.anchor
        scores.append(f"Scores and intervals are relative to {item}, which is set to {plain_number(points)}.")
    if release.certainty is None:
        return [*scores, "No intervals are known for this ranking, so how sure its order is cannot be said."]
    return [*scores, *_of_certainty(release.certainty)]


def _of_certainty(certainty: Certainty) -> list[str]:
    level = percent(certainty.level)
    together = (
        f"In {level} of surveys like this one, all intervals together contain the true values, and all possible ranks "
        "the true ranks."
        if certainty.simultaneous
        else f"Each interval, taken by itself, contains the true value in {level} of surveys like this one, and an "
        "item's possible ranks contain its true rank. Of many intervals, some will miss."
    )
    return [
        together,
        "Intervals cover two things: which people happened to vote, and the noise that was added for privacy.",
        "They do not cover how people came to be asked: if some kinds of people were more likely to vote than others, "
        "the ranking leans their way, and the intervals cannot tell.",
        "Possible ranks are ranks among all items, whether these are shown or not.",
        f"Items of one tier cannot be told apart from the first item of that tier at {level} confidence. Two of them "
        "may still be told apart from each other, and neighbours in different tiers may not.",
        f"P(first) is the probability of being first, P(top {certainty.top}) of being among the first {certainty.top}, "
        "if the true values of items are spread about as widely as these results suggest.",
    ]


# ---- the promise -----------------------------------------------------------------------------------------------------


def symbols(release: Release | TopRelease) -> Facts:
    """The promise figure by figure: who is protected, how, and by what noise."""
    privacy = release.privacy
    return [
        ("ε", plain_number(privacy.epsilon)),
        ("δ", plain_number(privacy.delta)),
        ("Unit", str(privacy.unit)),
        ("Neighbours", f"{privacy.neighbours}: {NEIGHBOURS[privacy.unit, privacy.neighbours]}"),
        ("Design", str(privacy.design)),
        *_bounds(privacy),
        ("Mechanism", release.mechanism.name),
        *((FIGURES.get(name, name), _figure(value)) for name, value in release.mechanism.figures),
        *_parts(release),
    ]


def _bounds(privacy: Privacy) -> Facts:
    """How the votes of one person were bounded."""
    facts = []
    if privacy.max_per_person is not None and privacy.clip is not None:
        derived = "from which the clip below was derived, unless that was given; not itself enforced"
        facts.append(("Limit on a person's votes", f"L = {privacy.max_per_person}, {derived}"))
    elif privacy.max_per_person is not None:
        whose = "Weight of a person's votes" if privacy.unit is Unit.PERSON else "Votes of each person that count"
        facts.append((f"{whose}, at most", str(privacy.max_per_person)))
    if privacy.one_per_pair:
        facts.append(("Answers per person and pair", "1"))
    if privacy.clip is not None:
        facts.append(("Largest Euclidean norm per person", plain_number(privacy.clip)))
    return facts


def _figure(value: Figure) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _parts(release: Release | TopRelease) -> Facts:
    """What ε was spent on besides the counts."""
    bought = {"the width of the intervals": release.scatter, "choosing the limit": release.limit}
    return [
        (f"Of ε, spent on {what}", plain_number(float(f"{part.epsilon:.4g}")))
        for what, part in bought.items()
        if part is not None
    ]


def promise_notes(privacy: Privacy) -> list[str]:
    """What a reader of the promise might otherwise miss."""
    notes = [
        "D and D′ are any two sets of votes that are neighbours, M(D) is what is published from D, and S is any set of "
        "possible results."
    ]
    if privacy.unit is Unit.COMPARISON:
        notes.append(
            "This protects each vote by itself. All c votes of one person together are protected with c times ε only."
        )
    if privacy.delta:
        notes.append(
            f"δ = {plain_number(privacy.delta)}: of N people, δ·N could be published outright, and the promise be "
            "kept. So δ·N has to be far below 1; what N is, only you may know."
        )
    return notes


def notes_of(grouped: GroupedRelease) -> list[str]:
    """Whose groups these are, and what is assumed: in every group, and besides for the ranking over all of them."""
    notes = [grouped.grouping, *grouped.releases[0][1].assumptions]
    if grouped.overall is not None:
        groups = len(grouped.releases)
        notes.append(
            f"The overall ranking adds up the noisy counts of all groups: its counts have √{groups} times the noise of "
            "one group's. If it is all that is needed, rank without groups."
        )
        notes += [note for note in grouped.overall.assumptions if note not in notes]
    return notes


def unprotected(privacy: Privacy, *, grouped: bool = False, where: str | None = None, board: bool = False) -> list[str]:
    """What is public by declaration: it may be known exactly, and no noise hides it."""
    known = ["The list of items, and on which day each of them joined." if board else "The list of items."]
    if grouped:
        known.append("The list of groups.")
    if where is not None:
        meets = " Which votes meet it is treated as public." if privacy.design is Design.PUBLIC else ""
        known.append(f"The condition that votes had to meet to be counted: {where}.{meets}")
    if privacy.design is Design.PUBLIC:
        known.append("Which pairs were compared and how often, and so the number of votes.")
        if privacy.unit is Unit.PERSON:
            known.append("Who was asked about which pairs, and so the number of people.")
        if grouped:
            known.append("Which group each of them belongs to.")
    elif privacy.neighbours is Neighbours.REPLACE and not board:
        counted = "people" if privacy.unit is Unit.PERSON else "votes"
        groups = " over all groups together" if grouped else ""
        before = ", before the condition is applied" if where else ""
        secret = [*(["how many meet it"] if where else []), *(["how many are in one group"] if grouped else [])]
        protected = f" Protected: {' and '.join(secret)}." if secret else ""
        known.append(f"The number of {counted}{groups}{before}.{protected}")
    known.append("The promise itself, the method and the mechanism with its scale: they were chosen without the votes.")
    if board:
        known.append("How often the board is published, and for how long.")
    if board or privacy.neighbours is Neighbours.ADD_REMOVE:
        known.append("Nothing that was counted: the numbers of people and of votes are protected.")
    return known


def in_one_line(release: Release) -> str:
    """What made the release, in a line."""
    paid = f"; ledger entry {release.ledger_entry}" if release.ledger_entry else ""
    return f"Made with {release.made_with}: {release.privacy.strength}, {release.mechanism.name} noise{paid}."


def proof(release: Release | TopRelease) -> str:
    """The page that derives the sensitivity and the noise."""
    page = PROOFS.get(release.mechanism.name)
    known = f"docs/proofs/{page}" if page else "the documentation of the mechanism"
    return known if release.ties is None else f"{known}, with docs/proofs/ties.md,"
