"""The words that commands share in; the types of their options, and the votes that they are about, out."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from quietrank.promise import privacy

if TYPE_CHECKING:
    from quietrank.votes.read import Votes


class Format(StrEnum):
    """What can be printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


# ---- how --help shows options ----------------------------------------------------------------------------------


def choice(words: Iterable[str]) -> str:
    """The words that can be given, in lines that leave room beside them: Rich would fold them within a word.

    A wrong word is refused where it is used, with our reason and exit code, and not by Typer.
    """
    lines = textwrap.wrap(f"[{'| '.join(words)}]", 22, subsequent_indent=" ", break_on_hyphens=False)
    return "\n".join(lines).replace("| ", "|")


UNIT, NEIGHBOURS, DESIGN = map(choice, (privacy.Unit, privacy.Neighbours, privacy.Design))

# Written out, because what defines them takes a second to import; a test compares.
MECHANISMS = ("laplace", "zonotope", "gaussian", "perturbed-mle")
METHODS = ("auto", "net-wins", "wins", "win-rate", "bradley-terry")
CALIBRATIONS = ("tight", "published")
LINKS = ("logistic", "hyperbolic-secant")
SOLUTIONS = ("epsilon", "people")
SPREADS = ("close", "typical", "clear", "paper")

PANELS = ("What is protected", "What was asked", "Columns", "Result", "Budget")
promise_option, ranking_option, column_option, result_option, budget_option = (
    partial(typer.Option, rich_help_panel=panel) for panel in PANELS
)


def _without_bool(params: list[Any]) -> list[Any]:
    """Options of which a switch shows no type: it takes no value, and Typer would write <bool> behind it."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command whose switches, --help as well, are shown without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_bool(super().get_params(ctx))


class Group(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_bool(super().get_params(ctx))


# ---- options of several commands -------------------------------------------------------------------------------

Neighbours = Annotated[str, promise_option(help="When two sets of votes count as adjacent.", metavar=NEIGHBOURS)]
Design = Annotated[str, promise_option(help="What is known about who was compared with whom.", metavar=DESIGN)]
Delta = Annotated[
    float,
    promise_option(
        help="Above 0, such as 1e-6, it allows Gaussian noise: better for many votes per person.", metavar="D"
    ),
]
Method = Annotated[str, ranking_option(help="What items are ranked by.", metavar=choice(METHODS))]
Gamma = Annotated[str, ranking_option(help="Ridge of Bradley-Terry scores.", metavar="[auto|NUMBER]")]
By = Annotated[
    str | None,
    ranking_option(help="Column of a vote's group; each group gets a ranking, all for one ε.", metavar="COLUMN"),
]
Groups = Annotated[
    str | None,
    ranking_option(help="All groups, with --by: a file with one per line, or a,b,c.", metavar="FILE|a,b,c"),
]
SkipInvalid = Annotated[
    bool, column_option("--skip-invalid", help="Drop rows that cannot be used, one by one, instead of refusing.")
]
Out = Annotated[
    Path | None, result_option(help="Also write the release here: .json, or .csv for the table.", metavar="FILE")
]
Overwrite = Annotated[
    bool,
    result_option("--overwrite", help="Replace an earlier file of the same kind; never one of another kind."),
]
Printed = Annotated[Format, result_option("--format", help="What to print.", metavar=choice(Format))]


# ---- options of every command that reads votes -----------------------------------------------------------------


@dataclass(frozen=True)
class VotesOptions:
    """Which votes to read, and how."""

    path: Path
    items: str | None
    items_from_votes: bool
    pairs: Path | None
    delimiter: str | None
    columns: dict[str, str | None]

    def read(
        self,
        *,
        items_from_votes: bool = False,
        skip_invalid: bool = False,
        by: str | None = None,
        groups: str | None = None,
    ) -> Votes:
        from quietrank.promise.items import parse_items, parse_names, read_pairs
        from quietrank.votes.read import read_votes

        return read_votes(
            self.path,
            None if self.items is None else parse_items(self.items),
            items_from_votes=self.items_from_votes or (items_from_votes and self.items is None),
            pairs=None if self.pairs is None else read_pairs(self.pairs),
            by=by,
            groups=None if groups is None else parse_names(groups, "group"),
            skip_invalid=skip_invalid,
            delimiter=self.delimiter,
            **self.columns,
        )


def _votes_options(
    votes: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or JSON Lines; text may be gzipped.", metavar="VOTES")
    ],
    items: Annotated[
        str | None,
        ranking_option(help="What is ranked: a file with one item per line, or a,b,c.", metavar="FILE|a,b,c"),
    ] = None,
    items_from_votes: Annotated[
        bool,
        ranking_option(
            "--items-from-votes", help="Take the items from the votes; only if who is on the list is no secret."
        ),
    ] = False,
    pairs: Annotated[
        Path | None,
        ranking_option(help="The pairs people may be asked about, two items per line; all without it.", metavar="FILE"),
    ] = None,
    winner: Annotated[str | None, column_option(help="Column of the preferred item.", metavar="COLUMN")] = None,
    loser: Annotated[str | None, column_option(help="Column of the other item.", metavar="COLUMN")] = None,
    tie: Annotated[
        str | None, column_option(help="Column that flags a tie (with --winner, --loser).", metavar="COLUMN")
    ] = None,
    a: Annotated[str | None, column_option("--a", help="Column of the first item.", metavar="COLUMN")] = None,
    b: Annotated[str | None, column_option("--b", help="Column of the second item.", metavar="COLUMN")] = None,
    outcome: Annotated[str | None, column_option(help="Column that says a, b or tie.", metavar="COLUMN")] = None,
    person: Annotated[str | None, column_option(help="Column that names the person.", metavar="COLUMN")] = None,
    delimiter: Annotated[
        str | None, column_option(help="What separates the columns of a CSV file.", metavar="CHAR")
    ] = None,
) -> VotesOptions:
    columns = {
        "winner": winner, "loser": loser, "tie": tie, "a": a, "b": b, "outcome": outcome, "person": person
    }  # fmt: skip
    return VotesOptions(votes, items, items_from_votes, pairs, delimiter, columns)


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which votes to read; it receives them as one `VotesOptions`."""
    shared = inspect.signature(_votes_options, eval_str=True).parameters
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @functools.wraps(command)
    def gathered(**words: Any) -> None:
        source = _votes_options(**{name: words.pop(name) for name in shared})
        command(source, **words)

    parameters = sorted([*shared.values(), *own], key=_panel)
    gathered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    gathered.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return gathered


def _panel(parameter: inspect.Parameter) -> int:
    """The place of a parameter's panel; arguments, which have none, come first."""
    (words,) = parameter.annotation.__metadata__
    return PANELS.index(words.rich_help_panel) if words.rich_help_panel else -1
