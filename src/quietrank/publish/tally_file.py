"""A `NoisyTally`, or one per group, in, a JSON file out, and back: whatever is made from the file later is free.

The file holds the noisy values, the promise they keep, the law of their noise, and what was public from the start.
It comes back exactly: values are whole numbers, lattice steps are written as fractions, and floating-point numbers
with all their digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from quietrank import __version__
from quietrank.arrays import Floats, Integers
from quietrank.errors import ReleaseError, either
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.estimate.overall import SumLaw
from quietrank.estimate.sample import most_bits
from quietrank.mechanisms.limit import BINS, ChosenLimit, limit_noise
from quietrank.mechanisms.mechanism import Calibrated, Noised, PublicPairs, PublicSets
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.mechanisms.scatter import Scatter, rest_of, scatter_noise
from quietrank.promise.items import Items, check_names
from quietrank.promise.privacy import Design, GroupOf, Privacy, Unit
from quietrank.promise.promise import Promise
from quietrank.publish.files import TALLY
from quietrank.publish.tabular import (
    DAMAGE,
    NoiseRecord,
    damage,
    figure,
    json_text,
    limit_from_dict,
    limit_to_dict,
    privacy_from_dict,
    promise,
    read_json,
    reader_of,
    scatter_from_dict,
    scatter_to_dict,
    text,
    write_if_named,
)
from quietrank.statistics.method import statistic_named
from quietrank.statistics.scores import SCORES

FORMAT = "quietrank/noisy-tally/1"
GROUPED_FORMAT = "quietrank/grouped-noisy-tally/1"

NOT_ITS_NOISE = "its noise is not the one that its promise needs"

Kind = TypeVar("Kind", NoisyTally, GroupedTally)


def save(tally: NoisyTally | GroupedTally, path: str | Path | None = None, *, overwrite: bool = False) -> str:
    """The tally as JSON text; also written to `path`, whole or not at all."""
    return write_if_named(json_text(to_dict(tally)), path, TALLY, overwrite=overwrite)


def load(path: str | Path, kind: type[Kind]) -> Kind:
    """A tally of this kind from a file."""
    tally = load_any(path)
    if not isinstance(tally, kind):
        name = type(tally).__name__
        raise ReleaseError(f"this holds a {name} ({to_dict(tally)['format']}); use qr.{name}.from_json")
    return tally


def load_any(path: str | Path) -> NoisyTally | GroupedTally:
    """The noisy tally, or the noisy tallies of all groups, that a file holds."""
    return from_dict(read_json(path))


def to_dict(tally: NoisyTally | GroupedTally) -> dict[str, Any]:
    """The tally as plain values, in the published format."""
    if isinstance(tally, GroupedTally):
        groups = {group: to_dict(one) for group, one in tally.tallies}
        whose, public = tally.group_of.value, {"votes": tally.public_votes}
        return {"format": GROUPED_FORMAT, "by": tally.by, "group_of": whose, "groups": groups, "public": public}
    if isinstance(tally.law, SumLaw):
        raise ReleaseError("this tally is a sum over groups; save the tallies of the groups, which give it again")
    return {
        "format": FORMAT,
        "items": _items_to_dict(tally.items),
        "statistic": tally.statistic.name,
        "values": tally.values.tolist(),
        "step": str(tally.step),
        "share": str(tally.share),
        "privacy": promise(tally.privacy),
        "mechanism": NoiseRecord(tally.mechanism, tally.figures, tally.alternatives).to_dict(),
        "law": tally.law.to_dict(),
        "public": _public_to_dict(tally),
        "scatter": scatter_to_dict(tally.scatter),
        **({"unmeasured": tally.unmeasured} if tally.unmeasured else {}),
        "limit": limit_to_dict(tally.limit),
        "rows_skipped": tally.rows_skipped,
        "where": tally.where,
        "notes": list(tally.notes),
        "ledger_entry": tally.ledger_entry,
        "made_with": f"quietrank {__version__}",
    }


def from_dict(values: Mapping[str, Any]) -> NoisyTally | GroupedTally:
    """A tally from plain values, which are checked."""
    kind = values.get("format") if isinstance(values, Mapping) else None
    if kind not in (FORMAT, GROUPED_FORMAT):
        reader = reader_of(kind)
        remedy = "give a file written by NoisyTally.to_json" if reader is None else f"use {reader}"
        raise ReleaseError(
            f"this is not a noisy tally in the format {FORMAT} (its format is {kind!r}); "
            f"{either(remedy, 'give a file written by rank --save-tally')}"
        )
    try:
        return _grouped(values) if kind == GROUPED_FORMAT else _tally(values, None)
    except DAMAGE as error:
        raise ReleaseError(f"this noisy tally is damaged ({damage(error)}); use an undamaged copy") from None


def _grouped(values: Mapping[str, Any]) -> GroupedTally:
    groups = tuple(values["groups"])
    check_names(groups, "group")
    _require(bool(groups) and isinstance(values["by"], str), "it has no groups")
    group_of = GroupOf(values.get("group_of", GroupOf.PERSON))  # earlier versions knew no other
    tallies = tuple((group, _tally(one, groups, group_of)) for group, one in values["groups"].items())
    _require(len({(one.items, one.ledger_entry) for _, one in tallies}) == 1, "the groups were not made together")
    _require_sample([one for _, one in tallies])
    votes, privacy = values.get("public", {}).get("votes"), tallies[0][1].privacy
    _require(votes is None or privacy.votes_are_public, "the number of votes is not public under its promise")
    known = None if votes is None else int(_integers([votes], 1)[0])
    group_of = GroupOf.VOTE if privacy.unit is Unit.COMPARISON else group_of
    return GroupedTally(values["by"], tallies, group_of, known)


def _tally(values: Mapping[str, Any], groups: tuple[str, ...] | None, group_of: GroupOf = GroupOf.PERSON) -> NoisyTally:
    privacy, items = privacy_from_dict(values["privacy"]), _items(values["items"])
    scatter, limit = scatter_from_dict(values.get("scatter")), limit_from_dict(values.get("limit"))
    left, unmeasured = privacy.epsilon, _unmeasured(values, scatter)
    if limit is not None and limit.epsilon > 0:
        left = _left(left, limit.epsilon)
    whole = Promise(privacy, items, groups, group_of)
    if whole.votes_are_public and values["public"]["total"] is None:
        whole = replace(whole, leaves_out=True)
    kept = whole.changed(epsilon=left)
    if part := unmeasured if scatter is None else scatter.epsilon:
        kept = kept.changed(epsilon=_left(left, part))
    noise = _noise(values, kept)
    _require(scatter is None or is_bought(scatter, noise, left), "its scatter is not what was paid for")
    _require(limit is None or is_chosen(limit, whole), "its limit is not what was paid for")
    skipped, notes, where = values["rows_skipped"], tuple(values.get("notes", ())), values.get("where")
    _require(isinstance(skipped, bool) and all(isinstance(note, str) for note in notes), "wrong types")
    _require(where is None or isinstance(where, str), "wrong types")
    _require(
        where is None or not _total_after(values, privacy), "the number of votes is not public after its condition"
    )
    alternatives = NoiseRecord.from_dict(values["mechanism"]).alternatives
    noised = replace(_noised(values, noise), scatter=scatter, unmeasured=unmeasured)
    tally = NoisyTally.of(
        noise, noised, epsilon=privacy.epsilon, rows_skipped=skipped, notes=notes, alternatives=alternatives,
        limit=limit, where=where,
    )  # fmt: skip
    if groups is None:
        _require_sample([tally])
    return tally


def _unmeasured(values: Mapping[str, Any], scatter: Scatter | None) -> float:
    """What was spent on a scatter that could not be measured."""
    part = figure(values.get("unmeasured", 0.0))
    _require(part is not None and part >= 0, "what was spent on its scatter cannot be read")
    _require(part == 0 or scatter is None, "it has a scatter that could not be measured")
    return float(part or 0.0)


def _require_sample(tallies: Sequence[NoisyTally]) -> None:
    """All groups were measured on the same sample, and it is no smaller than their public numbers allow: with fewer
    people nobody would have drawn one."""
    bits = {one.scatter.bits for one in tallies if one.scatter is not None}
    sound = len(bits) <= 1 and max(bits, default=0) <= most_bits(tallies)
    _require(sound, "its scatter was not measured on this part of the people")


def _total_after(values: Mapping[str, Any], privacy: Privacy) -> bool:
    """Whether a number of votes is said to be public that, after a condition, is not."""
    return privacy.design is not Design.PUBLIC and values["public"]["total"] is not None


def _left(epsilon: float, part: float) -> float:
    _require(part < epsilon, NOT_ITS_NOISE)
    return rest_of(epsilon, part)


def is_chosen(limit: ChosenLimit, promise: Promise) -> bool:
    """Whether its noise is the one that this part of ε buys, and the limit the one that is kept."""
    histogram = limit_noise(promise)
    known = (0.0, 0.0) if histogram is None else (histogram.noise.scale, histogram.epsilon)
    kept = promise.privacy.max_per_person == limit.limit and len(limit.counts) == BINS
    return kept and (limit.scale, limit.epsilon) == known


def is_bought(scatter: Scatter, noise: Calibrated, epsilon: float) -> bool:
    """Whether its noise is the one that this part of ε buys."""
    bought = scatter_noise(noise, epsilon, scatter.epsilon)
    return replace(scatter, value=0.0) == bought.released(scatter.around, 0, scatter.bits)


def _noise(values: Mapping[str, Any], promise: Promise) -> Calibrated:
    """The noise that this promise needs, which must be the one described: the promise cannot be edited alone."""
    name, statistic = text(values["mechanism"]["name"]), statistic_named(values["statistic"])
    if name not in MECHANISMS:
        raise ValueError(f"it was made by the mechanism {name!r}, which is unknown here: register it first")
    mechanism = MECHANISMS[name]
    if statistic is SCORES:
        raise ValueError("it holds no counts")
    share = _fraction(values["share"])  # the one it was made with: earlier versions chose others
    _require(share in (statistic.offered or (1,)), NOT_ITS_NOISE)
    noise = mechanism.calibrate(promise, statistic.with_share(share))
    figures = dict(NoiseRecord.from_dict(values["mechanism"]).figures)
    noise = at_its_price(noise, figures)
    described = (promise.privacy, _fraction(values["step"]), share, values["law"], figures)
    _require(
        described == (noise.privacy, noise.step, noise.share, noise.law.to_dict(), dict(noise.figures)),
        NOT_ITS_NOISE,
    )
    return noise


def at_its_price(noise: Calibrated, figures: Mapping[str, Any]) -> Calibrated:
    """What ties cost is relative to counts without them, whose clip nobody knows any more: it is taken as it stands."""
    price = {name: figures.get(name, figure) for name, figure in noise.figures if name == "ties_price"}
    return replace(noise, figures=tuple((dict(noise.figures) | price).items()))


def _noised(values: Mapping[str, Any], noise: Calibrated) -> Noised:
    """The noisy values, with exactly what this promise leaves public."""
    n, public, entry = len(noise.promise.items), values["public"], values["ledger_entry"]
    _require(entry is None or isinstance(entry, str), "wrong types")
    is_public = noise.privacy.design is Design.PUBLIC
    described = (public["exposure"] is not None, public["total"] is not None)
    _require(
        described == (is_public, noise.promise.total_is_public),
        "what it says is public is not what its promise leaves public",
    )
    sets = public.get("sets")
    in_pairs = public["pairs"] is None and sets is None
    _require(is_public or in_pairs, "who met whom is not public under its promise")
    return Noised(
        values=_integers(values["values"], noise.statistic.size(n)),
        public_exposure=None if public["exposure"] is None else _floats(public["exposure"], n),
        public_total=None if public["total"] is None else float(_floats([public["total"]], 1)[0]),
        public_pairs=None if public["pairs"] is None else _pairs(public["pairs"], n),
        ledger_entry=entry,
        people=_people(public.get("people"), noise.promise),
        public_sets=None if sets is None else _sets(sets, noise.promise.items),
    )


def _fraction(value: Any) -> Fraction:
    """As `str` writes it; anything else, such as 1e999999999, might take forever to read."""
    sound = isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,99}(/[1-9]\d{0,99})?", value) is not None
    _require(sound, "a lattice step must be a fraction above 0, such as 1/2")
    return Fraction(value)


def _items_to_dict(items: Items) -> dict[str, Any]:
    """The items; for best–worst sets also the largest number of items in one."""
    values = asdict(items)
    shown = values.pop("shown")
    return values | {"set_size": shown} if items.in_sets else values


def _items(values: Mapping[str, Any]) -> Items:
    pairs = values["pairs"]
    edges = None if pairs is None else tuple(tuple(_integers(pair, 2).tolist()) for pair in pairs)
    names, from_votes = values["names"], values["from_votes"]
    sound = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    _require(sound and isinstance(from_votes, bool), "its items are not a list of names")
    size = values.get("set_size", 2)
    _require(type(size) is int and size >= 2, "its sets have no size")
    items = Items(tuple(names), from_votes, edges, size)
    if edges is not None:
        items.graph  # noqa: B018  checks the pairs
    return items


def _public_to_dict(tally: NoisyTally) -> dict[str, Any]:
    pairs, sets = tally.public_pairs, tally.public_sets
    shown = {} if sets is None else {"sets": {name: column.tolist() for name, column in vars(sets).items()}}
    return {
        "exposure": None if tally.public_exposure is None else tally.public_exposure.tolist(),
        "total": tally.public_total,
        "people": tally.people,
        "pairs": None if pairs is None else {name: column.tolist() for name, column in vars(pairs).items()},
        **shown,
    }


def _people(value: Any, promise: Promise) -> int | None:
    """The number of people, which files of earlier versions do not have."""
    _require(value is None or promise.people_are_public, "the number of people is not public under its promise")
    return None if value is None else int(_integers([value], 1)[0])


def _pairs(values: Mapping[str, Any], n: int) -> PublicPairs:
    size = len(values["i"])
    i, j = _integers(values["i"], size), _integers(values["j"], size)
    _require(bool(((i >= 0) & (i < j) & (j < n)).all()), "a pair does not consist of two items")
    return PublicPairs(i, j, _floats(values["counts"], size))


def _sets(values: Mapping[str, Any], items: Items) -> PublicSets:
    """Each set has two different items at least, in ascending order, and then −1."""
    size = len(values["sets"])
    rows = [_integers(row, items.shown) for row in values["sets"]]
    sets = np.array(rows, dtype=np.int64).reshape(size, items.shown)
    rising = ((sets[:, 1:] > sets[:, :-1]) & (sets[:, 1:] < len(items))) | (sets[:, 1:] == -1)
    first = (sets[:, 0] >= 0) & (sets[:, 1] > sets[:, 0])
    gaps = (sets[:, :-1] == -1) & (sets[:, 1:] != -1)
    _require(items.in_sets and bool(rising.all() and first.all()) and not gaps.any(), "a set does not consist of items")
    return PublicSets(sets, _floats(values["counts"], size))


def _integers(values: Sequence[Any], size: int) -> Integers:
    _require(all(type(value) is int for value in values), "a whole number is expected")
    _require(len(values) == size, f"{size} values are expected, not {len(values)}")
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[Any], size: int) -> Floats:
    _require(len(values) == size, f"{size} values are expected, not {len(values)}")
    counts = np.array(values, dtype=np.float64)
    _require(bool(np.isfinite(counts).all() and (counts >= 0).all()), "a count is expected")
    return counts


def _require(sound: bool, otherwise: str) -> None:
    if not sound:
        raise ValueError(otherwise)
