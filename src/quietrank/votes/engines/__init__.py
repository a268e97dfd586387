"""An Ibis table in, the `Engine` that it lies in out: the list of all that votes can be counted in, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietrank.errors import VotesError
from quietrank.votes.engines.duckdb import DUCKDB
from quietrank.votes.engines.engine import Engine
from quietrank.votes.engines.postgres import POSTGRES
from quietrank.votes.engines.spark import SPARK
from quietrank.votes.engines.sqlite import SQLITE

if TYPE_CHECKING:
    import ibis.expr.types as ir

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (DUCKDB, POSTGRES, SPARK, SQLITE)}
"""by the names that Ibis gives them"""


def engine_of(table: ir.Table | ir.Value) -> Engine:
    """The engine of an Ibis table or column; one is refused unless it is known how to compare bytes in it."""
    import ibis.common.exceptions as ibis_errors

    try:
        name = str(table.get_backend().name)
    except ibis_errors.IbisError:
        raise VotesError(
            "this Ibis table belongs to no connection; take it from one, for example connection.table(...)"
        ) from None
    if name not in ENGINES:
        titles = ", ".join(engine.title for engine in ENGINES.values())
        raise VotesError(
            f"votes in the engine {name} cannot be counted, because it is not known how it compares names; export "
            f"them to a Parquet or CSV file (supported engines: {titles})"
        )
    return ENGINES[name]


__all__ = ["DUCKDB", "ENGINES", "POSTGRES", "SPARK", "SQLITE", "Engine", "engine_of"]
