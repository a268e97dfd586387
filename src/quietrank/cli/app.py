"""The command line: words in, results to stdout, everything else to stderr.

Exit codes: 0 done, also when the reader of a pipe went away; 1 refused or failed, with a one-line reason and a remedy;
2 wrong usage; 3 a release was made and saved, but could not be shown; 130 interrupted. Heavy modules are imported where
they are used, so that `--help` is quick.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from quietrank import __version__
from quietrank.cli.audit import audit
from quietrank.cli.ledger import ledger_app, open_ledger
from quietrank.cli.paper import paper_app
from quietrank.cli.plan import plan
from quietrank.errors import QuietrankError, ReleaseError, UsageError
from quietrank.publish.files import RELEASE, TALLY, VOTES, Kind, check_apart, check_output, write_text
from quietrank.render.screen import never_fail_on_a_character, show, show_data, silence_stdout, tell, visible

if TYPE_CHECKING:
    from quietrank.ledger.book import BudgetLedger
    from quietrank.promise.privacy import Privacy
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.nonprivate import NonPrivateFit
    from quietrank.publish.release import Release
    from quietrank.votes.check import Report
    from quietrank.votes.read import Votes

app = typer.Typer(
    help="Private rankings from pairwise votes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(paper_app, name="paper")
app.command()(audit)
stderr = Console(stderr=True)
NOT_SHOWN, INTERRUPTED = 3, 130


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Out = Annotated[
    Path | None, typer.Option(help="Also write the release here: .json, or .csv for the table.", metavar="FILE")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier file of the same kind; never one of another kind.")
]

# ---- options that every command reading votes shares -----------------------------------------------------------


@dataclass(frozen=True)
class VotesOptions:
    """Which votes to read, and how."""

    path: Path
    items: str | None
    items_from_votes: bool
    pairs: Path | None
    delimiter: str | None
    columns: dict[str, Any]

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
        typer.Option(help="What is ranked: a file with one item per line, or a,b,c.", metavar="FILE|a,b,c"),
    ] = None,
    items_from_votes: Annotated[
        bool,
        typer.Option(
            "--items-from-votes", help="Take the items from the votes; only if who is on the list is no secret."
        ),
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option(help="The pairs people may be asked about, two items per line; all without it.", metavar="FILE"),
    ] = None,
    winner: Annotated[str | None, typer.Option(help="Column of the preferred item.", metavar="COLUMN")] = None,
    loser: Annotated[str | None, typer.Option(help="Column of the other item.", metavar="COLUMN")] = None,
    tie: Annotated[
        str | None, typer.Option(help="Column that flags a tie (with --winner, --loser).", metavar="COLUMN")
    ] = None,
    a: Annotated[str | None, typer.Option("--a", help="Column of the first item.", metavar="COLUMN")] = None,
    b: Annotated[str | None, typer.Option("--b", help="Column of the second item.", metavar="COLUMN")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column that says a, b or tie.", metavar="COLUMN")] = None,
    person: Annotated[str | None, typer.Option(help="Column that names the person.", metavar="COLUMN")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What parts the columns of a CSV file.", metavar="CHAR")] = None,
) -> VotesOptions:
    columns = {
        "winner": winner, "loser": loser, "tie": tie, "a": a, "b": b, "outcome": outcome, "person": person
    }  # fmt: skip
    return VotesOptions(votes, items, items_from_votes, pairs, delimiter, columns)


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which votes to read; it receives them as one `VotesOptions`."""
    shared = dict(inspect.signature(_votes_options, eval_str=True).parameters)
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])

    @functools.wraps(command)
    def gathered(**words: Any) -> None:
        source = _votes_options(**{name: words.pop(name) for name in shared})
        command(source, **words)

    votes = shared.pop("votes")
    parameters = [votes, *own.values(), *shared.values()]
    shared["votes"] = votes
    gathered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    gathered.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return gathered


# ---- commands --------------------------------------------------------------------------------------------------


