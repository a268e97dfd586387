"""The options that commands share, how --help shows them, and the votes that they say to read."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from quietrank.errors import QuietrankError, UsageError
from quietrank.promise import privacy
from quietrank.promise.arguments import at_home

if TYPE_CHECKING:
    from quietrank.votes.read import Votes


class Format(StrEnum):
    """What can be printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


# ---- how --help shows options ----------------------------------------------------------------------------------


def choice(words: Iterable[str]) -> str:
    """The words that can be given, in lines short enough that Rich does not break them within a word.

    A wrong word is refused where it is used, with our message and exit code, not by Typer.
    """
    lines = textwrap.wrap(f"[{'| '.join(words)}]", 22, subsequent_indent=" ", break_on_hyphens=False)
    return "\n".join(lines).replace("| ", "|")


UNIT, NEIGHBOURS, DESIGN = map(choice, (privacy.Unit, privacy.Neighbours, privacy.Design))

# Written out, because what defines them takes a second to import; a test compares.
METHODS = ("auto", "net-wins", "wins", "win-rate", "bradley-terry")
TIES = ("half", "davidson")
CALIBRATIONS = ("tight", "published")
LINKS = ("logistic", "hyperbolic-secant")
SCALES = ("log-odds", "elo", "probability")
SOLUTIONS = ("epsilon", "people")
THEMES = ("light", "dark")
SPREADS = ("close", "typical", "clear", "paper")
HABITS = ("panel", "arena")
SHAPES = ("long", "arena")
BOTH_BAD = ("tie", "drop")
INPUT_FORMATS = ("csv", "jsonl", "json", "parquet", "xlsx")
VOTE_SHAPES = ("long", "wide", "rankings", "best-worst")
UNRANKED = ("missing", "last")
VOTE_ENGINES = ("duckdb", "spark")

MECHANISM = "MECHANISM"
"""--help lists the names, from the registry"""

PANELS = ("What is protected", "What was asked", "Where the votes are", "Columns", "Result", "Budget")


def in_panel(panel: str) -> Callable[..., Any]:
    """Options that --help shows together: their help, the placeholder of the value, and the name if it is unusual."""

    def option(help: str, metavar: str | None = None, *names: str, **limits: Any) -> Any:
        return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **limits)

    return option


promise, ranking, place, column, result, budget = map(in_panel, PANELS)
answer = in_panel("Answers; what is left out is asked")


def _without_bool(params: list[Any]) -> list[Any]:
    """The options, with no type shown for a switch: it takes no value, but Typer would write <bool> after it."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


WrongUsage: Any = typer.BadParameter.__mro__[1]
"""what Typer raises for every wrong option; it does not export it"""


def _in_our_words(error: Any, params: list[Any], args: list[str], ctx: Any) -> UsageError:
    """What is wrong with the options: the names that an unknown one begins, and numbers that are none."""
    if getattr(error, "possibilities", None) is not None:
        names = [name for param in params for name in param.opts if name.startswith(error.option_name)]
        error.possibilities = names or error.possibilities
    param = getattr(error, "param", None)
    # Its versions differ in what they know about an option, but all say which kind of number was expected.
    said = str(getattr(error, "message", ""))
    whole = "valid int" in said
    given = (
        _given(param.opts, args) if param is not None and (whole or "valid float" in said or "number" in said) else []
    )
    if not given or _is_number(given[0], whole=whole):
        return _in_one_line(error, ctx)
    number = f"{'a whole number' if whole else 'a number'}{EXAMPLES.get(param.name, '')}"  # type: ignore[union-attr]
    return UsageError(f"{param.opts[-1]} must be {number}; got {given[0]!r}")  # type: ignore[union-attr]


def _in_one_line(error: Any, ctx: Any) -> UsageError:
    """What Typer would write in a box, and where to look."""
    said = " ".join(error.format_message().split()).removesuffix(".").replace("Value error, ", "")
    return UsageError(f"{said}; see {ctx.command_path} --help")


EXAMPLES = {
    "epsilon": " > 0, such as 1",
    "delta": ", such as 1e-6",
    "level": ", such as 0.9",
    "items": ": how many items there are, such as 5",
}


def _given(names: list[str], args: list[str]) -> list[str]:
    """The values that an option was given."""
    after = [value for name, value in pairwise(args) if name in names]
    joined = [value for name, equals, value in (arg.partition("=") for arg in args) if equals and name in names]
    return [*after, *joined]


def _is_number(text: str, *, whole: bool) -> bool:
    try:
        int(text) if whole else float(text)
    except ValueError:
        return False
    return True


class Command(TyperCommand):
    """A command that shows switches, --help included, without a type, and lists the registered mechanisms."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_bool(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except WrongUsage as error:
            raise _in_our_words(error, self.get_params(ctx), words, ctx) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; in its paths, ~ is the home of whoever runs it, also where no shell has seen it."""
        paths = {name: at_home(str(path)) for name, path in ctx.params.items() if isinstance(path, Path)}
        ctx.params.update(paths)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from quietrank.mechanisms.registry import MECHANISMS

        params: list[Any] = self.params
        for param in params:
            if param.metavar == MECHANISM:
                param.metavar = choice((*([param.default] if param.default else []), *MECHANISMS))
                about = "; ".join(f"{name}: {mechanism.about}" for name, mechanism in MECHANISMS.items())
                param.help = f"{param.help} {about}."
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group that says what is wrong with its words in one line, as its commands do."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_bool(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:  # Typer shows the help, by an error of this kind
            return super().parse_args(ctx, args)
        with _one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _one_line(ctx):
            return super().invoke(ctx)


@contextmanager
def _one_line(ctx: Any) -> Iterator[None]:
    try:
        yield
    except WrongUsage as error:
        raise _in_one_line(error, ctx) from None


def command_group(help: str, **more: Any) -> typer.Typer:
    """Commands under one name, such as `quietrank ledger`."""
    return typer.Typer(cls=Group, help=help, add_completion=False, pretty_exceptions_enable=False, **more)


def numbers(name: str, text: str, example: str) -> list[float]:
    """From numbers separated by commas."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--{name} must be numbers separated by commas, such as {example}; got {text!r}") from None


