"""What answers are written as in; what each written value means out: a won, b won, a tie, or no answer.

Every value has one meaning in the whole file, which never depends on other rows: a meaning that was guessed from the
votes could change with a single vote. A value that means different things in the common codings is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from quietrank.errors import VotesUsageError, either, option
from quietrank.promise.arguments import parse
from quietrank.votes.cells import first_of, lowered, text, trimmed
from quietrank.votes.shapes.shape import UNANSWERED

if TYPE_CHECKING:
    import ibis.expr.types as ir

A_WON, TIE, B_WON = 2, 1, 0
TARGETS = {"a": A_WON, "b": B_WON, "tie": TIE, "missing": UNANSWERED}
"""what a value can be declared to mean"""

A_WINS = ("a", "model_a", "item_a", "left", "first", "win", "won")
B_WINS = ("b", "model_b", "item_b", "right", "second", "loss", "lost")
TIES = ("tie", "tied", "draw", "drawn", "equal")
BOTH_BAD = ("tie (bothbad)", "both_bad", "bothbad", "both bad", "tie (both bad)")
YES = ("1", "true", "t", "yes", "y", "tie", "tied", "draw", "drawn", "equal", "x")
NO = ("0", "false", "f", "no", "n")

CODES = {"1": A_WON, "-1": B_WON, "2": B_WON, "0.5": TIE}
"""numbers that mean the same in every common coding; 0 does not"""
CODINGS = {
    "1/-1/0": {"1": "a", "-1": "b", "0": "tie"},
    "1/0.5/0": {"1": "a", "0.5": "tie", "0": "b"},
    "1/2/0": {"1": "a", "2": "b", "0": "tie"},
    "1/0": {"1": "a", "0": "b"},
}
"""common codings, by the name under which they can be declared"""


class BothBad(StrEnum):
    """What an answer that both are bad counts as."""

    TIE = "tie"
    DROP = "drop"


BothBadWord = BothBad | Literal["tie", "drop"]
Outcomes = Mapping[object, str] | str | None
"""what callers may write: values and what they mean, also as text (1=a,2=b,0=tie), or the name of a coding"""
Missing = Iterable[object] | str | None

Meanings = list[tuple[list[str], int]]
"""words, and the y that they stand for"""


@dataclass(frozen=True)
class Words:
    """What values mean, where the caller said so; every value in all of its spellings."""

    declared: tuple[tuple[str, int], ...] = ()
    missing: tuple[str, ...] = ()
    bothbad: BothBad = BothBad.TIE
    codes: bool = True
    """whether numbers are read by what they mean in every common coding"""

    @classmethod
    def of(cls, outcomes: Outcomes, missing: Missing, bothbad: BothBadWord) -> Words:
        """From a caller's arguments."""
        declared = tuple(_declared(outcomes).items()) if outcomes is not None else ()
        words = tuple(dict.fromkeys(spelt for word in _words(missing) for spelt in spellings(word)))
        if both := sorted(set(words) & {value for value, y in declared if y != UNANSWERED}):
            raise VotesUsageError(
                f"{both[0]!r} is in {option('outcomes')} and in {option('missing')}; give it one meaning"
            )
        return cls(declared, words, parse(BothBad, "bothbad", bothbad), codes=not declared)

    @property
    def leave_out(self) -> bool:
        """Whether some words were declared to be no answer, or none that counts."""
        return bool(self.missing) or self.bothbad is BothBad.DROP or UNANSWERED in dict(self.declared).values()

    def about(self, items: Iterable[str]) -> Words:
        """The same for these items: where one of them is called like a code, numbers are read as names alone."""
        called_so = any(item.strip().lower() in _ALL_CODES for item in items)
        return replace(self, codes=False) if called_so else self

    @property
    def said(self) -> Meanings:
        """What was declared; an empty answer is not said here."""
        return [*_by_meaning(dict(self.declared)), (list(self.missing), UNANSWERED)]

    @property
    def y_of_both_bad(self) -> int:
        return UNANSWERED if self.bothbad is BothBad.DROP else TIE

    @property
    def common_words(self) -> dict[str, int]:
        """The words that mean the same in every file, and the y that each stands for."""
        known = dict.fromkeys(A_WINS, A_WON) | dict.fromkeys(B_WINS, B_WON) | dict.fromkeys(TIES, TIE)
        return known | dict.fromkeys(BOTH_BAD, self.y_of_both_bad)

    def common(self, a: str, b: str) -> Meanings:
        """The common words, and the names of the two columns, which take precedence."""
        named = {b.strip().lower(): B_WON, a.strip().lower(): A_WON}
        known = self.common_words
        if self.codes:
            known |= {spelt: y for code, y in CODES.items() for spelt in spellings(code)}
        return _by_meaning(known | named)

    def y(self, cell: ir.Value, named: ir.Value, a: ir.Value, b: ir.Value, columns: tuple[str, str]) -> ir.Value:
        """The outcome in a cell; `named` is the cell as the name of an item, as a and b are."""
        import ibis

        plain, names_a, names_b = written(cell), named == a, named == b
        # An item may have a word as its name: where the two readings differ, the outcome cannot be read.
        differs = {A_WON: names_b, B_WON: names_a}
        by_word = [
            (plain.isin(words), ibis.ifelse(differs.get(y, names_a | names_b), None, y))
            for words, y in self.common(*columns)
        ]
        declared = [(plain.isin(words), y) for words, y in self.said if words]
        by_name = [(names_a, A_WON), (names_b, B_WON)]
        return ibis.cases(*declared, *by_word, *by_name, (plain == "", UNANSWERED), else_=None).cast("int16")

    def y_of_flag(self, cell: ir.Value) -> ir.Value:
        """The outcome where the winner is named, and a flag says whether it is a tie; an empty flag says nothing."""
        return _meant(written(cell), [*self.said, (_spelt(NO), A_WON), (_spelt(YES), TIE)])

    def y_of_flags(self, cells: Mapping[int, ir.Value], bothbad: ir.Value | None) -> ir.Value:
        """The outcome where each has a column of its own, by y: exactly one of them must be flagged."""
        import ibis

        meanings = list(cells.items())
        if bothbad is not None:
            meanings.append((self.y_of_both_bad, bothbad))
        plain = [(y, written(cell)) for y, cell in meanings]
        flags = [(y, first_of([(cell.isin(_spelt(NO)), 0), (cell.isin(_spelt(YES)), 1)])) for y, cell in plain]
        number, said = flags[0][1], flags[0][1] * flags[0][0]
        for y, flag in flags[1:]:
            number, said = number + flag, said + flag * y
        empty = plain[0][1].isin(["", *self.missing])
        for _, cell in plain[1:]:
            empty &= cell.isin(["", *self.missing])
        return ibis.cases((empty, UNANSWERED), (number == 1, said), else_=None).cast("int16")

    def is_missing(self, cell: ir.Value) -> ir.Value:
        """Whether a cell is empty, or has a word that was declared to be no answer."""
        return written(cell).isin(["", *self.missing])


