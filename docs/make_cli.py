"""The commands in, the page docs/cli.md out: `python docs/make_cli.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from quietrank.cli.app import app

PAGE = Path(__file__).parent / "cli.md"

CODES = """| exit code | |
|---|---|
| 0 | done; also if the reader of a pipe closed it |
| 1 | refused or failed, because of votes, files, a ledger or a board, or because a check did not hold |
| 2 | the command line is wrong by itself: a word is missing, unknown, out of range, or does not go with another |
| 3 | a release was made and saved, but could not be shown |
| 130 | interrupted |

Whatever is not 0 comes with one line on standard error that says what to do; without any word, `quietrank`
shows its help and exits with 2. What is judged together with the votes, the list of items or a file is 1: which columns
hold what, a mechanism that does not fit the items, a missing folder."""


def command_line_page() -> str:
    """One section per command, one row per option, from the commands' own words."""
    group: Any = typer.main.get_command(app)
    parts = ["# The command line", "Written by `make docs`; do not edit.", CODES, *_commands("quietrank", group)]
    return "\n\n".join(parts) + "\n"


def _commands(path: str, group: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"## {path} {name}"
        yield inspect.cleandoc(command.help or "")
        yield "\n".join(["| option | meaning | default |", "|---|---|---|", *_rows(command)])
        if hasattr(command, "commands"):
            yield from _commands(f"{path} {name}", command)


def _rows(command: Any) -> Iterator[str]:
    """A row per option, under the panel that `--help` shows it in."""
    for panel, options in groupby(command.params, lambda option: option.rich_help_panel):
        if panel:
            yield f"| **{panel}** | | |"
        yield from map(_row, options)


def _row(option: Any) -> str:
    default = "" if option.default is None or option.default is False else option.default
    return f"| `{_label(option)}` | {option.help or ''} | {default} |"


def _label(option: Any) -> str:
    if option.param_type_name == "argument":
        return str(option.name.upper())
    value = (option.metavar or "").replace("\n ", "").replace("|", "\\|")
    return " ".join([", ".join(option.opts), value]).strip()


if __name__ == "__main__":
    PAGE.write_text(command_line_page(), encoding="utf-8")
