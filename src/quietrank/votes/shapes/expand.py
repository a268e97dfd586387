"""One row per person in, one row per vote out, in the same engine and from one mention of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quietrank.votes.cells import Names
from quietrank.votes.engines import DUCKDB, engine_of
from quietrank.votes.files import ROW
from quietrank.votes.public_table import public_table
from quietrank.votes.sample import LOT, lot
from quietrank.votes.shapes.shape import Shape, carried

if TYPE_CHECKING:
    import ibis.expr.types as ir


def expanded(
    table: ir.Table,
    each: Mapping[str, ir.Value],
    cells: Mapping[str, Sequence[ir.Value]],
    constants: Mapping[str, Sequence[Any]],
    *,
    coded: bool = False,
) -> ir.Table:
    """`each` is repeated for every vote; `cells` and `constants` have one entry per vote of a row, in the same order.

    `coded`: where that is faster, people become whole numbers, with a `lot` for the sample (votes/sample.py).
    """
    if engine_of(table) is DUCKDB:
        return _unnested(table, each, cells, constants, coded=coded)
    return _crossed(table, each, cells, constants)


def _unnested(table: ir.Table, each: Any, cells: Any, constants: Any, *, coded: bool) -> ir.Table:
    """Lists side by side, unnested together: what DuckDB's own UNPIVOT does."""
    import ibis

    lists = table.select(**each, **{name: ibis.array(list(values)) for name, values in cells.items()}).view()
    same = [*each]
    if coded:  # a code changes with the people around, so whether somebody is in a sample is noted by the id
        lists, same = lists.mutate(**{LOT: lot(lists.person)}, person=codes(lists.person)).view(), [*each, LOT]
    fixed = {name: ibis.literal(list(values), type=f"array<{_type(values)}>") for name, values in constants.items()}
    return lists.select(
        *same, **{name: lists[name].unnest() for name in cells}, **{name: f.unnest() for name, f in fixed.items()}
    ).view()


def _crossed(table: ir.Table, each: Any, cells: Any, constants: Any) -> ir.Table:
    """Every row beside every question, from which each picks its own cell: slower, in any engine."""
    import ibis

    number = len(next(iter(constants.values())))
    questions = public_table(question=range(number), **constants)
    flat = {f"{name}_{k}": value for name, values in cells.items() for k, value in enumerate(values)}
    both = table.select(**each, **flat).view().cross_join(questions.view())
    picked = {
        name: ibis.cases(*((both.question == k, both[f"{name}_{k}"]) for k in range(number)), else_=None)
        for name in cells
    }
    return both.select(*each, **picked, **{name: both[name] for name in constants}).view()


def _type(values: Sequence[Any]) -> str:
    return "int64" if isinstance(values[0], int) else "string"


def of_row(shape: Shape, table: ir.Table, name: Names) -> dict[str, ir.Value]:
    """What all votes of one row have in common: the person, the group, and what is carried along."""
    common = {"person": row_number(table) if shape.person is None else name.person(table[shape.person])}
    if shape.group is not None:
        common["group"] = name(table[shape.group])
    return common | carried(table)


def row_number(table: ir.Table) -> ir.Value:
    """A number for each row, no two of them the same, which names its person where nobody is named.

    It belongs into the first selection from the table, before any join: then it is part of the one reading.
    """
    return table[ROW] if ROW in table.columns else engine_of(table).row_number()


def codes(column: ir.Value) -> ir.Value:
    """A whole number for each name, the same for equal names and different for others; NULL for none.

    Numbers are counted much faster than names. It is no hash: two people never share a number.
    """
    import ibis

    return ibis.ifelse(column.isnull(), None, ibis.dense_rank().over(order_by=column))
