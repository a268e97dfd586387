"""What can go wrong, each with a message that says what was given and what to do about it."""


class QuietrankError(Exception):
    """Base of all errors a user can cause or mend; the command line prints the message and exits with 1."""


class VotesError(QuietrankError):
    """The votes, or the list of items, cannot be used as they are."""


class PrivacyError(QuietrankError):
    """The privacy promise asked for is not meaningful, or cannot be kept."""


class BudgetError(PrivacyError):
    """The ledger does not cover a release, and nothing was spent.

    `requested`, `remaining` and their `difference` are ε in the unit of the ledger, `largest` is the ε of a release.
    """

    def __init__(self, message: str, requested: float, remaining: float, largest: float) -> None:
        super().__init__(message)
        self.requested, self.remaining, self.largest = requested, remaining, largest
        self.difference = requested - remaining


class LedgerError(QuietrankError):
    """A ledger cannot be made, read or written, or its history does not hold together."""


class SolverError(QuietrankError):
    """A fit does not exist or did not reach its tolerance."""


class ReleaseError(QuietrankError):
    """A release cannot be written or read."""
