"""Names and cells in, text that no collation affects out.

A column may have a collation that ignores case or accents, and functions such as `replace` and `position` follow it, or
refuse to work. Text that was bytes before has no such collation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quietrank.errors import VotesError
from quietrank.votes.cells import nonempty, text
from quietrank.votes.engines import Engine, engine_of

if TYPE_CHECKING:
    import ibis.expr.types as ir


def exact_text(name: ir.Value, engine: Engine) -> ir.Value:
    """A name, as bytes or as text that is compared byte by byte anyway, as text that no collation affects."""
    return engine.as_text(name) if name.type().is_binary() else name


def written_text(column: ir.Value, *, ours: bool) -> ir.Value:
    """A cell as it is written, as text that no collation affects; an empty one is NULL."""
    if ours:
        return text(column).nullif("")
    engine = engine_of(column)
    return exact_text(engine.as_bytes(nonempty(text(column))), engine)


def require_quotable(names: Iterable[str], engine: Engine) -> None:
    """Refuse names that would be another text inside a query."""
    for name in names:
        if any(part in name for part in engine.misreads):
            raise VotesError(f"the item {name!r} cannot be written in a query of {engine.title}; rename it")
