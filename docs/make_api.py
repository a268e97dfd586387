"""The public names in, the page docs/api.md out: `python docs/make_api.py` writes it from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quietrank

PAGE = Path(__file__).parent / "api.md"
GROUPS = {
    "Votes": ("read_votes", "Votes", "check", "simulate"),
    "The promise": ("Privacy",),
    "Releases": ("rank", "top", "rank_by_group", "Release", "TopRelease", "GroupedRelease"),
    "Noisy counts that are paid for": (
        "noisy_tally",
        "noisy_tally_by_group",
        "rerank",
        "NoisyTally",
        "GroupedTally",
        "synthetic",
    ),
    "A budget": ("Ledger",),
    "Boards": ("Board", "plan_board", "BoardPlan"),
    "Planning": ("plan", "Plan", "plan_top", "TopPlan"),
    "Without privacy": ("fit", "NonPrivateFit", "estimators"),
    "Checking and errors": ("audit", "QuietrankError"),
}
ARGUMENT = re.compile(r"^(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*)  +(?P<text>\S.*)$")


def api_page() -> str:
    """One section per public name: its signature, what it says of itself, its arguments as a table, its example."""
    listed = {name for names in GROUPS.values() for name in names}
    missing = set(quietrank.__all__) - listed - {"__version__"}
    if missing:
        raise ValueError(f"these public names are in no group: {sorted(missing)}")
    parts = [
        "# From Python",
        "Written by `make docs` from the docstrings; do not edit. `import quietrank as qr` first.",
    ]
    for group, names in GROUPS.items():
        parts.append(f"## {group}")
        for name in names:
            parts += _section(name, getattr(quietrank, name))
    return "\n\n".join(parts) + "\n"


def _section(name: str, thing: Any) -> Iterator[str]:
    yield f"### qr.{name}"
    if callable(thing) and name != "QuietrankError":
        yield f"```text\n{_signature(name, thing)}\n```"
    yield from _blocks(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        yield from _members(name, thing)


def _members(name: str, thing: type) -> Iterator[str]:
    """The public methods and properties of a class, those that say what they do."""
    rows = []
    for member, value in inspect.getmembers(thing):
        said = inspect.getdoc(value) if not member.startswith("_") else None
        if said and (callable(value) or isinstance(value, property)) and _is_ours(thing, member):
            first = " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")
            rows.append(f"| `{_called(member, value)}` | {first} |")
    if rows:
        yield "\n".join([f"| of a `{name}` | |", "|---|---|", *rows])


def _called(member: str, value: Any) -> str:
    """A method with the names of its arguments and what it returns, or a property with its type; for a table."""
    if isinstance(value, property):
        returned = inspect.signature(value.fget).return_annotation if value.fget else inspect.Signature.empty
        return f"{member}{_typed(': ', returned)}".replace("|", "\\|")
    signature = inspect.signature(value)
    names = [name for name in signature.parameters if name != "self"]
    return f"{member}({', '.join(names)}){_typed(' -> ', signature.return_annotation)}".replace("|", "\\|")


def _typed(before: str, annotation: Any) -> str:
    """A type as it is written in the code, after a sign; nothing where there is none."""
    if annotation is inspect.Signature.empty or annotation is None:
        return ""
    return before + (annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def _is_ours(thing: type, member: str) -> bool:
    """Whether a class of quietrank defines it, and not one of Python's."""
    return any(member in vars(base) and base.__module__.startswith("quietrank") for base in thing.__mro__)


def _signature(name: str, thing: Any) -> str:
    """The names of the arguments, their types and their defaults, and the type of what is returned."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return f"qr.{name}"
    parameters = list(signature.parameters.values())
    returned = "" if inspect.isclass(thing) else _typed(" -> ", signature.return_annotation)
    words = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        default = parameter.default
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        word, sign = f"{stars}{parameter.name}{_typed(': ', parameter.annotation)}", "="
        if parameter.annotation is not parameter.empty:
            sign = " = "
        shown = "" if default is parameter.empty else str(default) if callable(default) else repr(default)
        words.append(word + (f"{sign}{'…' if ' at 0x' in shown else shown}" if shown else ""))
    line = f"qr.{name}({', '.join(words)}){returned}"
    return line if len(line) <= 100 else f"qr.{name}(\n    " + ",\n    ".join(words) + f",\n){returned}"


def _blocks(said: str) -> Iterator[str]:
    """The paragraphs of a docstring: text, lists of arguments as tables, examples as code."""
    for block in re.split(r"\n\s*\n", said):
        lines = block.splitlines()
        if lines and lines[0].startswith(">>>"):
            yield f"```python\n{block}\n```"
        elif lines and ARGUMENT.match(lines[0]):
            yield "\n".join(_table(lines))
        else:
            yield _escaped(" ".join(block.split()))


def _table(lines: list[str]) -> Iterator[str]:
    yield "| argument | meaning |"
    yield "|---|---|"
    rows: list[list[str]] = []
    for line in lines:
        if match := ARGUMENT.match(line):
            rows.append([", ".join(f"`{name}`" for name in match["names"].split(", ")), match["text"]])
        else:
            rows[-1][1] += f" {line.strip()}"
    for names, text in rows:
        yield f"| {names} | {_escaped(text)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
