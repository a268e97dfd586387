"""Counted votes and their fit in; each person's gradient of the log-likelihood out, for errors clustered by person.

Confidential; used by `fit` alone, which is not private. The engine adds up per person and item; rows stay there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from quietrank.errors import option
from quietrank.maths.clustered import ClusterError, require_clusters
from quietrank.maths.davidson import tie
from quietrank.maths.fit import Fit
from quietrank.maths.tied_fit import TiedFit
from quietrank.votes.public_table import public_table
from quietrank.votes.sources import collect

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from quietrank.votes.tally import Counting

MOST_SUMS = 20_000_000
"""of different people and items: they take a gigabyte"""


def gradients_by_person(counted: Counting, fit: Fit) -> csr_array:
    """A row per person: g_p = Σ over p's votes of (yψ(x) − (1 − y)ψ(−x))(e_a − e_b), x = θ_a − θ_b, ψ = (log F)'.

    With the logistic link that is (y − F(x))(e_a − e_b). A fit with a tie parameter has one more column, the derivative
    by ln ν: the ties of p, less those expected. Raises ClusterError with the reason where there are none.
    """
    if counted.weighed is None or "person" not in counted.weighed.columns:
        raise ClusterError(f"no column names the person; say which does with {option('person')}")
    if "count" in counted.weighed.columns:
        raise ClusterError("rows stand for several votes, so it is not known whose they are")
    tied = isinstance(fit, TiedFit)
    by_person = _sums(counted.weighed, _slopes(fit), fit.pairs.n_items if tied else None)
    sums = collect(counted.source, by_person.limit(MOST_SUMS + 1))
    if sums.num_rows > MOST_SUMS:
        raise ClusterError(f"there are more than {MOST_SUMS} combinations of a person and an item")
    if sums["person"].null_count:
        raise ClusterError("some votes name no person")
    return _matrix(sums, fit.pairs.n_items + tied)


def _slopes(fit: Fit) -> ir.Table:
    """How steep the log-likelihood is for a vote on each pair that met: first, second, won = ψ(x), lost = ψ(−x); and
    the chance of a tie."""
    i, j = fit.pairs.i.astype(np.int64), fit.pairs.j.astype(np.int64)
    x = fit.scores[i] - fit.scores[j]
    up, down = fit.link.grad(x), fit.link.grad(-x)
    chance = tie(x, fit.nu) if isinstance(fit, TiedFit) else np.zeros(len(x))
    both_ways = {"first": (i, j), "second": (j, i), "won": (up, down), "lost": (down, up), "chance": (chance, chance)}
    return public_table(**{name: np.concatenate(sides) for name, sides in both_ways.items()})


def _sums(rows: ir.Table, slopes: ir.Table, of_ties: int | None) -> ir.Table:
    """Per person and item: the entry of the gradient; that of ln ν, if there is one, has a number of its own."""
    import ibis

    met = rows.join(slopes, [("a", "first"), ("b", "second")])
    if "y" in rows.columns:
        y = met.y.cast("float64") / 2
        slope = y * met.won - (1 - y) * met.lost
        beyond = ibis.ifelse(met.y == 1, 1.0, 0.0) - met.chance
    else:
        slope, beyond = met.won, -met.chance
    votes = met.select("person", "a", "b", slope=slope, beyond=beyond).view()
    first = votes.group_by("person", item=votes.a).agg(slope=votes.slope.sum())
    second = votes.group_by("person", item=votes.b).agg(slope=-votes.slope.sum())
    sides = first.union(second)
    if of_ties is not None:
        ties = votes.group_by("person").agg(slope=votes.beyond.sum())
        place = ibis.literal(of_ties, type="int64").cast(sides.schema()["item"])
        sides = sides.union(ties.select("person", item=place, slope=ties.slope))
    return sides.group_by("person", "item").agg(slope=sides.slope.sum())


def _matrix(sums: pa.Table, items: int) -> csr_array:
    """The sums as a sparse matrix, people by items."""
    coded = sums["person"].combine_chunks().dictionary_encode()
    people = len(coded.dictionary)
    require_clusters(items, people)
    places = (coded.indices.to_numpy(), sums["item"].to_numpy())
    return csr_array((sums["slope"].to_numpy(), places), shape=(people, items))
