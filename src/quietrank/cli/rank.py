"""`quietrank rank`: a release goes to a file and stdout, and noisy counts to a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from quietrank.cli import options
from quietrank.cli.deliver import Files, Pictures, check_pictures, check_releases, deliver
from quietrank.cli.options import Format, VotesOptions, choice, command_line, counting, reads_votes
from quietrank.errors import QuietrankError, UsageError, option
from quietrank.publish.files import TALLY, reserved
from quietrank.render.screen import progress, tell, warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quietrank.ledger.book import BudgetLedger
    from quietrank.promise.privacy import Privacy
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Release
    from quietrank.publish.top import TopRelease
    from quietrank.votes.read import Votes


@reads_votes
def rank(
    source: VotesOptions,
    unit: Annotated[str | None, options.promise("Each vote, or all votes of a person. Required.", options.UNIT)] = None,
    epsilon: Annotated[
        float | None, options.promise("Strength of the promise; smaller is stronger. Required.", "E")
    ] = None,
    max_per_person: Annotated[
        str | None,
        options.promise(
            "L: a person with more votes has them scaled down to this many in all (unit comparison: L of them count); "
            "ball and Gaussian noise bound a person by a norm instead, which is chosen from L (--clip). "
            "auto chooses L from a noisy histogram of votes per person, for 5 % of ε.",
            "[L|auto]",
        ),
    ] = None,
    one_per_pair: Annotated[
        bool,
        options.promise(
            "What a person said about one pair is averaged into one answer: less noise.", None, "--one-per-pair"
        ),
    ] = False,
    neighbours: options.Neighbours = "replace",
    design: options.Design = "private",
    delta: options.Delta = 0.0,
    clip: Annotated[
        float | None,
        options.promise(
            "C, for ball and Gaussian noise: the most a person may move the counts, as a Euclidean norm.", "C"
        ),
    ] = None,
    by: options.By = None,
    groups: options.Groups = None,
    by_person: options.ByPerson = False,
    overall: options.Overall = False,
    only_top: options.OnlyTop = None,
    method: options.Method = "auto",
    ties: options.Ties = "half",
    gamma: options.Gamma = "auto",
    mechanism: Annotated[str, options.ranking("What noise is drawn.", options.MECHANISM)] = "auto",
    comparisons_per_item: Annotated[
        float | None, options.ranking("For perturbed-mle: as expected beforehand, 2 × votes / items.", "N")
    ] = None,
    calibration: Annotated[
        str, options.ranking("For perturbed-mle: how the noise is scaled.", choice(options.CALIBRATIONS))
    ] = "tight",
    link: Annotated[
        str, options.ranking("For perturbed-mle: the model of a vote.", choice(options.LINKS))
    ] = "logistic",
    level: options.Level = 0.9,
    simultaneous: options.Simultaneous = False,
    scale: options.ScoreScale = "log-odds",
    anchor: options.ScoreAnchor = None,
    sampling_share: Annotated[
        str,
        options.promise(
            "Part of ε that makes intervals know people (unit person); auto is at most 0.05, 0 buys nothing.",
            "[auto|NUMBER]",
        ),
    ] = "auto",
    skip_invalid: options.SkipInvalid = False,
    out: options.Out = None,
    save_tally: Annotated[
        Path | None, options.result("Also write the noisy counts here, for quietrank rerank.", "TALLY.json")
    ] = None,
    plot: options.Plot = None,
    plot_theme: options.PlotTheme = "light",
    compare_exact: Annotated[
        Path | None,
        options.result("For you only: draw the private beside the exact ranking here. CONFIDENTIAL.", "FILE"),
    ] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    format: options.Printed = Format.TABLE,
    ledger: Annotated[Path | None, options.budget("Pay from this budget (see quietrank ledger).", "FILE")] = None,
    show_budget: Annotated[
        bool, options.budget("Say in the report how much of the budget is left.", None, "--show-budget")
    ] = False,
) -> None:
    """Make a private ranking from a file of votes.

    Publish one run: two runs at ε = 1 have spent ε = 2 together, whichever of them is shown.
    """
    from quietrank import pipeline
    from quietrank.publish.view import View

    with command_line():
        limit = None if max_per_person is None else parse_auto("max-per-person", max_per_person)
        privacy = _privacy(
            unit, epsilon, delta=delta, neighbours=neighbours, design=design, max_per_person=limit,
            one_per_pair=one_per_pair, clip=clip,
        )  # fmt: skip
    ridge = parse_auto("gamma", gamma)
    if (by is None) != (groups is None):
        raise UsageError("say both: --by COLUMN, and --groups with the public list of all groups; or leave both out")
    if only_top is not None:
        refuse_beside_top(
            overall=overall, ties=ties, gamma=gamma, comparisons_per_item=comparisons_per_item,
            calibration=calibration, link=link, level=level, simultaneous=simultaneous, scale=scale, anchor=anchor,
            sampling_share=sampling_share, save_tally=save_tally, plot=plot, plot_theme=plot_theme,
            compare_exact=compare_exact,
        )  # fmt: skip
    if show_budget and (report is None or ledger is None):
        raise UsageError("--show-budget is about a ledger and a report; add --ledger FILE and --report FILE.html")
    with command_line():
        selection = None if only_top is None else pipeline.TopRequest.of(only_top, mechanism, method)
        request = None if selection is not None else pipeline.Request.of(
            mechanism, method, ridge, comparisons_per_item, calibration, link,
            view=View.of(level, simultaneous, scale, anchor), overall=overall, ties=ties,
            sampling_share=parse_auto("sampling-share", sampling_share),
        )  # fmt: skip
        if save_tally is not None and request is not None:
            request = request.of_counts()
    reads = (*source.reads(), ledger)
    check = partial(check_releases, out, save_tally, report, overwrite=overwrite, reads=reads)
    check()
    check_pictures(plot_theme, plot=plot, compare_exact=compare_exact, overwrite=overwrite, reads=reads)
    with reserved(out, save_tally, report):
        check()  # another run may have written them before this one had their names
        files = Files(overwrite)
        budget = None if ledger is None else _open_ledger(ledger)  # refused before the votes are read
        release: Release | GroupedRelease | TopRelease
        with counting("opening votes"):
            votes = source.read(skip_invalid=skip_invalid, by=by, groups=groups, by_person=by_person)
            # Looked up before anything is paid for, shown afterwards.
            warnings = [_who_is_protected(votes, privacy), _what_is_skipped(votes, privacy), _what_is_doubled(votes)]
            if request is not None:
                tally = pipeline.make_tally(votes, privacy, request, budget, to_save=save_tally is not None)
                if save_tally is not None:
                    files.write(save_tally, tally.to_json(), TALLY)  # before anything else is done with it
        if request is not None:
            with progress("comparing items …") as tell_progress:
                release = pipeline.release_of(tally, request, tell_progress)
        elif selection is not None:
            with progress("simulating, counting and selecting …") as tell_progress:
                release = pipeline.make_top(votes, privacy, selection, budget, tell_progress)
        pictures = _pictures(release, votes, plot, compare_exact, plot_theme)
        try:
            remaining = _remaining(budget) if budget is not None and show_budget else None
            deliver(release, format, out, files, pictures=pictures, report=report, remaining=remaining, paid=True)
        finally:
            for warning in filter(None, warnings):
                tell(warning)
            if budget is not None:
                _tell_payment(budget, release)


MOST_COMPARED = 2**28
"""bytes of files that are compared with each other before a release"""

USUAL_WORDS = {
    "ties": "half", "gamma": "auto", "calibration": "tight", "link": "logistic", "level": 0.9, "scale": "log-odds",
    "sampling_share": "auto", "plot_theme": "light",
}  # fmt: skip
"""what is given where nothing is asked for; of all other options: nothing"""


def refuse_beside_top(**given: Any) -> None:
    """Refuse what has no meaning where only names are published."""
    for name, value in given.items():
        if value not in (USUAL_WORDS.get(name), None, False):
            raise UsageError(
                f"{option('only_top')} publishes names and no counts, so {option(name)} has nothing to do; leave one "
                "of them out"
            )


def _pictures(
    release: Release | GroupedRelease | TopRelease,
    votes: Votes,
    plot: Path | None,
    compare_exact: Path | None,
    theme: str,
) -> Pictures:
    """The figures that were asked for; only the second one knows exact values."""
    from quietrank.publish.top import TopRelease

    pictures: dict[Path, Callable[[], Figure]] = {}
    if isinstance(release, TopRelease):
        return pictures
    if plot is not None:
        pictures[plot] = lambda: release.plot(theme=theme)
    if compare_exact is not None:
        pictures[compare_exact] = lambda: _comparison(release, votes, compare_exact, theme)
    return pictures


def _comparison(release: Release | GroupedRelease, votes: Votes, path: Path, theme: str) -> Figure:
    from quietrank.pipeline import exact_scores
    from quietrank.render.plot import comparison_of

    figure = comparison_of(release, exact_scores(votes, release), theme)
    warn(f"CONFIDENTIAL: {path} shows exact values, which nothing protects. It is for you only; do not publish it.")
    return figure


def _privacy(unit: str | None, epsilon: float | None, **more: Any) -> Privacy:
    from quietrank.promise.privacy import Privacy

    if unit is None:
        raise UsageError("say what is protected: --unit comparison (each vote) or --unit person (all their votes)")
    if epsilon is None:
        raise UsageError("say how strong the promise is: --epsilon E (1 is a usual choice, smaller is stronger)")
    return Privacy(epsilon, unit, **more)


def parse_auto(name: str, word: str) -> Any:
    """A number, or the word auto."""
    try:
        return word if word == "auto" else float(word)
    except ValueError:
        raise UsageError(f"--{name} must be a number or auto; got {word!r}") from None


def _open_ledger(path: Path) -> BudgetLedger:
    """A ledger to pay from; refused if it cannot be written."""
    from quietrank.ledger.book import BudgetLedger

    ledger = BudgetLedger.open(path)
    ledger.require_writable()
    return ledger


def _who_is_protected(votes: Votes, privacy: Privacy) -> str | None:
    """Where votes name people: what protecting single votes means for people, for the data holder to know."""
    from quietrank.promise.privacy import Unit, plain_number
    from quietrank.votes.check import most_votes

    if privacy.unit is not Unit.COMPARISON or votes.shape.person is None or not votes.source.ours:
        return None  # in somebody's database it would be one more pass over all votes
    most = privacy.max_per_person or most_votes(votes)
    if most <= 1:
        return None
    return (
        f"For you only: these votes name people, and some have up to {most}. With --unit comparison a person with "
        f"c votes is protected with cε, here up to {plain_number(most * privacy.epsilon)}; to protect people, use "
        "--unit person --max-per-person L."
    )


def _what_is_skipped(votes: Votes, privacy: Privacy) -> str | None:
    """How many rows --skip-invalid drops, which the release does not say, for the data holder to know."""
    from quietrank.promise.privacy import Neighbours, Unit
    from quietrank.votes.check import skipped

    if not votes.skip_invalid:
        return None
    flaws = skipped(votes, people=privacy.unit is Unit.PERSON or privacy.max_per_person is not None)
    tied = flaws.pop("unknown outcome", 0) if privacy.neighbours is Neighbours.OUTCOME else 0
    number = sum(flaws.values())
    reasons = "; ".join(f"{flaw}: {count}" for flaw, count in flaws.items())
    said = f"For you only: {number or 'no'} row{'s' * (number != 1)} skipped{f' ({reasons})' * bool(reasons)}"
    return said + (f"; {tied} with an outcome that cannot be read counted as ties" * bool(tied)) + "."


def _what_is_doubled(votes: Votes) -> str | None:
    """Parts that were delivered twice, for the data holder to know."""
    from quietrank.votes.hints import same_content

    lines = same_content(votes, most=MOST_COMPARED)
    more = f" ({len(lines)} such files; see quietrank check)" if len(lines) > 1 else ""
    return f"For you only: {lines[0]}{more}." if lines else None


def _remaining(budget: BudgetLedger) -> str | None:
    """What is left, for a report; nothing if the ledger cannot be read any more."""
    try:
        return f"one more release with δ = 0 may have ε up to {budget.remaining:.4g}."
    except QuietrankError:
        return None


def _tell_payment(budget: BudgetLedger, release: Release | GroupedRelease | TopRelease) -> None:
    try:
        left = f"one more release with δ = 0 may have ε up to {budget.remaining:.4g}"
    except QuietrankError as error:  # the release is out, whatever happened to the ledger
        left = error.in_options()
    tell(f"Paid from {budget.path}, entry {release.ledger_entry}; {left}.")
