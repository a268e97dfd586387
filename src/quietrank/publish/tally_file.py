"""A `NoisyTally`, or one per group, in, a JSON file out, and back: whatever is made from the file later is free.

The file holds the noisy values, the promise they keep, the law of their noise, and what was public from the start.
It comes back exactly: values are whole numbers, lattice steps are written as fractions, and floating-point numbers
with all their digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quietrank import __version__
from quietrank.errors import ReleaseError, either
from quietrank.estimate.noisy import Floats, GroupedTally, NoisyTally, PublicPairs
from quietrank.mechanisms.additive import MechanismName, calibrate, zonotope_graph
from quietrank.mechanisms.laws import GaussianLaw, LaplaceLaw, Law, ZonotopeLaw
from quietrank.promise.arguments import parse
from quietrank.promise.items import Items, check_names
from quietrank.promise.privacy import Design, Privacy
from quietrank.publish.files import TALLY
from quietrank.publish.release import DAMAGE, Mechanism, damage, json_text, promise, read_json, written
from quietrank.statistics.sensitivity import Statistic

FORMAT = "quietrank/noisy-tally/1"
GROUPED_FORMAT = "quietrank/grouped-noisy-tally/1"

Kind = TypeVar("Kind", NoisyTally, GroupedTally)


def save(tally: NoisyTally | GroupedTally, path: str | Path | None = None) -> str:
    """The tally as JSON text; also written to `path`, whole or not at all."""
    return written(json_text(to_dict(tally)), path, TALLY)


def load(path: str | Path, kind: type[Kind]) -> Kind:
    """A tally of this kind from a file."""
    found = load_any(path)
    if not isinstance(found, kind):
        raise ReleaseError(f"{path} holds a {type(found).__name__}; read it with {type(found).__name__}.from_json")
    return found


def load_any(path: str | Path) -> NoisyTally | GroupedTally:
    """The noisy tally, or the noisy tallies of all groups, that a file holds."""
    return from_dict(read_json(path))


def to_dict(tally: NoisyTally | GroupedTally) -> dict[str, Any]:
    """The tally as plain values, in the published format."""
    if isinstance(tally, GroupedTally):
        groups = {group: to_dict(one) for group, one in tally.tallies}
        return {"format": GROUPED_FORMAT, "by": tally.by, "groups": groups}
    return {
        "format": FORMAT,
        "items": asdict(tally.items),
        "statistic": tally.statistic.value,
        "values": tally.values.tolist(),
        "step": str(tally.step),
        "share": str(tally.share),
        "privacy": promise(tally.privacy),
        "mechanism": Mechanism(tally.mechanism, tally.figures, tally.alternatives).to_dict(),
        "law": _law_to_dict(tally.law),
        "public": _public_to_dict(tally),
        "rows_skipped": tally.rows_skipped,
        "ledger_entry": tally.ledger_entry,
        "made_with": f"quietrank {__version__}",
    }


def from_dict(values: Mapping[str, Any]) -> NoisyTally | GroupedTally:
    """A tally from plain values, checking that they are one."""
    kind = values.get("format") if isinstance(values, Mapping) else None
    if kind not in (FORMAT, GROUPED_FORMAT):
        raise ReleaseError(
            f"this is not a noisy tally in the format {FORMAT} (its format is {kind!r}); give a file written by "
            f"{either('NoisyTally.to_json', 'rank --save-tally')}"
        )
    try:
        found = _tally(values) if kind == FORMAT else _grouped(values)
        for one in [found] if isinstance(found, NoisyTally) else [one for _, one in found.tallies]:
            _require_promise(one, groups=isinstance(found, GroupedTally))
        return found
    except DAMAGE as error:
        raise ReleaseError(f"this noisy tally is damaged ({damage(error)}); use an undamaged copy") from None


def _require_promise(tally: NoisyTally, *, groups: bool) -> None:
    """The noise that is described must be the one that this promise takes: nobody may edit the promise alone."""
    mechanism = parse(MechanismName, "mechanism", tally.mechanism)
    _require(mechanism not in (MechanismName.AUTO, MechanismName.PERTURBED_MLE), f"{mechanism} puts no noise on counts")
    made = calibrate(tally.items, tally.privacy, tally.statistic, mechanism, groups=groups)
    described = (tally.privacy, tally.step, tally.share, tally.law, dict(tally.figures))
    _require(
        described == (made.privacy, made.step, made.share, made.law, dict(made.figures)),
        "its noise is not the one that its promise takes",
    )
    _require_public(tally, groups=groups)


def _require_public(tally: NoisyTally, *, groups: bool) -> None:
    """What stands beside the noisy values must be what this promise leaves public, and all of it."""
    public = tally.privacy.design is Design.PUBLIC
    counted = public or (tally.privacy.votes_are_public and not groups)
    described = (tally.public_exposure is not None, tally.public_total is not None)
    _require(described == (public, counted), "what it says is public is not what its promise leaves public")
    _require(public or tally.public_pairs is None, "who met whom is not public under its promise")


def _grouped(values: Mapping[str, Any]) -> GroupedTally:
    tallies = tuple((group, _tally(one)) for group, one in values["groups"].items())
    check_names(tuple(values["groups"]), "group")
    _require(bool(tallies) and isinstance(values["by"], str), "it has no groups")
    _require(len({(one.items, one.ledger_entry) for _, one in tallies}) == 1, "the groups were not made together")
    return GroupedTally(values["by"], tallies)


def _tally(values: Mapping[str, Any]) -> NoisyTally:
    items, statistic = _items(values["items"]), parse(Statistic, "statistic", values["statistic"])
    step, share = _fraction(values["step"]), _fraction(values["share"])
    mechanism, public = Mechanism.from_dict(values["mechanism"]), values["public"]
    entry = values["ledger_entry"]
    _require(isinstance(values["rows_skipped"], bool) and (entry is None or isinstance(entry, str)), "wrong types")
    return NoisyTally(
        items=items,
        privacy=Privacy(**{name: v for name, v in values["privacy"].items() if name != "statement"}),
        statistic=statistic,
        values=_integers(values["values"], statistic.size(len(items))),
        step=step,
        share=share,
        mechanism=mechanism.name,
        figures=mechanism.figures,
        law=_law(values["law"], statistic, items, share),
        public_exposure=None if public["exposure"] is None else _floats(public["exposure"], len(items)),
        public_total=None if public["total"] is None else float(_floats([public["total"]], 1)[0]),
        public_pairs=None if public["pairs"] is None else _pairs(public["pairs"], len(items)),
        rows_skipped=values["rows_skipped"],
        ledger_entry=entry,
        alternatives=mechanism.alternatives,
    )


def _fraction(text: Any) -> Fraction:
    """As `str` writes it; anything else, such as 1e999999999, might take forever to read."""
    sound = isinstance(text, str) and re.fullmatch(r"[1-9]\d{0,99}(/[1-9]\d{0,99})?", text) is not None
    _require(sound, "a lattice step must be a fraction above 0, such as 1/2")
    return Fraction(text)


def _items(values: Mapping[str, Any]) -> Items:
    pairs = values["pairs"]
    listed = None if pairs is None else tuple(tuple(_integers(pair, 2).tolist()) for pair in pairs)
    names, from_votes = values["names"], values["from_votes"]
    sound = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    _require(sound and isinstance(from_votes, bool), "its items are no list of names")
    items = Items(tuple(names), from_votes, listed)
    if listed is not None:
        items.graph  # noqa: B018  checks the pairs
    return items


def _law_to_dict(law: Law) -> dict[str, Any]:
    if isinstance(law, LaplaceLaw):
        return {"kind": "laplace", "scale": law.scale, "sum_zero": law.sum_zero}
    if isinstance(law, GaussianLaw):
        return {"kind": "gaussian", "sigma": law.sigma}
    return {"kind": "zonotope", "unit": law.unit, "extra": law.extra}


def _law(values: Mapping[str, Any], statistic: Statistic, items: Items, share: Fraction) -> Law:
    kind = values["kind"]
    size = float(values[{"laplace": "scale", "gaussian": "sigma", "zonotope": "unit"}[kind]])
    _require(0 < size < float("inf"), "the noise must have a size")
    if kind == "laplace":
        return LaplaceLaw(statistic, len(items), size, bool(values["sum_zero"]), float(share))
    if kind == "gaussian":
        return GaussianLaw(statistic, len(items), size, float(share))
    graph = zonotope_graph(items, statistic)
    return ZonotopeLaw(statistic, graph, size, None if values["extra"] is None else float(values["extra"]))


def _public_to_dict(tally: NoisyTally) -> dict[str, Any]:
    pairs = tally.public_pairs
    return {
        "exposure": None if tally.public_exposure is None else tally.public_exposure.tolist(),
        "total": tally.public_total,
        "pairs": None if pairs is None else {name: column.tolist() for name, column in vars(pairs).items()},
    }


def _pairs(values: Mapping[str, Any], n: int) -> PublicPairs:
    size = len(values["i"])
    i, j = _integers(values["i"], size), _integers(values["j"], size)
    _require(bool(((i >= 0) & (i < j) & (j < n)).all()), "a pair is not one of two items")
    return PublicPairs(i, j, _floats(values["counts"], size))


def _integers(values: Sequence[Any], size: int) -> NDArray[np.int64]:
    _require(all(type(value) is int for value in values), "a whole number is expected")
    _require(len(values) == size, f"{size} values are expected, not {len(values)}")
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[Any], size: int) -> Floats:
    _require(len(values) == size, f"{size} values are expected, not {len(values)}")
    found = np.array(values, dtype=np.float64)
    _require(bool(np.isfinite(found).all() and (found >= 0).all()), "a count is expected")
    return found


def _require(sound: bool, otherwise: str) -> None:
    if not sound:
        raise ValueError(otherwise)
