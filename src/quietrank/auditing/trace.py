"""A `Case` and synthetic votes in, `Seen` out: what a run computes from them, and everything it would make public.

The votes are treated like any file: written as CSV, read, checked, bounded, counted, and handed to the one crossing
with a ledger that records its debits. Every function is called through its module. Where there is one value per
group, it is a list, with a single entry where votes are not split.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from quietrank import crossing, pipeline
from quietrank.arrays import Integers
from quietrank.auditing import neighbours
from quietrank.auditing.cases import Case
from quietrank.auditing.neighbours import Row
from quietrank.errors import QuietrankError
from quietrank.estimate.methods import Expected
from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms import limit, scatter
from quietrank.mechanisms.limit import LimitNoise
from quietrank.mechanisms.mechanism import Calibrated, Noised
from quietrank.mechanisms.scatter import ScatterNoise
from quietrank.mechanisms.selection import Selection
from quietrank.promise.accounting import Charge, Ledger
from quietrank.promise.privacy import AUTO, GroupOf
from quietrank.statistics.method import Ties, needs_pairs
from quietrank.votes import read as votes
from quietrank.votes import tally
from quietrank.votes.read import Votes
from quietrank.votes.tallies import AnyTally, PairTally, Tallies

GROUP = "region"
"""the column of the group"""


class Recorder:
    """A ledger that allows everything and remembers its debits."""

    def __init__(self) -> None:
        self.charges: list[Charge] = []

    def debit(self, charge: Charge) -> str:
        self.charges.append(charge)
        return "1"


@dataclass(frozen=True, eq=False)
class Seen:
    """The results for one set of votes."""

    values: Integers
    """the exact statistic, in lattice steps, one row per group: what noise must cover"""
    public: dict[str, Any]
    """everything else; must be the same for neighbours"""


def write_votes(case: Case, rows: Sequence[Row], path: Path, *, by_winner: bool = False, wide: bool = False) -> Path:
    """The votes as a CSV file, in one of the three ways; or as best–worst sets."""
    if wide:
        return _write_wide(case, rows, path)
    names, split = case.items.names, case.groups is not None
    if case.items.in_sets:
        return _write_sets(case, rows, path)
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


def _write_sets(case: Case, rows: Sequence[Row], path: Path) -> Path:
    """Two items stand for a set; a tie for one without an answer, and what cannot be read for a best that is worst."""
    names, items = case.items.names, case.items
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        shown = [f"item{k}" for k in range(1, items.shown + 1)]
        writer.writerow(["person", *shown, "best", "worst"] + [GROUP] * (case.groups is not None))
        for person, i, j, answer, group in rows:
            best, worst = {"a": (i, j), "b": (j, i), "?": (i, i)}.get(answer, (None, None))
            members = [names[item] for item in neighbours.set_of(items, i, j)]
            said = ["" if item is None else names[item] for item in (best, worst)]
            cells = [person, *members, *[""] * (items.shown - len(members)), *said]
            writer.writerow(cells + [group] * (case.groups is not None))
    return path


def _write_wide(case: Case, rows: Sequence[Row], path: Path) -> Path:
    """A column for each pair; a person has a row for each vote, with one answer in it."""
    names, pairs, split = case.items.names, case.items.graph.edges, case.groups is not None
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["person", *(f"{names[i]}:{names[j]}" for i, j in pairs)] + [GROUP] * split)
        for person, i, j, answer, group in rows:
            said = {"a": "1" if i < j else "2", "b": "2" if i < j else "1", "tie": "tie"}.get(answer, "")
            cells = [said if pair == (min(i, j), max(i, j)) else "" for pair in pairs]
            writer.writerow([person, *cells] + [group] * split)
    return path


def read(case: Case, path: Path, *, skip_invalid: bool = False) -> Votes:
    """The votes of the file, with the case's items, askable pairs and groups declared."""
    names, options = case.items.names, dict[str, Any]()
    if case.items.pairs is not None:
        options["pairs"] = [(names[i], names[j]) for i, j in case.items.pairs]
    if case.groups is not None:
        options |= {"by": GROUP, "groups": case.groups, "by_person": case.promise.group_of is GroupOf.PERSON}
    return votes.read_votes(path, items=names, skip_invalid=skip_invalid, **options)


def count(case: Case, read_from: Votes) -> Tallies:
    """The exact tally of each group, bounded for the case's noise; by pair for the perturbed MLE."""
    calibrated = case.calibrated
    bounded = calibrated.promise.bounded(calibrated.clip)
    empty = not case.privacy.votes_are_public
    by_pair = calibrated.statistic.by_pair or needs_pairs(case.method, case.privacy)
    return tally.count_votes(read_from, bounded, by_pair=by_pair, may_be_empty=empty)


def cross(tallies: Tallies, calibrated: Calibrated, ledger: Ledger | None = None) -> list[Noised]:
    """The one crossing."""
    return crossing.cross(tallies, calibrated, ledger=ledger)


def scatters(case: Case, read_from: Votes, expected: Expected, bits: int = 0) -> tuple[Integers, ScatterNoise]:
    """The exact scatter of each group around what is expected, in steps, and the noise that a release would add; of one
    person in 2^bits."""
    part = scatter.price("auto", case.promise)
    counts = case.of_epsilon(scatter.rest_of(case.privacy.epsilon, part)).calibrated
    noise = scatter.scatter_noise(counts, case.privacy.epsilon, part)
    crossing.require_kept(counts, noise)
    bounded = counts.promise.bounded(counts.clip)
    with tally.counting(read_from, bounded, may_be_empty=True, again=True) as counted:
        groups = [expected] * len(counted.tallies)
        return np.array(counted.scatter(groups, float(noise.most), bits)), noise


