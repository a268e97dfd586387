"""A `Case` and synthetic votes in, `Seen` out: what a run computes from them, and all it would make public.

The votes go the way of any file: written as CSV, read, checked, bounded, counted, and handed to the one crossing
with a ledger that writes down what it is asked. Every function is called through its module.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quietrank import mechanism, perturbed, pipeline, tally, votes
from quietrank.accounting import Charge
from quietrank.additive import Calibrated, MechanismName
from quietrank.audit.cases import Case
from quietrank.audit.neighbours import Row
from quietrank.errors import QuietrankError
from quietrank.noisy import NoisyTally
from quietrank.tally import PairTally, Tally
from quietrank.votes import Votes

Integers = NDArray[np.int64]


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
    """the exact statistic, in lattice steps: what noise must cover"""
    public: dict[str, Any]
    """everything else; must be the same for neighbours"""


def write_votes(case: Case, rows: Sequence[Row], path: Path, *, by_winner: bool = False) -> Path:
    """The votes as a CSV file, in one of the two shapes."""
    names = case.items.names
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["person", "winner", "loser", "tie"] if by_winner else ["person", "item_a", "item_b", "outcome"]
        )
        for person, i, j, answer in rows:
            if by_winner:
                first, second = (j, i) if answer == "b" else (i, j)
                answer = {"tie": "yes", "?": "?"}.get(answer, "no")
                writer.writerow([person, names[first], names[second], answer])
            else:
                writer.writerow([person, names[i], names[j], answer])
    return path


def read(case: Case, path: Path, *, skip_invalid: bool = False) -> Votes:
    """The votes of the file, with the case's items declared."""
    return votes.read_votes(path, items=case.items.names, skip_invalid=skip_invalid)


def see(case: Case, read_from: Votes) -> Seen:
    """Count the votes, cross the line once, and note everything but the noise."""
    try:
        if case.mechanism is MechanismName.PERTURBED_MLE:
            return _see_perturbed(case, read_from)
        calibrated = case.calibrated
        counted = tally.tally_votes(read_from, calibrated.privacy, calibrated.clip)
        ledger = Recorder()
        noisy = mechanism.add_noise(counted, calibrated, ledger=ledger, rows_skipped=read_from.skip_invalid)
    except QuietrankError as error:
        return Seen(np.zeros(0, dtype=np.int64), {"error": f"{type(error).__name__}: {error}"})
    return Seen(
        mechanism.exact_values(counted, calibrated), _public(noisy) | {"charges": ledger.charges, "step": counted.step}
    )


def _public(noisy: NoisyTally) -> dict[str, Any]:
    """Every field of the noisy tally but the noisy values, of which the number is public."""
    found = {field.name: getattr(noisy, field.name) for field in fields(noisy) if field.name != "values"}
    pairs = found.pop("public_pairs")
    found["pairs"] = None if pairs is None else [tuple(pairs.i), tuple(pairs.j), tuple(pairs.counts)]
    if noisy.public_exposure is not None:
        found["public_exposure"] = tuple(noisy.public_exposure.tolist())
    return found | {"entries": len(noisy.values)}


def _see_perturbed(case: Case, read_from: Votes) -> Seen:
    counted = tally.tally_pairs(read_from, case.privacy)
    ledger = Recorder()
    scores = perturbed.perturbed_mle(counted, case.privacy, gamma=case.gamma, ledger=ledger)
    public = {"items": scores.items, "plan": scores.plan, "entries": len(scores.values), "charges": ledger.charges}
    return Seen(pair_wins(counted), public | {"step": counted.step})


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
    elif gamma is not None:
        options["gamma"] = gamma
    try:
        published = pipeline.rank(read_from, case.privacy, **options).to_dict()
    except QuietrankError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    shown = {
        row["item"]: sorted(name for name, value in row.items() if value is not None) for row in published["ranking"]
    }
    return published | {"ranking": shown, "charges": ledger.charges}


def exact(case: Case, rows: Sequence[Row], folder: Path) -> tuple[Tally, Calibrated]:
    """The exact tally of these votes and the noise for it."""
    calibrated = case.calibrated
    read_from = read(case, write_votes(case, rows, folder / "votes.csv"))
    return tally.tally_votes(read_from, calibrated.privacy, calibrated.clip), calibrated