COMMON = Words()
"""nothing was declared"""


def written(cell: ir.Value) -> ir.Value:
    """A cell as it is compared with words: trimmed, in lower case; never NULL."""
    import ibis

    return lowered(trimmed(ibis.coalesce(text(cell), "")))


def spellings(word: str) -> tuple[str, ...]:
    """A word as it is compared; a number in every spelling that files have: 1, 1.0, +1; 0.5 and 0,5."""
    plain = word.strip().lower()
    try:
        number = Decimal(plain.replace("−", "-").replace(",", ".", 1))
    except InvalidOperation:
        return (plain,)
    if not number.is_finite() or abs(number) >= 2**53:
        return (plain,)
    whole = number == number.to_integral_value()
    shortest = str(int(number)) if whole else f"{number.normalize():f}"
    forms = [shortest, f"{shortest}.0", f"{shortest}.00"] if whole else [shortest, f"{shortest}0"]
    if number == 0:
        forms += ["-0", "-0.0"]
    forms += [form.replace("0.", ".", 1) for form in forms if form.lstrip("-").startswith("0.") and not whole]
    forms += [] if whole else [form.replace(".", ",") for form in forms]
    signed = [form.replace("-", "−") for form in forms] if number < 0 else [f"+{form}" for form in forms]
    return tuple(dict.fromkeys([plain, *forms, *signed]))


