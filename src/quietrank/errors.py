"""What went wrong in, an error out, with a message that says what was given and what to do about it.

A message uses the caller's names: `max_per_person=5` from Python, `--max-per-person 5` on the command line.
`option` and `either` write both forms into a message; `str(error)` shows Python's, and `error.in_options()` the
command line's.
"""

from __future__ import annotations

import re

_OPEN, _MIDDLE, _CLOSE = "\ue000", "\ue001", "\ue002"  # private-use characters, which no other text contains
_BOTH = re.compile(f"{_OPEN}([^{_MIDDLE}]*){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")

_WORD = re.compile("(?!nan$|inf$)[a-z]+(-[a-z]+)*")


def either(python: str, command: str) -> str:
    """Words for a message: the first from Python, the second on the command line."""
    return f"{_OPEN}{_plain(python)}{_MIDDLE}{_plain(command)}{_CLOSE}"


def option(name: str, value: object = None) -> str:
    """An option for a message, by its name in Python, with the value it has or should have; a word is quoted there."""
    flag = "--" + name.replace("_", "-")
    if value is None:
        return either(name, flag)
    is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
    return either(f"{name}='{value}'" if is_word else f"{name}={value}", flag if value is True else f"{flag} {value}")


def _plain(text: str) -> str:
    return re.sub(f"[{_OPEN}{_MIDDLE}{_CLOSE}]", "?", text)


def _shortened(text: str) -> str:
    """The text with words of a thousand letters cut short: a file may contain such names."""
    return re.sub(r"(\S{100})\S{900,}", r"\1…", text)


class QuietrankError(Exception):
    """Base of all errors a user can cause or fix; the command line prints the message and exits with 1.

    >>> import quietrank as qr
    >>> try:
    ...     qr.Privacy(epsilon=1, unit="person")
    ... except qr.QuietrankError as error:
    ...     print(str(error)[:35])
    unit='person' needs max_per_person,
    """

    @property
    def message(self) -> str:
        """The message with both forms in it, for use in another message."""
        return BaseException.__str__(self)  # KeyError, which one of these is as well, would quote it

    def __str__(self) -> str:
        return _shortened(_BOTH.sub(r"\1", self.message))

    def in_options(self) -> str:
        """The message with the options of the command line."""
        return _shortened(_BOTH.sub(r"\2", self.message))


class UsageError(QuietrankError):
    """The call makes no sense; on the command line, exit code 2."""


class VotesError(QuietrankError):
    """The votes, or the list of items, cannot be used as they are."""


class VotesUsageError(VotesError, UsageError):
    """How votes are to be read makes no sense, whatever is in them."""


class PrivacyError(QuietrankError):
    """The privacy promise asked for is not meaningful, or cannot be kept."""


class UnknownWordError(PrivacyError, UsageError):
    """A word that is none of those that can be given."""


class BudgetError(PrivacyError):
    """The ledger does not cover a release, and nothing was spent.

    `requested`, `remaining` and their `difference` are ε in the unit of the ledger, `largest` is the ε of a release.
    """

    def __init__(self, message: str, requested: float, remaining: float, largest: float) -> None:
        super().__init__(message)
        self.requested, self.remaining, self.largest = requested, remaining, largest
        self.difference = requested - remaining


class LedgerError(QuietrankError):
    """A ledger cannot be made, read or written, or its history is inconsistent."""


class SolverError(QuietrankError):
    """A fit does not exist or did not reach its tolerance."""


class ReleaseError(QuietrankError):
    """A release cannot be written or read."""


class UnknownItemError(ReleaseError, KeyError):
    """A release has no such item."""


class BoardError(QuietrankError):
    """A board cannot be made, read or continued."""
