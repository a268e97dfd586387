"""The command line: words in, results to stdout, everything else to stderr.

Exit codes: 0 done, also when the reader of a pipe closed it; 1 refused or failed, with a one-line reason and a remedy;
2 wrong usage; 3 a release was made and saved, but could not be shown; 130 interrupted. Heavy modules are imported where
they are used, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Sequence
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

COMMANDS = (demo, start, rank, rerank, check, fit, plan, simulate, synthetic, audit, verify, evidence)
NAMED = {command.__name__: command for command in COMMANDS} | {"app": browse}
GROUPS = {"board": board_app, "ledger": ledger_app, "paper": paper_app}


def _print_version(version: bool) -> None:
    if version:
        print(f"quietrank {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Private rankings from pairwise votes."""


def _with(names: Container[str]) -> typer.Typer:
    """The command line with the commands and groups of these names."""
    made = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    for name, command in NAMED.items():
        if name in names:
            made.command(name, cls=Command)(command)
    for name, group in GROUPS.items():
        if name in names:
            made.add_typer(group, name=name)
    return made


app = _with({*NAMED, *GROUPS})


def _called(words: Sequence[str]) -> typer.Typer:
    """The command line as far as these words need it: Typer takes longer to build all commands than to run most."""
    return _with(words[:1]) if words and (words[0] in NAMED or words[0] in GROUPS) else app


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
        _called(sys.argv[1:])()
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
