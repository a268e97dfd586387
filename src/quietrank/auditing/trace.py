"""A `Case` and synthetic votes in, `Seen` out: what a run computes from them, and all it would make public.

The votes go the way of any file: written as CSV, read, checked, bounded, counted, and handed to the one crossing
with a ledger that writes down what it is asked. Every function is called through its module. What is one per group
is a list, with a single entry where votes are not split.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quietrank import crossing as mechanism
from quietrank import pipeline
from quietrank.auditing.cases import Case
from quietrank.auditing.neighbours import Row
from quietrank.errors import QuietrankError
from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms.additive import Calibrated, MechanismName
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.mechanism import PerturbedScores
from quietrank.promise.accounting import Charge
from quietrank.votes import read as votes
from quietrank.votes import tally
from quietrank.votes.read import Votes
from quietrank.votes.tally import PairTally, Tally

Integers = NDArray[np.int64]
GROUP = "region"
"""the column of the group"""


class Recorder:
    """A ledger that allows everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.charges: list[Charge] = []

    def debit(self, charge: Charge) -> str:
        self.charges.append(charge)
        return "1"


@dataclass(frozen=True, eq=False)
class Seen:
    """What came of one set of votes."""

    values: Integers
    """the exact statistic, in lattice steps, one row per group: what noise must cover"""
    public: dict[str, Any]
    """everything else; must be the same for neighbours"""


def write_votes(case: Case, rows: Sequence[Row], path: Path, *, by_winner: bool = False) -> Path:
    """The votes as a CSV file, in one of the two shapes."""
    names, split = case.items.names, case.groups is not None
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        header = ["person", "winner", "loser", "tie"] if by_winner else ["person", "item_a", "item_b", "outcome"]
        writer.writerow(header + [GROUP] * split)
        for person, i, j, answer, group in rows:
            if by_winner:
                i, j = (j, i) if answer == "b" else (i, j)
                answer = {"tie": "yes", "?": "?"}.get(answer, "no")
            writer.writerow([person, names[i], names[j], answer] + [group] * split)
    return path


def read(case: Case, path: Path, *, skip_invalid: bool = False) -> Votes:
    """The votes of the file, with the case's items, askable pairs and groups declared."""
    names, options = case.items.names, dict[str, Any]()
    if case.items.pairs is not None:
        options["pairs"] = [(names[i], names[j]) for i, j in case.items.pairs]
    if case.groups is not None:
        options |= {"by": GROUP, "groups": case.groups}
    return votes.read_votes(path, items=names, skip_invalid=skip_invalid, **options)


def count(case: Case, read_from: Votes) -> list[Tally]:
    """The exact tally of each group, bounded for the case's noise."""
    calibrated = case.calibrated
    if case.groups is None:
        return [tally.tally_votes(read_from, calibrated.privacy, calibrated.clip)]
    return tally.tally_groups(read_from, calibrated.privacy, calibrated.clip)


def count_pairs(case: Case, read_from: Votes) -> list[PairTally]:
    """The same by pair, for the perturbed MLE."""
    if case.groups is None:
        return [tally.tally_pairs(read_from, case.privacy)]
    return tally.tally_pairs_of_groups(read_from, case.privacy)


def cross(tallies: Sequence[Tally], calibrated: Calibrated, **options: Any) -> list[NoisyTally]:
    """The one crossing, for one tally or for one per group; `options` are ledger and rows_skipped."""
    if calibrated.groups:
        return mechanism.add_noise_to_groups(tallies, calibrated, **options)
    return [mechanism.add_noise(tallies[0], calibrated, **options)]


def perturb(case: Case, tallies: Sequence[PairTally], **options: Any) -> list[PerturbedScores]:
    """The crossing of the perturbed MLE."""
    options |= {"gamma": case.gamma, "calibration": case.calibration, "link": case.link}
    if case.groups is None:
        return [perturbed.perturbed_mle(tallies[0], case.privacy, **options)]
    return perturbed.perturbed_mle_of_groups(tallies, case.privacy, **options)


