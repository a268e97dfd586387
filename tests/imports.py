"""Source files in; who imports what, who may, and what breaks the rules, out. Whatever is not allowed is denied.

The rules are data (`Rules`); tests/test_boundaries.py has those of the library, and plants faults to see them caught.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PACKAGE = "quietrank"
DOTTED = re.compile(rf"{PACKAGE}(\.\w+)+")
"""a text that names a module is taken for an import: so are imports made by name"""

Sources = Mapping[str, str]
"""the name of every module, without the package's, and its text; `promise` is promise/__init__.py"""


def sources_of(root: Path) -> dict[str, str]:
    """All modules of a package."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path.read_text("utf-8")
        for path in sorted(root.rglob("*.py"))
    }


def imports(name: str, sources: Sources, *, for_types: bool = True) -> set[str]:
    """Every module this one imports, wherever in the file; with `for_types` also those for the type checker alone."""
    tree = _parsed(sources[name])
    skipped = set() if for_types else set(_typing_only(tree))
    nodes = [node for node in ast.walk(tree) if id(node) not in skipped]
    named = {dotted for node in nodes for dotted in _imported(node, name, sources)} - {f"{PACKAGE}.__version__"}
    return {_module(dotted, sources) for dotted in named} - {name}


@lru_cache(maxsize=1000)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _typing_only(tree: ast.Module) -> Iterator[int]:
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test):
            yield from (id(node) for node in ast.walk(block))


def _imported(node: ast.AST, name: str, sources: Sources) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            is_package = any(other.startswith(f"{name}.") for other in sources)
            home = f"{PACKAGE}.{name}".split(".")[: None if is_package and node.level == 1 else is_package - node.level]
            base = ".".join([*home, *filter(None, [node.module])])
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
        yield node.value


def _module(dotted: str, sources: Sources) -> str:
    """The longest part of a dotted name that is a module of ours; other libraries by their first word, with a mark."""
    words = dotted.split(".")
    if words[0] != PACKAGE:
        return f":{words[0]}"
    known = (".".join(words[1:end]) for end in range(len(words), 1, -1))
    return next((name for name in known if name in sources), "__init__")


@dataclass(frozen=True)
class Rules:
    """Who may import whom, which library, and call what."""

    sides: Mapping[str, tuple[str, ...]]
    """each side, and the modules or packages on it"""
    may_see: Mapping[str, tuple[str, ...]]
    """each side, and the sides it may import"""
    order: tuple[tuple[str, ...], ...]
    """rooms from the first to the last; a room may import those before it, and those it stands with"""
    libraries: Mapping[str, tuple[str, ...]]
    """libraries that only these modules or packages may import"""
    calls: Mapping[str, tuple[str, ...]]
    """names that only these modules or packages may mention"""


def within(name: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or in one of these packages."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def violations(sources: Sources, rules: Rules) -> list[str]:
    """Every breach of the rules, in words."""
    return [breach for name in sources for breach in _of_module(name, sources, rules)]


def _of_module(name: str, sources: Sources, rules: Rules) -> Iterator[str]:
    sides, place = _sides(name, rules), _place(name, rules)
    if len(sides) != 1:
        yield f"{name} is on {len(sides)} sides; say on which it is"
        return
    if place is None:
        yield f"{name} is in no room; say where it stands"
        return
    for other in imports(name, sources):
        if other.startswith(":"):
            owners = rules.libraries.get(other[1:])
            if owners is not None and not within(name, owners):
                yield f"{name} imports {other[1:]}"
            continue
        if not set(_sides(other, rules)) <= set(rules.may_see[sides[0]]):
            yield f"{name} ({sides[0]}) imports {other} ({', '.join(_sides(other, rules)) or 'no side'})"
        if (there := _place(other, rules)) is not None and there > place:
            yield f"{name} imports {other}, which comes after it"
    for word in _mentioned(sources[name]) & set(rules.calls):
        if not within(name, rules.calls[word]):
            yield f"{name} mentions {word}"


def _sides(name: str, rules: Rules) -> list[str]:
    """The side on which it stands by its longest name; several if it stands on more than one, none if on none."""
    named = [(place, side) for side, places in rules.sides.items() for place in places if within(name, (place,))]
    longest = max((len(place) for place, _ in named), default=0)
    return [side for place, side in named if len(place) == longest]


def _place(name: str, rules: Rules) -> int | None:
    """The number of its room, by its longest name."""
    named = [(len(room), place) for place, rooms in enumerate(rules.order) for room in rooms if within(name, (room,))]
    return max(named)[1] if named else None


def _mentioned(source: str) -> set[str]:
    """Names that are used, as values, after a dot or as text; not those that are defined or imported."""
    nodes = list(ast.walk(_parsed(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return attributes | texts | {node.id for node in nodes if isinstance(node, ast.Name)}


def reading_list(starts: tuple[str, ...], sources: Sources, left_out: tuple[str, ...]) -> dict[str, int]:
    """What these modules import, directly and through others, with the number of lines of each; packages without code
    aside, and without what is left out and what only that imports."""
    lines_of: dict[str, int] = {}
    waiting = [name for name in sources if within(name, starts)]
    while waiting:
        name = waiting.pop()
        if name in lines_of or within(name, (*left_out, "__init__")):  # which names all that users may import
            continue
        lines_of[name] = len(sources[name].splitlines())
        waiting += [other for other in imports(name, sources, for_types=False) if not other.startswith(":")]
    return {name: lines for name, lines in sorted(lines_of.items()) if _has_code(sources[name])}


def _has_code(source: str) -> bool:
    body = ast.parse(source).body
    return any(not isinstance(node, ast.Expr | ast.ImportFrom) for node in body)