# ---- options of several commands -------------------------------------------------------------------------------

Neighbours = Annotated[str, promise("When two sets of votes count as adjacent.", NEIGHBOURS)]
Design = Annotated[str, promise("What is known about who was compared with whom.", DESIGN)]
Delta = Annotated[
    float, promise("Above 0, such as 1e-6, it allows Gaussian noise: better for many votes per person.", "D")
]
Method = Annotated[str, ranking("What items are ranked by.", choice(METHODS))]
OnlyTop = Annotated[
    int | None,
    ranking("Name only the first K items, in order, and publish no counts: more often right, for the same ε.", "K"),
]
TopK = Annotated[int | None, ranking("How many top items matter; 5, or half of few items, if not given.", "K", min=1)]
Seed = Annotated[int, ranking("The same seed gives the same numbers.", "N", min=0)]
Ties = Annotated[
    str,
    ranking("A tie is half a win for each side, or an outcome of its own with a chance of its own.", choice(TIES)),
]
Gamma = Annotated[str, ranking("Ridge of Bradley-Terry scores.", "[auto|NUMBER]")]
By = Annotated[str | None, ranking("Column of a vote's group; each group gets a ranking, all for one ε.", "COLUMN")]
Groups = Annotated[str | None, ranking("All groups, with --by: a file with one per line, or a,b,c.", "FILE|a,b,c")]
ByPerson = Annotated[
    bool, ranking("With --by: each person belongs to one group; otherwise each vote has its own.", None, "--by-person")
]
Overall = Annotated[
    bool, ranking("With groups: also one ranking over all of them together, at no cost.", None, "--overall")
]
SkipInvalid = Annotated[
    bool, column("Drop rows that cannot be used, one by one, instead of refusing.", None, "--skip-invalid")
]
Level = Annotated[float, ranking("Of intervals and rank sets.", "P")]
Simultaneous = Annotated[bool, ranking("Intervals and rank sets hold for all items together.", None, "--simultaneous")]
ScoreScale = Annotated[str, ranking("Of Bradley-Terry scores.", choice(SCALES), "--scale")]
ScoreAnchor = Annotated[str | None, ranking("For elo: an item and its score.", "ITEM=1000", "--anchor")]
Out = Annotated[Path | None, result("Also write the release here: .json, or .csv for the table.", "FILE")]
Plot = Annotated[Path | None, result("Also draw the ranking here: .png, .svg or .pdf.", "FILE")]
PlotTheme = Annotated[str, result("What the figure is shown on.", choice(THEMES))]
Report = Annotated[Path | None, result("Also write a page for readers here.", "FILE.html")]
Overwrite = Annotated[
    bool, result("Replace an earlier file of the same kind; never one of another kind.", None, "--overwrite")
]
Printed = Annotated[Format, result("What to print.", choice(Format), "--format")]