def statistics(tallies: Sequence[Tally], calibrated: Calibrated) -> Integers:
    """The exact statistic of each group, a row each, in lattice steps."""
    return np.array([mechanism.exact_values(one, calibrated) for one in tallies])


def see(case: Case, read_from: Votes) -> Seen:
    """Count the votes, cross the line once, and note everything but the noise."""
    try:
        if case.mechanism is MechanismName.PERTURBED_MLE:
            return _see_perturbed(case, read_from)
        calibrated = case.calibrated
        counted = count(case, read_from)
        ledger = Recorder()
        noisy = cross(counted, calibrated, ledger=ledger, rows_skipped=read_from.skip_invalid)
    except QuietrankError as error:
        return Seen(np.zeros((0, 0), dtype=np.int64), {"error": f"{type(error).__name__}: {error}"})
    each = [_public(one) for one in noisy]
    public = {name: [one[name] for one in each] for name in each[0]}
    return Seen(statistics(counted, calibrated), public | {"charges": ledger.charges, "step": counted[0].step})


def _public(noisy: NoisyTally) -> dict[str, Any]:
    """Every field of the noisy tally but the noisy values, of which the number is public."""
    found = {field.name: getattr(noisy, field.name) for field in fields(noisy) if field.name != "values"}
    pairs = found.pop("public_pairs")
    found["pairs"] = None if pairs is None else [tuple(pairs.i), tuple(pairs.j), tuple(pairs.counts)]
    if noisy.public_exposure is not None:
        found["public_exposure"] = tuple(noisy.public_exposure.tolist())
    return found | {"entries": len(noisy.values)}


def _see_perturbed(case: Case, read_from: Votes) -> Seen:
    counted = count_pairs(case, read_from)
    ledger = Recorder()
    scores = perturb(case, counted, ledger=ledger, rows_skipped=read_from.skip_invalid)
    shown = ("items", "plan", "privacy", "rows_skipped", "ledger_entry")
    public: dict[str, Any] = {name: [getattr(one, name) for one in scores] for name in shown}
    public |= {"entries": [len(one.values) for one in scores], "charges": ledger.charges, "step": counted[0].step}
    return Seen(np.array([pair_wins(one) for one in counted]), public)


def pair_wins(counted: PairTally) -> Integers:
    """The wins of i over j in row i and column j, flattened, in steps."""
    n = len(counted.items)
    wins = np.zeros((n, n), dtype=np.int64)
    wins[counted.i, counted.j], wins[counted.j, counted.i] = counted.wins_i, counted.wins_j
    return wins.reshape(-1)


def release_outline(case: Case, read_from: Votes, *, gamma: float | None = None) -> dict[str, Any]:
    """A whole release as it would be published, with what is noise taken out: figures of items, and their order."""
    ledger = Recorder()
    options: dict[str, Any] = {"mechanism": case.mechanism, "ledger": ledger}
    if case.mechanism is not MechanismName.PERTURBED_MLE:
        options["method"] = case.method
    else:
        options |= {"calibration": case.calibration, "link": case.link}
        options |= {} if gamma is None else {"gamma": gamma}
    try:
        rank = pipeline.rank if case.groups is None else pipeline.rank_by_group
        published = rank(read_from, case.privacy, **options).to_dict()
    except QuietrankError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return _without_noise(published) | {"charges": ledger.charges}


def _without_noise(published: dict[str, Any]) -> dict[str, Any]:
    """The release of each group, or the one release, with the names of an item's figures instead of these."""
    if "groups" in published:
        return published | {"groups": {group: _without_noise(one) for group, one in published["groups"].items()}}
    shown = {
        row["item"]: sorted(name for name, value in row.items() if value is not None) for row in published["ranking"]
    }
    return published | {"ranking": shown}


def read_rows(case: Case, rows: Sequence[Row], folder: Path) -> Votes:
    """These votes, written to a file and read."""
    return read(case, write_votes(case, rows, folder / "votes.csv"))
