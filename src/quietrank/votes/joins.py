"""Rows with names in, the same rows with places on the public lists out: joins that run in the engine.

Ibis merges a chain of joins into one, and can then compare a column with itself. So joins are made by the names of
their keys, and a view ends each chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quietrank.promise.items import Items
from quietrank.votes.engines import engine_of
from quietrank.votes.public_table import public_table

if TYPE_CHECKING:
    import ibis.expr.types as ir


def names_table(names: Sequence[str], *, as_bytes: bool = False) -> ir.Table:
    """Names and their places on the list as a table the engine can join: name, place."""
    return public_table(name=[name.encode() for name in names] if as_bytes else names, place=range(len(names)))


def with_place(table: ir.Table, column: str, names: ir.Table, place: str) -> ir.Table:
    """The table with `place`: the position of the column's name on the list; NULL where it is not on it."""
    listed = names.view().select(**{f"{place}_name": "name", place: "place"})
    joined = table.left_join(listed, [(column, f"{place}_name")])
    return joined.select(*table.columns, place).view()


def with_askable(table: ir.Table, items: Items) -> ir.Table:
    """The table, which has place_a and place_b, with `askable`: whether their pair is on the list of `items.pairs`."""
    import ibis

    assert items.pairs is not None
    low, high = zip(*items.pairs, strict=True)
    listed = public_table(low=low, high=high)
    ordered = table.mutate(
        pair_low=ibis.least(table.place_a, table.place_b), pair_high=ibis.greatest(table.place_a, table.place_b)
    )
    joined = ordered.left_join(listed, [("pair_low", "low"), ("pair_high", "high")])
    return joined.select(*table.columns, askable=joined.low.notnull()).view()


def with_one_group(rows: ir.Table, sound: ir.Table) -> ir.Table:
    """The rows with `one_group`: whether all sound rows of their person are in one group; NULL if there are none."""
    people = sound.group_by("person").agg(one_group=sound.group.min() == sound.group.max())
    known = people.select(who=people.person, one_group=people.one_group)
    return rows.left_join(known, [("person", "who")]).select(*rows.columns, "one_group").view()


def both_sides(
    rows: ir.Table, keys: Sequence[str], of_a: Mapping[str, ir.Value], of_b: Mapping[str, ir.Value]
) -> ir.Table:
    """Two rows for each: one with what is said of a, one with the same columns for b; `keys` are columns of both."""
    import ibis

    if not engine_of(rows).windows:
        return rows.select(*keys, **of_a).union(rows.select(*keys, **of_b))
    sides = ibis.array([ibis.struct(dict(of_a)), ibis.struct(dict(of_b))])
    both = rows.select(*keys, side=sides.unnest()).view()
    return both.select(*keys, **{name: both.side[name] for name in of_a}).view()


def by_either_side(
    rows: ir.Table, keys: str, /, kind: str = "string", sides: tuple[str, str] | None = None, **sums: str
) -> ir.Table:
    """The rows in DuckDB, grouped by a and also by b in one reading; Ibis cannot express that.

    `item` is the side's name or place, of this `kind`, `sides` are SQL for what a has won and what it has lost, which
    become `wins` and `losses` of either side, and `sums` for other columns; all are whole numbers. `keys` are further
    columns to group by, each followed by a comma.
    """
    import ibis

    if sides is not None:
        wins, losses = (f"CASE WHEN GROUPING(a) = 0 THEN {of_a} ELSE {of_b} END" for of_a, of_b in (sides, sides[::-1]))
        sums = {"wins": wins, "losses": losses} | sums
    named = "".join(f", CAST({sql} AS BIGINT) AS {name}" for name, sql in sums.items())
    query = f"""
        SELECT {keys}CASE WHEN GROUPING(a) = 0 THEN a ELSE b END AS item{named}
        FROM ({ibis.to_sql(rows, dialect="duckdb")}) GROUP BY GROUPING SETS (({keys}a), ({keys}b))"""
    texts = [name.strip(' "') for name in keys.split(",")[:-1]]
    schema = dict.fromkeys((*texts, "item"), kind) | dict.fromkeys(sums, "int64")
    return rows.get_backend().sql(query, schema=ibis.schema(schema))