# ---- options of every command that reads votes -----------------------------------------------------------------


@dataclass(frozen=True)
class VotesOptions:
    """Which votes to read, and how: every field is an option."""

    votes: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of votes, a folder of them, or a pattern in quotes: CSV, TSV, Parquet, JSON, JSON Lines or "
            "Excel; text may be compressed (.gz, .zst). - is standard input. None with --connect.",
            metavar="VOTES...",
            show_default=False,
        ),
    ] = None
    connect: Annotated[
        str | None,
        place(
            "Count in this database: postgres://user@host/database or duckdb:///folder/votes.duckdb. A password is "
            "better kept in PGPASSWORD or ~/.pgpass.",
            "URL",
        ),
    ] = None
    table: Annotated[str | None, place("The table or view to read there, such as schema.votes.", "NAME")] = None
    query: Annotated[
        str | None,
        place("Or the rows of this query: one SELECT over one table that looks at a row's own columns only.", "SELECT"),
    ] = None
    trust_query: Annotated[
        bool,
        place(
            "Read any other --query too: each of its rows comes from one vote and depends on no other person's rows. "
            "That is not checked, and the release says so.",
            None,
            "--trust-query",
        ),
    ] = False
    engine: Annotated[
        str | None, place("What reads VOTES and counts; spark takes its own settings.", choice(VOTE_ENGINES))
    ] = None
    memory_limit: Annotated[
        str | None, place("Memory to use at most; what does not fit goes to temporary files.", "4GB")
    ] = None
    threads: Annotated[int | None, place("How many may count; without it one for each core.", "N")] = None
    temp_dir: Annotated[Path | None, place("Folder for temporary files.", "FOLDER")] = None
    items: Annotated[str | None, ranking("What is ranked: a file with one item per line, or a,b,c.", "FILE|a,b,c")] = (
        None
    )
    items_from_votes: Annotated[
        bool,
        ranking("Take the items from the votes; only if the list is no secret.", None, "--items-from-votes"),
    ] = False
    pairs: Annotated[
        Path | None, ranking("The pairs people may be asked about, two items per line; all without it.", "FILE")
    ] = None
    winner: Annotated[str | None, column("Column of the preferred item.", "COLUMN")] = None
    loser: Annotated[str | None, column("Column of the other item.", "COLUMN")] = None
    tie: Annotated[str | None, column("Column that flags a tie (with --winner, --loser).", "COLUMN")] = None
    a: Annotated[str | None, column("Column of the first item.", "COLUMN", "--a")] = None
    b: Annotated[str | None, column("Column of the second item.", "COLUMN", "--b")] = None
    outcome: Annotated[str | None, column("Column that says a, b or tie.", "COLUMN")] = None
    outcomes: Annotated[
        str | None,
        column("What its values mean (a, b, tie, missing), or 1/-1/0, 1/0.5/0, 1/2/0, 1/0.", "1=a,2=b,0=tie"),
    ] = None
    missing: Annotated[
        str | None, column("Answers that mean: not answered. Empty ones need not be given.", "WORD,WORD")
    ] = None
    bothbad: Annotated[
        str, column("Whether an answer that both are bad is a tie, or left out.", choice(BOTH_BAD), "--bothbad")
    ] = "tie"
    count: Annotated[
        str | None, column("Column of how many votes a row stands for (unit comparison).", "COLUMN", "--count")
    ] = None
    wins_a: Annotated[
        str | None, column("Column of how often a won; --tie then counts ties (unit comparison).", "COLUMN")
    ] = None
    wins_b: Annotated[str | None, column("Column of how often b won.", "COLUMN")] = None
    person: Annotated[str | None, column("Column that names the person.", "COLUMN")] = None
    shape: Annotated[
        str | None,
        column(
            "What a row is: a vote, a person with a column per pair, a person's ranking, or a best-worst set; without "
            "it as the names of the columns say.",
            choice(VOTE_SHAPES),
        ),
    ] = None
    pair_columns: Annotated[
        str | None,
        column("For wide: how columns are named after pairs, or a CSV file column,a,b.", "q_{a}_{b}|FILE"),
    ] = None
    ranking: Annotated[str | None, column("For rankings: column of rankings such as A>B=C.", "COLUMN")] = None
    unranked: Annotated[
        str | None, column("For rankings: items left out are not compared, or lose to all others.", choice(UNRANKED))
    ] = None
    best: Annotated[str | None, column("For best-worst: column of the best item of a set.", "COLUMN")] = None
    worst: Annotated[str | None, column("For best-worst: column of the worst item of a set.", "COLUMN")] = None
    shown: Annotated[
        str | None,
        column("For best-worst: columns of the items shown (a,b,c or item*), or one that lists them.", "COLUMNS"),
    ] = None
    set_size: Annotated[int | None, column("For best-worst: the most items in a set; public.", "M")] = None
    positions: Annotated[
        bool, column("For best-worst: best and worst are positions in the set, from 1.", None, "--positions")
    ] = False
    design_file: Annotated[
        Path | None, column("For best-worst: all sets, as a CSV file of version, set and items.", "FILE")
    ] = None
    version: Annotated[str | None, column("With --design-file: column of its version.", "COLUMN", "--version")] = None
    set: Annotated[str | None, column("With --design-file: column of its set.", "COLUMN", "--set")] = None
    delimiter: Annotated[str | None, column("What separates the columns of a CSV file.", "CHAR")] = None
    header_rows: Annotated[
        int | None, column("Rows of a CSV file between the names of its columns and the votes.", "N")
    ] = None
    encoding: Annotated[str | None, column("Of text files that are not UTF-8, such as cp1252.", "NAME")] = None
    sheet: Annotated[str | None, column("Sheet of an Excel workbook; the first without it.", "NAME")] = None
    input_format: Annotated[
        str | None,
        column("Of the votes; without it by the files' names, and csv from standard input.", choice(INPUT_FORMATS)),
    ] = None
    where: Annotated[
        str | None,
        column("Count only rows that meet this public condition, such as \"language = 'de'\".", "CONDITION"),
    ] = None

    def reads(self) -> list[Path]:
        """Every file that is read, so that none is overwritten."""
        from quietrank.votes.paths import inputs

        return inputs(map(Path, self.votes or ()))

    def read(
        self,
        *,
        any_items: bool = False,
        skip_invalid: bool = False,
        by: By = None,
        groups: Groups = None,
        by_person: bool = False,
    ) -> Votes:
        """The votes; with `any_items` the list of items may be left out."""
        from quietrank.promise.declare import parse_items, parse_names, read_pairs
        from quietrank.votes.read import read_votes

        return read_votes(
            self.votes or None,
            None if self.items is None else parse_items(self.items),
            items_from_votes=self.items_from_votes or (any_items and self.items is None),
            pairs=None if self.pairs is None else read_pairs(self.pairs),
            by=by,
            groups=None if groups is None else parse_names(groups, "group"),
            by_person=by_person,
            skip_invalid=skip_invalid,
            **self.words,
        )

    @property
    def words(self) -> dict[str, Any]:
        """How the votes are read, in the words of `read_votes`."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = (
    "winner", "loser", "tie", "a", "b", "outcome", "outcomes", "missing", "bothbad", "count", "wins_a", "wins_b",
    "person", "delimiter", "encoding", "sheet", "input_format", "where", "shape", "pair_columns", "ranking",
    "unranked", "header_rows", "connect", "table", "query", "trust_query", "engine", "memory_limit", "threads",
    "temp_dir", "best", "worst", "shown", "set_size", "positions", "design_file", "version", "set",
)  # fmt: skip


@contextmanager
def command_line(kind: type[QuietrankError] = QuietrankError) -> Iterator[None]:
    """What is refused in here is wrong in the command line alone, whatever the votes are: exit code 2.

    `kind` of errors, if not all of them are.
    """
    try:
        yield
    except kind as error:
        raise UsageError(error.message) from None


@contextmanager
def counting(text: str) -> Iterator[None]:
    """On a terminal, what is being done with the votes, and how far it is; `text` is what is done at first."""
    from quietrank.render.screen import steps
    from quietrank.votes.watch import watching

    with steps(text) as tell, watching(tell):
        yield


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which votes to read; it receives them as one `VotesOptions`."""
    shared = inspect.signature(VotesOptions, eval_str=True).parameters
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @functools.wraps(command)
    def wrapper(**words: Any) -> None:
        command(VotesOptions(**{name: words.pop(name) for name in shared}), **words)

    parameters = sorted([*shared.values(), *own], key=lambda one: (_panel(one), one.name == "votes"))
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _panel(parameter: inspect.Parameter) -> int:
    """The position of a parameter's panel; arguments, which have none, come first, and panels of one command last."""
    (words,) = parameter.annotation.__metadata__
    if not words.rich_help_panel:
        return -1
    return PANELS.index(words.rich_help_panel) if words.rich_help_panel in PANELS else len(PANELS)
