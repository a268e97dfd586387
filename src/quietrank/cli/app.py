"""The command line: words in, results to stdout, everything else to stderr.

Exit codes: 0 done, also when the reader of a pipe closed it; 1 refused or failed, with a one-line reason and a remedy;
2 wrong usage; 3 a release was made and saved, but could not be shown; 130 interrupted. Heavy modules are imported where
they are used, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from quietrank import __version__
from quietrank.cli.audit import audit
from quietrank.cli.board import board_app
from quietrank.cli.browser import browse
from quietrank.cli.check import check
from quietrank.cli.deliver import complain
from quietrank.cli.demo import demo
from quietrank.cli.evidence import evidence
from quietrank.cli.fit import fit
from quietrank.cli.ledger import ledger_app
from quietrank.cli.options import Command, Group
from quietrank.cli.paper import paper_app
from quietrank.cli.plan import plan
from quietrank.cli.rank import rank
from quietrank.cli.rerank import rerank
from quietrank.cli.simulate import simulate
from quietrank.cli.start import start
from quietrank.cli.synthetic import synthetic
from quietrank.cli.verify import verify
from quietrank.errors import QuietrankError, UsageError
from quietrank.render.screen import never_fail_on_a_character, silence_stdout

INTERRUPTED = 130

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, start, rank, rerank, check, fit, plan, simulate, synthetic, audit, verify, evidence):
    app.command(cls=Command)(command)
app.command("app", cls=Command)(browse)
app.add_typer(board_app, name="board")
app.add_typer(ledger_app, name="ledger")
app.add_typer(paper_app, name="paper")


def _print_version(version: bool) -> None:
    if version:
        print(f"quietrank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Private rankings from pairwise votes."""


def main() -> None:
    """Run the command line; an error that a user can fix becomes one line on stderr."""
    if sys.stderr is None:  # closed from the start; some libraries write to it without asking
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    never_fail_on_a_character()
    code = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        code = code if isinstance(error, BrokenPipeError) else _failed(error)
    sys.exit(code)


def _run() -> int:
    """The exit code of the command."""
    try:
        app()
        return 0
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # Typer's own answer to a closed pipe is 1
            silence_stdout()
            return 0
        if stop.code == INTERRUPTED:
            return _interrupted()
        return stop.code if isinstance(stop.code, int) else 0
    except QuietrankError as error:
        complain(error)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        silence_stdout()
        return 0
    except OSError as error:
        return _failed(error)
    except (KeyboardInterrupt, RuntimeError) as error:
        # The engine reports an interrupted query as a RuntimeError.
        if isinstance(error, RuntimeError) and "interrupt" not in str(error).lower():
            raise
        return _interrupted()


def _failed(error: OSError) -> int:
    complain(QuietrankError(f"cannot write or read: {error}; check the path and the free space"))
    return 1


def _interrupted() -> int:
    complain(QuietrankError("interrupted; `quietrank ledger show` tells whether a ledger was debited"))
    return INTERRUPTED
