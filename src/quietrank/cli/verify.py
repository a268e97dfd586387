"""`quietrank verify`: what can be checked about a release goes to stdout; the exit code is 1 if any of it is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import complain, print_result
from quietrank.cli.options import Format, Printed
from quietrank.errors import QuietrankError
from quietrank.render.screen import progress

Published = Annotated[
    Path, typer.Argument(help="What rank, rerank or board show wrote with --out.", metavar="RELEASE.json")
]
Paid = Annotated[Path | None, typer.Option(help="The ledger that paid for it.", metavar="FILE")]
Saved = Annotated[
    Path | None, typer.Option(help="The noisy counts it was made from (rank --save-tally).", metavar="TALLY.json")
]


def verify(release: Published, ledger: Paid = None, tally: Saved = None, format: Printed = Format.TABLE) -> None:
    """Check a release offline: that its parts fit together, that its noise is that of its promise, and that the ledger
    has the entry it names.

    No votes are needed and none are read. It cannot tell whether this release is the one that was paid for, nor whether
    its noise was drawn at all. Exit code 1 if anything that could be checked does not hold.
    """
    from quietrank.evidence import verify as checks
    from quietrank.evidence.subject import read_subject

    subject = read_subject(release)
    with progress("computing again …") as tell:
        verification = checks.verify(subject, ledger=ledger, tally=tally, tell=tell)
    print_result(verification, checks.render, format, 118)
    if (reason := verification.reason) is not None:
        complain(QuietrankError(f"{release} does not hold: {reason}"))
        raise typer.Exit(1)
