"""Votes in, what their holder should see before ranking out: unknown words and what they may have been meant to be,
blanks per item, ids that look alike, rows that come twice. Confidential: raw cells and exact counts.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

from quietrank.errors import option
from quietrank.votes.cells import lowered, trimmed
from quietrank.votes.read import Votes
from quietrank.votes.shapes.long import Long
from quietrank.votes.shapes.outcomes import NAME_THE_CODING, fitting, spellings
from quietrank.votes.shapes.wide import Wide
from quietrank.votes.snapshot import NO_FLAW, NOT_ANSWERED, NUMBER, judged
from quietrank.votes.sources import collect

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_WORDS = 6
"""unknown words that are listed; more are counted"""
MOST_VALUES = 12
"""different outcomes that may be a coding"""
MOST_IDS = 1_000_000
"""people whose ids are compared with each other"""
MOST_ROWS = 20_000_000
"""rows that are compared with each other"""
ALIKE = "case, blanks around them or Unicode normal form"

Words = list[tuple[str, int]]
"""words as they are written, and in how many rows; the most frequent first"""


def written(cell: object) -> str:
    return repr(as_text(cell))


def as_text(cell: Any) -> Any:
    """The cell; text of an engine that compares bytes is decoded."""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell


# ---- unknown words -------------------------------------------------------------------------------------------------


def unknown_words(votes: Votes, flaws: Iterable[str], *, named: bool) -> dict[str, Words]:
    """The answers that cannot be read and the items that are not declared, by their flaw."""
    words = {}
    for flaw, words_of in (("unknown outcome", _unread), ("undeclared item", _undeclared)):
        if flaw in flaws:
            rows = judged(votes, named=named, numbered=True)
            words[flaw] = _counted(votes, words_of(votes, rows.filter(rows.flaw == NUMBER[flaw])))
    return {flaw: some for flaw, some in words.items() if some}


def _unread(votes: Votes, bad: ir.Table) -> ir.Table | None:
    """The answers in these rows: `word`; None where there is no column of answers."""
    return bad.select(word=bad.said) if "said" in bad.columns else None


def _undeclared(votes: Votes, bad: ir.Table) -> ir.Table:
    """The names in these rows that are not on the list of items: `word`."""
    if "culprit" in bad.columns:
        return bad.select(word=bad.culprit)
    if votes.shape.in_sets:
        sides = [(f"shown_{k}", f"place_{k}") for k in range(1, votes.shape.set_size + 1)]
    else:
        sides = [("a", "place_a"), ("b", "place_b")]
    each = [bad.filter(bad[place].isnull() & bad[name].notnull()).select(word=name) for name, place in sides]
    return reduce(lambda one, other: one.union(other), each)


def _counted(votes: Votes, words: ir.Table | None) -> Words:
    """How many rows have each of these words."""
    if words is None:
        return []
    parts = votes.shape.parts
    each = words.group_by("word").agg(rows=words.count())
    rows = collect(votes.source, each).to_pylist()
    counts = [(str(as_text(row["word"])), int(row["rows"]) // parts) for row in rows if row["word"] is not None]
    return sorted(counts, key=lambda one: (-one[1], one[0]))


def listed(votes: Votes, words: Words) -> str:
    """'9': 79 rows, 'tae': 3 rows (did you mean 'tea'?)"""
    some = [f"{word!r}: {count} row{'s' * (count != 1)}{_meant(votes, word)}" for word, count in words[:MOST_WORDS]]
    left_out = len(words) - MOST_WORDS
    return ", ".join(some) + (f", and {left_out} others" if left_out > 0 else "")


def _meant(votes: Votes, word: str) -> str:
    if near(votes.items.names, word) is not None:  # examples say in what it differs
        return ""
    close = difflib.get_close_matches(word, votes.items.names, n=1, cutoff=0.75)
    return f" (did you mean {close[0]!r}?)" if close else ""


def near(items: Iterable[str], name: str) -> str | None:
    """The declared item that differs from this name only in what is hard to see, if there is one."""
    return next((declared for declared in items if _folded(declared) == _folded(name)), None)


def _folded(name: str) -> str:
    """Without what is hard to see: spaces, case, and the form in which accents are written."""
    return "".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def about_answers(votes: Votes, words: Words) -> str:
    """What to do about answers that cannot be read; empty where there is no column of answers."""
    if not _has_answers(votes):
        return ""
    codes = [word for word, _ in words if _may_be_a_code(votes, word)]
    missing = "" if not codes else f"if {codes[0]} means not answered, add {option('missing', codes[0])}; "
    return missing + NAME_THE_CODING


def _has_answers(votes: Votes) -> bool:
    """Whether there are columns of answers, which may be coded."""
    return isinstance(votes.shape, Wide) or (isinstance(votes.shape, Long) and votes.shape.outcome is not None)


def _may_be_a_code(votes: Votes, word: str) -> bool:
    """Whether a word looks like a code for no answer; a 0 has other meanings first."""
    plain = word.strip()
    if not plain or " " in plain or "," in plain or plain in spellings("0"):
        return False
    return near(votes.items.names, plain) is None and not _meant(votes, plain)


def codings(votes: Votes) -> tuple[str, ...]:
    """Which common codings fit the outcomes that are written; only the data holder may choose one by looking."""
    rows = votes.rows(numbered=True)
    if not _has_answers(votes) or "said" not in rows.columns:
        return ()
    values = collect(votes.source, rows.select(said=lowered(trimmed(rows.said))).distinct().limit(MOST_VALUES + 1))
    said = sorted({value or "" for value in values["said"].to_pylist()} - {""})
    if not (fit := fitting(said)) or votes.shape.words.declared:  # type: ignore[attr-defined]  # such shapes have words
        return ()
    return (f"the outcomes {', '.join(said)} fit {' and '.join(f'--outcomes {coding}' for coding in fit)}",)


# ---- blanks --------------------------------------------------------------------------------------------------------


def blanks(votes: Votes, rows: ir.Table) -> dict[str, tuple[int, int]]:
    """Of a snapshot of a wide table: how many answers and how many blanks there are on each item."""
    if not isinstance(votes.shape, Wide):
        return {}
    counts = {NO_FLAW: Counter[int](), NOT_ANSWERED: Counter[int]()}
    for side in ("a", "b"):
        each = rows.group_by(place=rows[side], flaw=rows.flaw).agg(rows=rows.count())
        for row in collect(votes.source, each).to_pylist():
            if row["flaw"] in counts:
                counts[row["flaw"]][row["place"]] += row["rows"]
    names = enumerate(votes.items)
    return {name: (counts[NO_FLAW][place], counts[NOT_ANSWERED][place]) for place, name in names}


# ---- people and rows that come twice -------------------------------------------------------------------------------


def alike(votes: Votes) -> str:
    """A sentence about ids that differ only in what is hard to see; empty if there are none."""
    column = votes.shape.person
    if column is None or not votes.source.table[column].type().is_string():
        return ""
    rows = votes.rows()
    people = rows.filter(rows.person.notnull()).select("person").distinct().limit(MOST_IDS + 1)
    ids = [str(as_text(one)) for one in collect(votes.source, people)["person"].to_pylist()]
    if len(ids) > MOST_IDS:
        return f"more than {MOST_IDS:,} people: whether their ids differ only in {ALIKE} was not looked at"
    sets = _sets(ids)
    if not sets:
        return ""
    number = sum(map(len, sets))
    some = ", ".join(map(repr, sets[0][:3]))
    return (
        f"{number} ids in {len(sets)} set{'s' * (len(sets) != 1)} differ only in {ALIKE}, such as {some}: to quietrank "
        "these are different people; fix them first"
    )


def _sets(ids: Sequence[str]) -> list[list[str]]:
    """The ids that are the same to a reader, together; each of several."""
    by_sight = sorted((_sight(one), one) for one in ids)
    together = [[one for _, one in group] for _, group in groupby(by_sight, key=lambda pair: pair[0])]
    return [group for group in together if len(group) > 1]


def _sight(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name.strip()).casefold())


def repeated(votes: Votes, rows: int) -> int:
    """How many rows of files or data frames are the same as an earlier row in every column; 0 where that is no sign
    of anything: where a row is nothing but an answer."""
    source = votes.source
    alone = votes.shape.person is None and set(votes.all_columns) <= set(votes.shape.columns)
    if not source.ours or source.codes or alone or rows > MOST_ROWS:
        return 0
    distinct = source.table.distinct()
    counted: dict[str, Any] = collect(source, distinct.agg(rows=distinct.count())).to_pylist()[0]
    return max(0, rows - int(counted["rows"]))


def same_content(votes: Votes, most: float = math.inf) -> tuple[str, ...]:
    """Files that are the same byte by byte under different names: their votes count twice.

    Only files of the same size are read, and together no more than `most` bytes.
    """
    paths = [file.part.path for file in votes.source.ready if not file.part.is_standard_input]
    by_size = sorted((path.stat().st_size, str(path)) for path in paths) if len(paths) > 1 else []
    same: dict[str, str] = {}
    lines = []
    for size, group in groupby(by_size, key=lambda one: one[0]):
        names = [name for _, name in group]
        if len(names) < 2:
            continue
        if (most := most - size * len(names)) < 0:
            break  # from here on they are larger still
        for name in names:
            with open(name, "rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if (first := same.setdefault(digest, name)) != name:
                lines.append(f"{name} has the same content as {first}: votes in both count twice")
    return tuple(lines)
