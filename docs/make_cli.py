"""The commands in, the page docs/cli.md out: `python docs/make_cli.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from quietrank.cli.app import app

PAGE = Path(__file__).parent / "cli.md"


def command_line_page() -> str:
    """One section per command, one row per option, from the commands' own words."""
    group: Any = typer.main.get_command(app)
    parts = ["# The command line", "Written by `make docs`; do not edit.", *_commands("quietrank", group)]
    return "\n\n".join(parts) + "\n"


def _commands(path: str, group: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"## {path} {name}"
        yield inspect.cleandoc(command.help or "")
        yield "\n".join(["| option | meaning | default |", "|---|---|---|", *_rows(command)])
        if hasattr(command, "commands"):
            yield from _commands(f"{path} {name}", command)


def _rows(command: Any) -> Iterator[str]:
    for option in command.params:
        if option.param_type_name == "argument":
            label = option.name.upper()
        else:
            label = " ".join([", ".join(option.opts), option.metavar or ""]).strip()
        default = "" if option.default is None or option.default is False else option.default
        yield f"| `{label}` | {option.help or ''} | {default} |".replace("FILE|a", "FILE\\|a")


if __name__ == "__main__":
    PAGE.write_text(command_line_page(), encoding="utf-8")