def histogram(case: Case, read_from: Votes) -> tuple[Integers, LimitNoise] | None:
    """People by their number of votes, exactly, and the noise that a release would add if it chose its limit; None
    where votes per person are public."""
    noise = limit.limit_noise(case.promise.changed(max_per_person=AUTO, clip=None))
    if noise is None:
        return None
    with tally.taking(read_from, noise.promise.bounded(None)) as taken:
        return taken.people_by_votes(limit.BINS, one_per_pair=case.privacy.one_per_pair).counts, noise


def statistics(tallies: Tallies, calibrated: Calibrated) -> Integers:
    """The exact statistic of each group, a row each, in lattice steps; for the perturbed MLE the wins of each pair."""
    return np.array([_statistic(one, calibrated) for one in tallies])


def _statistic(counted: AnyTally, calibrated: Calibrated) -> Integers:
    if isinstance(counted, PairTally) and calibrated.statistic.by_pair:
        return pair_wins(counted)
    return np.asarray(crossing.exact_values(counted, calibrated))


def see(case: Case, read_from: Votes) -> Seen:
    """Count the votes, release them once, and record everything but the noise."""
    try:
        case = case.with_items(read_from.items)
        calibrated = case.calibrated
        counted = count(case, read_from)
        ledger = Recorder()
        noised = cross(counted, calibrated, ledger)
    except QuietrankError as error:
        return Seen(np.zeros((0, 0), dtype=np.int64), {"error": f"{type(error).__name__}: {error}"})
    each = [
        _outline(one)
        if case.selection
        else _public(NoisyTally.of(calibrated, one, rows_skipped=read_from.skip_invalid))
        for one in noised
    ]
    public: dict[str, Any] = {name: [one[name] for one in each] for name in each[0]}
    public |= {"charges": ledger.charges, "step": next(iter(counted)).step}
    return Seen(statistics(counted, calibrated), public)


def _outline(noised: Noised) -> dict[str, Any]:
    """Of a list of names: everything but the names."""
    noisy = ("values", "public_exposure")
    public = {field.name: getattr(noised, field.name) for field in fields(noised) if field.name not in noisy}
    return public | {"entries": noised.values.size}


def _public(noisy: NoisyTally) -> dict[str, Any]:
    """Every field of the noisy tally except the noisy values, of which only the number is public."""
    public = {field.name: getattr(noisy, field.name) for field in fields(noisy) if field.name != "values"}
    pairs, sets = public.pop("public_pairs"), public.pop("public_sets")
    public["sets"] = None if sets is None else [sets.sets.tolist(), sets.counts.tolist()]
    public["pairs"] = None if pairs is None else [tuple(pairs.i), tuple(pairs.j), tuple(pairs.counts)]
    if noisy.public_exposure is not None:
        public["public_exposure"] = tuple(noisy.public_exposure.tolist())
    return public | {"entries": len(noisy.values)}


def pair_wins(counted: PairTally) -> Integers:
    """The wins of i over j in row i and column j, flattened, in steps."""
    n = len(counted.items)
    wins = np.zeros((n, n), dtype=np.int64)
    wins[counted.i, counted.j], wins[counted.j, counted.i] = counted.wins_i, counted.wins_j
    return wins.reshape(-1)


def release_outline(case: Case, read_from: Votes, *, gamma: float | None = None) -> dict[str, Any]:
    """A whole release as it would be published, without what is noisy: the figures of items, and their order."""
    ledger, inside = Recorder(), case.perturbed
    if case.selection is not None:
        return _list_outline(case, read_from, case.selection, ledger)
    options: dict[str, Any] = {"mechanism": case.mechanism.name, "ledger": ledger}
    if inside is None:
        options |= {"method": case.method, "ties": case.ties}
        options |= {"gamma": 1.0} if case.ties is Ties.DAVIDSON else {}  # otherwise it comes from the noisy counts
    else:
        options |= {"calibration": inside.calibration, "link": inside.link.name}
        options |= {} if gamma is None else {"gamma": gamma}
    try:
        rank = pipeline.rank if case.groups is None else pipeline.rank_by_group
        published = rank(read_from, case.privacy, **options).to_dict()
        if inside is None:
            published["gamma"] = None  # chosen from the noisy counts
    except QuietrankError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return _without_noise(published) | {"charges": ledger.charges}


def _list_outline(case: Case, read_from: Votes, selection: Selection, ledger: Recorder) -> dict[str, Any]:
    """A whole list of names as it would be published, without the names."""
    try:
        published = pipeline.top(
            read_from, case.privacy, selection.k, mechanism=selection, method=case.method, ledger=ledger
        ).to_dict()  # fmt: skip
    except QuietrankError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return published | {"top": {group: len(names) for group, names in published["top"].items()}} | {
        "charges": ledger.charges
    }  # fmt: skip


def _without_noise(published: dict[str, Any]) -> dict[str, Any]:
    """The release of each group, or the one release, with the names of an item's figures instead of the figures."""
    if "groups" in published:
        return published | {"groups": {group: _without_noise(one) for group, one in published["groups"].items()}}
    names = {
        row["item"]: sorted(name for name, value in row.items() if value is not None) for row in published["ranking"]
    }
    known = {name: published["certainty"] and published["certainty"][name] for name in ("level", "simultaneous", "top")}
    bought = published["scatter"] and {name: v for name, v in published["scatter"].items() if name != "value"}
    tied = published["ties"] and published["ties"]["model"]
    return published | {"ranking": names, "certainty": known, "scatter": bought, "ties": tied}


def read_rows(case: Case, rows: Sequence[Row], folder: Path) -> Votes:
    """These votes, written to a file and read."""
    return read(case, write_votes(case, rows, folder / "votes.csv"))