@app.command()
@reads_votes
def rank(
    source: VotesOptions,
    unit: Annotated[
        str | None, typer.Option(help="What is protected: comparison or person. Required.", metavar="UNIT")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Strength of the promise; smaller is stronger. Required.", metavar="E")
    ] = None,
    max_per_person: Annotated[
        float | None,
        typer.Option(
            help="L: a person with more votes has them scaled down to this many in all (unit comparison: L of them "
            "count).",
            metavar="L",
        ),
    ] = None,
    one_per_pair: Annotated[
        bool,
        typer.Option("--one-per-pair", help="What a person said of one pair is averaged into one answer: less noise."),
    ] = False,
    neighbours: Annotated[str, typer.Option(help="replace, add-remove or outcome.")] = "replace",
    design: Annotated[str, typer.Option(help="private, uniform or public.")] = "private",
    delta: Annotated[
        float, typer.Option(help="Above 0, such as 1e-6, it allows Gaussian noise: better for many votes per person.")
    ] = 0.0,
    clip: Annotated[
        float | None,
        typer.Option(help="C, for Gaussian noise: the most a person may move the counts, as a Euclidean norm."),
    ] = None,
    mechanism: Annotated[str, typer.Option(help="auto, laplace, zonotope, gaussian or perturbed-mle.")] = "auto",
    method: Annotated[str, typer.Option(help="auto, net-wins, wins, win-rate or bradley-terry.")] = "auto",
    gamma: Annotated[str, typer.Option(help="Ridge of Bradley-Terry scores: a number, or auto.")] = "auto",
    comparisons_per_item: Annotated[
        float | None, typer.Option(help="For perturbed-mle: as expected beforehand, 2 × votes / items.", metavar="N")
    ] = None,
    calibration: Annotated[str, typer.Option(help="For perturbed-mle: tight or published noise.")] = "tight",
    link: Annotated[str, typer.Option(help="For perturbed-mle: logistic or hyperbolic-secant.")] = "logistic",
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Drop rows that cannot be used, one by one, instead of refusing.")
    ] = False,
    by: Annotated[
        str | None, typer.Option(help="Column of a vote's group: one ranking per group, for one ε.", metavar="COLUMN")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="All groups, with --by: a file with one per line, or a,b,c.", metavar="FILE|a,b,c"),
    ] = None,
    save_tally: Annotated[
        Path | None, typer.Option(help="Keep the noisy counts here, for quietrank rerank.", metavar="TALLY.json")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Pay from this budget (see quietrank ledger).", metavar="FILE")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Make a private ranking from a file of votes.

    Publish one run: two runs at ε = 1 have spent ε = 2 together, whichever of them is shown.
    """
    from quietrank import pipeline

    privacy = _privacy(
        unit,
        epsilon,
        delta=delta,
        neighbours=neighbours,
        design=design,
        max_per_person=max_per_person,
        one_per_pair=one_per_pair,
        clip=clip,
    )
    ridge = _gamma(gamma)
    _check_releases(out, save_tally, overwrite, reads=(source.path, ledger))
    kept = Kept(overwrite)
    if save_tally is None:
        request = pipeline.Request.of(mechanism, method, ridge, comparisons_per_item, calibration, link)
    else:
        request = pipeline.Request.of(mechanism, method, ridge, comparisons_per_item, calibration, link).of_counts()
    budget = None if ledger is None else open_ledger(ledger)  # refused before the votes are read
    with stderr.status("counting votes and drawing noise …"):
        votes = source.read(skip_invalid=skip_invalid, by=by, groups=groups)
        warning = _who_is_protected(votes, privacy)  # looked up before anything is paid for, told afterwards
        if save_tally is None:
            release = pipeline.make_release(votes, privacy, request, budget)
        else:
            tally = pipeline.make_tally(votes, privacy, request, budget)
            kept.write(save_tally, tally.to_json(), TALLY)  # before anything else is done with it
            release = pipeline.release_of(tally, request)
    try:
        _deliver(release, format, out, kept, paid=True)
    finally:
        if warning is not None:
            tell(warning)
        if budget is not None:
            _tell_payment(budget, release)


@app.command()
def rerank(
    tally: Annotated[Path, typer.Argument(help="What rank --save-tally wrote.", metavar="TALLY.json")],
    method: Annotated[str, typer.Option(help="auto, net-wins, wins, win-rate or bradley-terry.")] = "auto",
    gamma: Annotated[str, typer.Option(help="Ridge of Bradley-Terry scores: a number, or auto.")] = "auto",
    top: Annotated[int | None, typer.Option(help="Show only the first K items.", metavar="K")] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Make another ranking from noisy counts that were saved. Costs nothing: the counts have been paid for."""
    from quietrank import pipeline
    from quietrank.publish.tally_file import load_any

    _check_releases(out, None, overwrite, reads=(tally,))
    release = pipeline.rerank(load_any(tally), method=method, gamma=_gamma(gamma))
    _deliver(release if top is None else release.top(top), format, out, Kept(overwrite))


@app.command()
@reads_votes
def check(
    source: VotesOptions,
    unit: Annotated[
        str | None, typer.Option(help="comparison, or person to check for missing people too.", metavar="UNIT")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column of a vote's group.", metavar="COLUMN")] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="All groups, with --by: a file with one per line, or a,b,c.", metavar="FILE|a,b,c"),
    ] = None,
) -> None:
    """Say what is in a file of votes and what is wrong with it. For the data holder only."""
    from quietrank.promise.privacy import Unit
    from quietrank.votes import check as checks

    if unit not in (None, *Unit):
        raise UsageError(f"--unit must be comparison or person; got {unit!r}")
    with stderr.status("reading votes …"):
        read = source.read(items_from_votes=True, by=by, groups=groups)
        if unit == Unit.PERSON:
            read.require_person()
        found = checks.report(read, people=unit == Unit.PERSON)
    _print_report(found)
    if found.flaws:
        raise typer.Exit(1)


@app.command()
@reads_votes
def fit(
    source: VotesOptions,
    ridge: Annotated[float, typer.Option(help="γ in (γ/2)‖θ‖²; 0 is maximum likelihood.", min=0)] = 0.0,
    link: Annotated[str, typer.Option(help="logistic or hyperbolic-secant.")] = "logistic",
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Drop rows that cannot be used, one by one, instead of refusing.")
    ] = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Fit exact Bradley-Terry scores with standard errors. NOT private: for votes you may look at."""
    from quietrank import pipeline

    with stderr.status("fitting …"):
        fitted = pipeline.fit(source.read(items_from_votes=True, skip_invalid=skip_invalid), ridge=ridge, link=link)
    _print_fit(fitted, format)


@app.command()
def simulate(
    items: Annotated[int | None, typer.Option(help="How many items.", min=2)] = None,
    people: Annotated[int | None, typer.Option(help="How many people.", min=1)] = None,
    per_person: Annotated[int | None, typer.Option(help="How many pairs each person compares.", min=1)] = None,
    p: Annotated[
        float | None,
        typer.Option("--p", help="Instead of people: each pair is compared once with this probability.", min=0, max=1),
    ] = None,
    strengths: Annotated[
        Path | None,
        typer.Option(help="CSV of item,strength, instead of --items and the paper's strengths.", metavar="FILE.csv"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same votes.", min=0)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write (.csv, .csv.gz, .parquet); stdout without it.", metavar="FILE"),
    ] = None,
) -> None:
    """Write synthetic votes that `rank` can read."""
    import numpy as np

    from quietrank import simulation

    if (people is None or per_person is None) if p is None else (people is not None or per_person is not None):
        raise UsageError("say how to compare: --people and --per-person, or --p")
    if p != p:
        raise UsageError("--p must be a number from 0 to 1; got nan")
    if (items is None) == (strengths is None):
        raise UsageError("say what is compared: --items N, or --strengths FILE.csv")
    check_output(out, VOTES)
    simulation.require_possible(items or 0, (people or 0) * (per_person or 0))
    rng = np.random.default_rng(seed)
    if strengths is not None:
        names, theta = simulation.read_strengths(strengths)
    else:
        names, theta = simulation.item_names(items or 0), simulation.paper_strengths(items or 0, rng)
    if p is not None:
        batches = simulation.graph_votes(theta, p, rng)
    else:
        batches = simulation.people_votes(theta, people or 0, per_person or 0, rng)
    with stderr.status("writing votes …"):
        count = simulation.write_votes(batches, names, out)
    stderr.print(f"{count} votes on {len(names)} items")


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="Strength of the promise; smaller is stronger.")] = 1.0,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Rank six universities from a bundled survey of 303 students, protecting every student."""
    from quietrank import pipeline
    from quietrank.demo import demo_privacy, demo_votes

    with stderr.status("ranking …"):
        release = pipeline.rank(demo_votes(), demo_privacy(epsilon), method="bradley-terry")
    _print_release(release, format)


app.command()(plan)


def _version(asked: bool) -> None:
    if asked:
        print(f"quietrank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Private rankings from pairwise votes."""


# ---- from words to values, and from values to the screen -------------------------------------------------------


def _privacy(unit: str | None, epsilon: float | None, **options: Any) -> Privacy:
    from quietrank.promise.privacy import Privacy

    if unit is None:
        raise UsageError("say what is protected: --unit comparison (each vote) or --unit person (all their votes)")
    if epsilon is None:
        raise UsageError("say how strong the promise is: --epsilon E (1 is a usual choice, smaller is stronger)")
    return Privacy(epsilon, unit, **options)


def _gamma(word: str) -> Any:
    if word == "auto":
        return word
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"--gamma must be a number or auto; got {word!r}") from None


def _check_releases(out: Path | None, save_tally: Path | None, overwrite: bool, reads: Sequence[Path | None]) -> None:
    """Refuse before any noise is drawn rather than after."""
    check_output(out, RELEASE, overwrite=overwrite, reads=reads)
    check_output(save_tally, TALLY, "save_tally", overwrite=overwrite, reads=reads)
    check_apart(out=out, save_tally=save_tally)


def _who_is_protected(votes: Votes, privacy: Privacy) -> str | None:
    """Votes that name people are about people: what protecting single votes does for them, for the data holder."""
    from quietrank.promise.privacy import Unit, plain_number
    from quietrank.votes.check import most_votes

    if privacy.unit is not Unit.COMPARISON or votes.columns.person is None:
        return None
    most = privacy.max_per_person or most_votes(votes)
    if most <= 1:
        return None
    return (
        f"For you only: these votes name people, and some have up to {most}. With --unit comparison a person with "
        f"c votes is protected with cε, here up to {plain_number(most * privacy.epsilon)}; to protect people, say "
        "--unit person --max-per-person L."
    )


def _tell_payment(budget: BudgetLedger, release: Release | GroupedRelease) -> None:
    try:
        left = f"one more release with δ = 0 may have ε up to {budget.remaining:.4g}"
    except QuietrankError as error:  # the release is out, whatever became of the ledger meanwhile
        left = error.in_options()
    tell(f"Paid from {budget.path}, entry {release.ledger_entry}; {left}.")


# ---- nothing that was paid for is lost -------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """What has been written of what was made, and what could not be."""

    overwrite: bool
    paths: list[Path] = field(default_factory=list)
    failed: list[ReleaseError] = field(default_factory=list)

    def write(self, path: Path | None, text: str, kind: Kind) -> None:
        """Write the text if there is a path; a failure is told later, when the rest is safe."""
        if path is None:
            return
        try:
            write_text(path, text, kind, overwrite=self.overwrite)
            self.paths.append(path)
        except ReleaseError as error:
            self.failed.append(error)


def _deliver(
    release: Release | GroupedRelease, format: Format, out: Path | None, kept: Kept, *, paid: bool = False
) -> None:
    """Files first, then the screen; whatever of it fails, a release that was paid for is in one of the two."""
    as_csv = out is not None and out.suffix.lower() == ".csv"
    kept.write(out, release.to_csv() if as_csv else release.to_json(), RELEASE)
    try:
        _print_release(release, format)
    except (OSError, ValueError) as error:
        _not_shown(error, (kept.paths[-1] if kept.paths else _rescued(release)) if paid else None)
    if kept.failed:
        raise kept.failed[0]


def _rescued(release: Release | GroupedRelease) -> Path | None:
    """A new file with a release that could not be shown and was not to be written anywhere."""
    name = f"quietrank-release-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.json"
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        with contextlib.suppress(ReleaseError):
            write_text(folder / name, release.to_json(), RELEASE, overwrite=False)
            return folder / name
    return None


def _not_shown(error: Exception, kept: Path | None) -> NoReturn:
    """Say where a release is that standard output did not take; a reader that went away is no failure."""
    silence_stdout()
    if kept is not None:
        _complain(QuietrankError(f"standard output did not take the release, which was paid for; it is in {kept}"))
    elif not isinstance(error, BrokenPipeError):
        raise QuietrankError(f"standard output cannot be written ({error}); send it elsewhere, or use --out")
    raise typer.Exit(0 if isinstance(error, BrokenPipeError) else NOT_SHOWN)


def _print_release(release: Release | GroupedRelease, format: Format) -> None:
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.render.table import render, render_grouped

    _print(release, render_grouped if isinstance(release, GroupedRelease) else render, format)


def _print_fit(fitted: NonPrivateFit, format: Format) -> None:
    from quietrank.publish.nonprivate import WARNING
    from quietrank.render.table import render_fit

    stderr.print(WARNING, style="bold")
    _print(fitted, render_fit, format)


def _print(result: Any, render: Callable[[Any], Any], format: Format) -> None:
    if format is Format.TABLE:
        show(render(result))
    else:
        show_data(result.to_json() if format is Format.JSON else result.to_csv())


def _print_report(found: Report) -> None:
    stderr.print("Confidential: exact counts, for the data holder only; do not publish.", style="bold")
    lines: dict[str, float] = {
        "rows": found.rows,
        "usable votes": found.votes,
        "of them ties": found.ties,
        "items": found.items,
    }
    if found.people is not None:
        lines["people"] = found.people
        lines |= {f"votes per person, {name}": value for name, value in found.votes_per_person.items()}
    lines |= {f"invalid: {flaw}": count for flaw, count in found.flaws.items()}
    shown = [f"{'column read as ' + role:28}{visible(name):>12}" for role, name in found.columns.items()]
    if found.unread:
        shown.append(f"{'columns not read':28}{visible(', '.join(found.unread)):>12}")
    shown += [f"{name:28}{value:>12}" for name, value in lines.items()]
    if found.unmentioned:
        some = visible(", ".join(found.unmentioned[:5])) + (", …" if len(found.unmentioned) > 5 else "")
        shown.append(f"{'items without votes':28}{len(found.unmentioned):>12}  ({some})")
    shown += [f"  {example}" for example in found.examples]
    show_data("\n".join(shown) + "\n")


def main() -> None:
    """Run the command line; an error a user can mend becomes one line on stderr."""
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
    except SystemExit as done:
        if isinstance(done.__context__, BrokenPipeError):  # Typer's own answer to a closed pipe is 1
            silence_stdout()
            return 0
        if done.code == INTERRUPTED:
            return _interrupted()
        return done.code if isinstance(done.code, int) else 0
    except UsageError as error:
        _complain(error)
        return 2
    except QuietrankError as error:
        _complain(error)
        return 1
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
    _complain(QuietrankError(f"cannot write or read: {error}; check the place and the space on it"))
    return 1


def _interrupted() -> int:
    _complain(QuietrankError("interrupted; whether a ledger was debited before, `quietrank ledger show` tells"))
    return INTERRUPTED


def _complain(error: QuietrankError) -> None:
    tell(f"quietrank: {error.in_options()}")
