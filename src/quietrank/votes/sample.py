"""Rows of all people in, those of a sample out: of people whose id, as text, has an MD5 with so many leading zero bits.

Whether somebody is in the sample follows from their own id and from nothing else, so that nobody who comes or goes
changes whether another is, and it is the same on every engine. MD5 only spreads ids evenly; privacy asks nothing of it
(docs/proofs/scatter.md). What must not be used is a number that people have by their place in a file or among others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietrank.mechanisms.scatter import MOST_BITS
from quietrank.votes.cells import text

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from quietrank.votes.read import Votes

LOT = "lot"
"""the column with the number of zero bits, in rows in which people have numbers instead of their ids"""

DIGITS = "0123456789abcdef"


def sampled(rows: ir.Table, people: ir.Table | None, bits: int) -> ir.Table:
    """The rows of one person in 2^bits; `people`, if that is known, has each `person` of the rows, and may have more:
    then nobody's MD5 is computed more than once."""
    if bits == 0:
        return rows
    if LOT in rows.columns:
        return rows.filter(rows[LOT] >= bits)
    if people is None:
        return rows.filter(in_sample(rows.person, bits))
    chosen = people.filter(in_sample(people.person, bits)).select(who="person").distinct()
    return rows.semi_join(chosen, [("person", "who")]).select(*rows.columns).view()


def require_ids(votes: Votes, bits: int) -> None:
    """Rows that name nobody have no ids: they are numbered, and whoever comes or goes moves the others' numbers."""
    if bits and votes.shape.row_is_person:
        raise AssertionError("people without ids cannot be sampled by them")


def in_sample(person: ir.Value, bits: int) -> ir.Value:
    """Whether the MD5 of this id starts with so many zero bits."""
    zeros, rest = divmod(bits, 4)
    digits = _md5(person)
    starts = digits.substr(0, zeros) == "0" * zeros
    return starts & digits.substr(zeros, 1).isin(list(DIGITS[: 16 >> rest])) if rest else starts


def lot(person: ir.Value) -> ir.Value:
    """With how many zero bits the MD5 of this id starts; no more are counted than are ever asked for."""
    import ibis

    return ibis.cases(*((~in_sample(person, k + 1), k) for k in range(MOST_BITS)), else_=MOST_BITS).cast("int8")


def _md5(person: ir.Value) -> ir.Value:
    """In hexadecimal digits, of the text in UTF-8, whatever the column holds: 7 is "7"."""
    import ibis

    of_bytes = person.type().is_binary()
    if person.get_backend().name == "sqlite":  # which has no such function; Python lends its own
        function = ibis.udf.scalar.python(_python_md5_of_bytes if of_bytes else _python_md5)
    else:
        function = ibis.udf.scalar.builtin(_md5_of_bytes if of_bytes else _md5_of_text, name="md5")
    return function(person if of_bytes else text(person))


def _md5_of_text(written: str) -> str:
    raise NotImplementedError("runs in the engine")


def _md5_of_bytes(written: bytes) -> str:
    raise NotImplementedError("runs in the engine")


def _python_md5(written: str) -> str:
    return _python_md5_of_bytes(written.encode())


def _python_md5_of_bytes(written: bytes) -> str:
    import hashlib

    return hashlib.md5(written, usedforsecurity=False).hexdigest()
