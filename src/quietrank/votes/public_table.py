"""Public lists in, a table that the engine can join with votes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import ibis.expr.types as ir

Column = Sequence[str] | Sequence[bytes] | Sequence[int] | np.ndarray[Any, np.dtype[Any]]


def public_table(**columns: Column) -> ir.Table:
    """The columns, of texts, bytes or numbers, with no cell empty."""
    import ibis
    import pyarrow as pa

    return ibis.memtable(pa.table({name: pa.array(values) for name, values in columns.items()}))