def fitting(values: Iterable[str]) -> list[str]:
    """The codings in which every one of these values has a meaning; an empty one needs none."""
    return [
        name
        for name, coding in CODINGS.items()
        if {value for value in values if value} <= {spelt for code in coding for spelt in spellings(code)}
    ]


NAME_THE_CODING = (
    f"say what each value means with {option('outcomes')}, such as {option('outcomes', '1/-1/0')} (0 is a tie) or "
    f"{option('outcomes', '1/0.5/0')} (0 is a win of b)"
)


def _meant(plain: ir.Value, meanings: Meanings) -> ir.Value:
    """The y of the words that hold this one; NULL if none does."""
    import ibis

    cases = [(plain.isin(words), y) for words, y in meanings if words]
    return first_of(cases) if cases else ibis.null("int16")


def _spelt(words: Iterable[str]) -> list[str]:
    return [spelt for word in words for spelt in spellings(word)]


_ALL_CODES = frozenset(_spelt((*CODES, "0")))


def _by_meaning(known: Mapping[str, int]) -> Meanings:
    return [([word for word in known if known[word] == y], y) for y in dict.fromkeys(known.values())]


def _words(missing: Missing) -> list[str]:
    if missing is None:
        return []
    if not isinstance(missing, str | Iterable) or isinstance(missing, Mapping | bytes):
        raise VotesUsageError(f"{option('missing')} must be a list of words; got {option('missing', repr(missing))}")
    words = missing.split(",") if isinstance(missing, str) else list(missing)
    if not words:
        raise VotesUsageError(f"{option('missing')} has no word; give one, or leave it out: an empty answer needs none")
    return [_value(word) for word in words]


def _declared(outcomes: Outcomes) -> dict[str, int]:
    """Every spelling of the declared values with its y."""
    pairs: Iterable[tuple[object, object]]
    if isinstance(outcomes, str):
        pairs = CODINGS[outcomes.strip()].items() if outcomes.strip() in CODINGS else _pairs(outcomes)
    elif isinstance(outcomes, Mapping):
        pairs = outcomes.items()
    else:
        raise VotesUsageError(f"{option('outcomes')} must be {_FORM}; got {option('outcomes', repr(outcomes))}")
    known: dict[str, int] = {}
    for value, target in pairs:
        y = TARGETS.get(str(target).strip().lower())
        if y is None:
            raise VotesUsageError(
                f"{option('outcomes')} gives {_value(value)!r} the meaning {target!r}; the meanings are "
                f"{', '.join(TARGETS)}"
            )
        for spelt in spellings(_value(value)):
            if known.setdefault(spelt, y) != y:
                raise VotesUsageError(f"{option('outcomes')} gives {_value(value)!r} two meanings; give it one")
    if not known:
        raise VotesUsageError(f"{option('outcomes')} has no value; give {_FORM}")
    return known


_EXAMPLE = either("{1: 'a', 2: 'b', 0: 'tie'}", "1=a,2=b,0=tie")
_FORM = f"values and their meanings, such as {_EXAMPLE}, or one of {', '.join(CODINGS)}"


def _pairs(outcomes: str) -> list[tuple[object, object]]:
    parts = [part.rpartition("=") for part in _split(outcomes)]
    if not all(equals for _, equals, _ in parts):
        raise VotesUsageError(f"{option('outcomes')} must be {_FORM}; got {option('outcomes', repr(outcomes))}")
    return [(value, target) for value, _, target in parts]


def _split(outcomes: str) -> list[str]:
    """At its commas, but for those within a number: 0,5=tie."""
    parts: list[str] = []
    for part in outcomes.split(","):
        begun = bool(parts) and "=" not in parts[-1]
        parts = [*parts[:-1], f"{parts[-1]},{part}"] if begun else [*parts, part]
    return parts


def _value(value: object) -> str:
    """A value as the caller wrote it, as text; NumPy's truths and Python's are those of files."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
