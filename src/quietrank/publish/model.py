"""A published release or a saved noisy tally in; the model of votes that it publishes out. Costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import ReleaseError, SolverError, either, option
from quietrank.estimate.methods import estimate
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.maths.davidson import difference
from quietrank.maths.links import LOGISTIC, Link, get_link
from quietrank.publish import grouped, release, tally_file
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.tabular import read_json
from quietrank.publish.view import ELO, Scale
from quietrank.statistics.method import Method, Ties

Published = Release | GroupedRelease | NoisyTally | GroupedTally


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """P(i beats j) = F(θ_i − θ_j), with F the link; by Davidson's model if there is a tie parameter ν."""

    names: tuple[str, ...]
    theta: Floats
    link: Link = LOGISTIC
    nu: float = 0.0


def read_published(path: Path) -> Published:
    """The release, or the noisy tally, that a file holds; of one ranking or of all groups."""
    values = read_json(path)
    kind = values.get("format") if isinstance(values, dict) else None
    if kind == release.FORMAT:
        return Release.from_dict(values)
    if kind == grouped.FORMAT:
        return GroupedRelease.from_dict(values)
    if kind in (tally_file.FORMAT, tally_file.GROUPED_FORMAT):
        return tally_file.from_dict(values)
    raise ReleaseError(f"{path} holds neither a release nor a noisy tally; give a file that rank has written")


def published_model(published: object, group: str | None = None) -> PublishedModel:
    """The Bradley–Terry model of one ranking; `group` says which, where there are several. Items come by name, so that
    a tally and the release made from it give the same votes for the same seed."""
    one = _one_of(published, group)
    if (one.items.shown if isinstance(one, NoisyTally) else one.set_size) > 2:
        raise ReleaseError(
            "it was made from best-worst sets, and says how these are answered, not how often one item beats another; "
            "give one that was made from votes on pairs"
        )
    model = _of_tally(one) if isinstance(one, NoisyTally) else _of_release(one)
    by_name = sorted(range(len(model.names)), key=model.names.__getitem__)
    return replace(model, names=tuple(model.names[k] for k in by_name), theta=model.theta[by_name])


def _one_of(published: object, group: str | None) -> Release | NoisyTally:
    """The ranking that is meant."""
    if isinstance(published, GroupedRelease | GroupedTally):
        parts: dict[str, Release | NoisyTally] = {}
        parts.update(published.boards if isinstance(published, GroupedRelease) else published.tallies)
        if not isinstance(group, str) or group not in parts:
            problem = "say which group" if group is None else f"there is no group {group!r}"
            raise ReleaseError(f"{problem}: {option('group')} must be one of {', '.join(parts)}")
        return parts[group]
    if not isinstance(published, Release | NoisyTally):
        raise ReleaseError("give a release or a noisy tally: what rank or noisy_tally returned, or from_json read")
    if group is not None:
        raise ReleaseError(f"there are no groups in it; leave {option('group')} out (got {option('group', group)})")
    return published


def _of_tally(tally: NoisyTally) -> PublishedModel:
    """With ties, if these were released: they are part of the model then."""
    known = estimate(tally, Method.BRADLEY_TERRY, ties=Ties.HALF if tally.ties is None else Ties.DAVIDSON)
    return PublishedModel(tally.items.names, known.scores, nu=known.nu or 0.0)


def _of_release(one: Release) -> PublishedModel:
    if one.method != Method.BRADLEY_TERRY:
        raise ReleaseError(
            f"this release ranks by {one.method}, which says nothing about how often one item beats another; rank with "
            f"{option('method', 'bradley-terry')}, or {either('rerank a noisy tally', 'rerank a saved tally')} with it"
        )
    if len(one) < 2:
        raise ReleaseError("only one item is left in this release, and a vote needs two; give one with more of them")
    scores = np.array([row.score for row in one])
    nu = 0.0 if one.ties is None else one.ties.parameter
    return PublishedModel(tuple(row.item for row in one), _log_odds(scores, one.scale, nu), _link(one), nu)


def _log_odds(scores: Floats, scale: Scale, nu: float) -> Floats:
    """Scores on the model's own scale, up to a shift, which no vote depends on; the inverse of `View.scaled`."""
    if scale is Scale.ELO:
        return scores / ELO
    if scale is Scale.PROBABILITY:
        if scores.min() < 0 or scores.max() > 1:
            raise ReleaseError("its scores should be probabilities, and are not from 0 to 1; use an undamaged copy")
        inside = np.clip(scores, 1e-16, 1 - 1e-16)  # 0 and 1 are rounded
        return difference(inside, nu) if nu > 0 else np.asarray(np.log(inside) - np.log1p(-inside))
    return scores


def _link(one: Release) -> Link:
    """The link that the release was made with; only the perturbed MLE has a choice."""
    name = str(dict(one.mechanism.figures).get("link", LOGISTIC.name))
    try:
        return get_link(name)
    except SolverError:
        raise ReleaseError(
            f"this release was made with the link {name!r}, which is not known here; give one made with "
            f"{option('link', 'logistic')} or {option('link', 'hyperbolic-secant')}"
        ) from None
