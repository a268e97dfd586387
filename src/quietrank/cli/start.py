"""`quietrank start`: looks at a file, asks a few questions, shows what to expect, and prints the command to run.

The command and the Python lines go to stdout; what was read from the file is confidential and goes to stderr. Nothing
is released, and nothing that was read decides about the promise: the answers do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from quietrank.cli import options
from quietrank.cli.guide import PAIRS, UNKNOWN, Answers, commands, number_of_questions, python
from quietrank.cli.options import VotesOptions, answer, choice, counting, reads_votes
from quietrank.errors import QuietrankError, UsageError
from quietrank.promise.words import PUBLIC, RANDOM, SECRET
from quietrank.render.screen import progress, show_data, tell, warn

if TYPE_CHECKING:
    from quietrank.planning.result import Plan
    from quietrank.votes.check import Report
    from quietrank.votes.read import Votes

REPETITIONS = 60
"""simulated surveys: a first impression; `quietrank plan` has more"""


@reads_votes
def start(
    source: VotesOptions,
    unit: Annotated[
        str | None, answer("What must not come out: one vote, or all that a person said.", options.UNIT)
    ] = None,
    questions: Annotated[
        str | None,
        answer("How many questions one person could answer; pairs: each pair at most once.", f"[N|{PAIRS}|{UNKNOWN}]"),
    ] = None,
    repeats: Annotated[
        bool | None,
        answer(
            "Whether anybody could be asked the same pair twice.", None, "--repeats/--no-repeats", show_default=False
        ),
    ] = None,
    asked: Annotated[
        str | None,
        answer(
            "Who was asked what: known to all, every pair equally likely to be asked and answered, or a secret.",
            choice((PUBLIC, RANDOM, SECRET)),
        ),
    ] = None,
    epsilon: Annotated[float | None, answer("Strength of the promise; smaller is stronger.", "E")] = None,
    again: Annotated[
        bool | None,
        answer("Whether you will publish from these votes more than once.", None, "--again/--once", show_default=False),
    ] = None,
) -> None:
    """Ask a few questions about a file of votes, and print the command to run. Runs nothing by itself."""
    from quietrank.votes.check import CONFIDENTIAL

    source, votes = _read(source)
    report = _looked_at(votes)
    warn(f"{CONFIDENTIAL} This is what the file seems to hold:")
    for line in report.lines():
        tell(f"  {line}")
    source, votes, report = _with_answers(source, votes, report)
    items_from_votes = source.items_from_votes or (source.items is None and _list_is_public())
    unit = _unit(unit)
    if unit == "person":
        source, named = _with_person(source, votes)
        if named is not votes:
            votes = named
            report = _looked_at(votes)
    answers = _answers(votes, unit, questions, repeats, asked, epsilon, again)
    _show_plan(report, answers)
    lines = commands(source, answers, items_from_votes=items_from_votes)
    in_python = python(source, answers, items_from_votes=items_from_votes)
    show_data("".join(f"{line}\n" for line in [*lines, "", "# From Python:", *in_python]))


# ---- what the file is ------------------------------------------------------------------------------------------------

SHAPES = {
    "long": "one vote",
    "wide": "one person, with a column for every pair",
    "rankings": "one person's ranking of the items",
    "best-worst": "one set of items, of which the best and the worst are named",
}


def _read(source: VotesOptions) -> tuple[VotesOptions, Votes]:
    """The votes, and how they are read; where the names of the columns do not say what a row is, by asking."""
    from quietrank.votes.shapes.registry import UnknownShapeError

    while True:
        try:
            with counting("opening votes"):
                return source, source.read(any_items=True)
        except UnknownShapeError as error:
            if not _somebody():
                raise
            tell(f"This file is not understood by the names of its columns: {error.in_options()}")
        source = _described(source)


def _described(source: VotesOptions) -> VotesOptions:
    """The same with what a row is, and how its columns are named."""
    shape = _ask("shape", "What is a row of this file?", SHAPES, source.shape)
    other = dict.fromkeys(("pair_columns", "winner", "loser", "best", "worst", "shown"))  # of an earlier attempt
    source = replace(source, shape=shape, **other)
    if shape == "wide":
        how = {
            "q_{a}_{b}": "a pattern, if columns are named after their items",
            "FILE": "else a CSV with the header column,a,b and a line for each column, such as Q1,tea,coffee",
        }
        return replace(source, pair_columns=_ask("pair-columns", "How are the columns named?", how, None, free=_any))
    if shape == "long":
        winner = _ask("winner", "Which column names the preferred item?", {}, None, free=_any)
        return replace(source, winner=winner, loser=_ask("loser", "And which the other?", {}, None, free=_any))
    if source.items is None:
        what = {"FILE": "a file with one per line", "a,b,c": "or the items themselves"}
        source = replace(source, items=_ask("items", "Which items are ranked?", what, None, free=_any))
    if shape == "best-worst":
        best = _ask("best", "Which column names the best item?", {}, "best", free=_any)
        worst = _ask("worst", "Which column names the worst?", {}, "worst", free=_any)
        shown = _ask("shown", "Which columns have the items shown (a,b,c or item*)?", {}, None, free=_any)
        return replace(source, best=best, worst=worst, shown=shown)
    return source


def _with_answers(source: VotesOptions, votes: Votes, report: Report) -> tuple[VotesOptions, Votes, Report]:
    """The same with what answers mean that are not known, by asking; the command would be refused otherwise."""
    while "unknown outcome" in report.flaws:
        if not _somebody():
            raise UsageError(
                "some answers are not known, as listed above; say what they mean with --missing or --outcomes"
            )
        said = _answers_as_written(votes)
        source, votes = _ask_meanings(source, votes, said)
        report = _looked_at(votes)
        for line in report.unknown:
            tell(f"  {line}")
    return source, votes, report


def _answers_as_written(votes: Votes) -> str:
    from quietrank.votes.preview import answers

    return ", ".join(answers(votes)) or "those that are listed above"


def _ask_meanings(source: VotesOptions, votes: Votes, said: str) -> tuple[VotesOptions, Votes]:
    """First what is no answer, then what the others mean; asked again where that cannot be read."""
    while True:
        none = {NOBODY: "all of them are answers", "a,b,c": "else the answers themselves"}
        missing = _ask(
            "missing", f"Of the answers {said}: which mean that nothing was answered?", none, NOBODY, free=_any
        )
        read = replace(source, missing=None if missing == NOBODY else missing)
        try:
            votes = read.read(any_items=True)
            if "unknown outcome" not in _looked_at(votes).flaws:
                return read, votes
            how = {"1=a,2=b,0=tie": "each with its meaning: a is the first item of its pair, b the second"}
            outcomes = _ask("outcomes", "What do the others mean?", how, None, free=_any)
            read = replace(read, outcomes=outcomes)
            return read, read.read(any_items=True)
        except QuietrankError as reason:
            tell(reason.in_options())


def _looked_at(votes: Votes) -> Report:
    from quietrank.votes import check as checks

    with counting("looking at votes"):
        return checks.check(votes)


NOBODY = "none"


def _with_person(source: VotesOptions, votes: Votes) -> tuple[VotesOptions, Votes]:
    """The votes with a column that names the person, if one does that was not recognised."""
    others = [name for name in votes.all_columns if name not in votes.shape.columns]
    if votes.shape.person is None and others and _somebody() and not votes.shape.counts:
        rows = {NOBODY: "each row is one person"} if votes.shape.row_is_person else {}
        question = f"Which column names the person? ({', '.join(others)})"
        column = _ask("person", question, rows, NOBODY if rows else None, free=_one_of([*others, *rows]))
        if column != NOBODY or NOBODY in others:
            source = replace(source, person=column)
            with counting("opening votes"):
                votes = source.read(any_items=True)
    votes.require_person()
    return source, votes


# ---- questions -------------------------------------------------------------------------------------------------------


def _list_is_public() -> bool:
    """Whether the items may be taken from the votes."""
    words = {"no": "everybody may know which items could be voted on", "yes": "being on the list is a secret"}
    remedy = "--items FILE or --items-from-votes"
    if _ask("items", "Is the list of what is ranked a secret?", words, "no", remedy) == "no":
        return True
    raise UsageError(
        "a list of items is public in every release: decide on a list that does not depend on the votes, and give it "
        "with --items FILE"
    )


def _unit(unit: str | None) -> str:
    return _checked_word("unit", unit, ("person", "comparison")) or _ask(
        "unit",
        "Whose votes are these: what must nobody be able to read out of the ranking?",
        {"person": "anything that one person said", "comparison": "a single vote; people are not the secret"},
        "person",
    )


def _answers(
    votes: Votes,
    unit: str,
    questions: str | None,
    repeats: bool | None,
    asked: str | None,
    epsilon: float | None,
    again: bool | None,
) -> Answers:
    """The answers that were given as options, and the others asked for; checked by what they promise."""
    if unit == "person":
        questions = _questions(questions if questions is not None else _ask_questions(votes))
        repeats = _repeats(votes, questions, repeats)
    elif questions is not None or repeats is not None:
        name = "--questions" if questions is not None else "--repeats"
        raise UsageError(f"{name} is about people, and single votes are protected here; leave it out")
    asked = _checked_word("asked", asked, (PUBLIC, RANDOM, SECRET)) or _ask(
        "asked",
        "May anybody know who was asked about which pairs?",
        {
            PUBLIC: "yes, only the answers are a secret",
            RANDOM: "no, but every pair was equally likely to be asked and answered: no item was skipped more often",
            SECRET: "no, or some items were skipped more often than others",
        },
        SECRET,
    )
    epsilon = epsilon if epsilon is not None else float(_ask_epsilon())
    if again is None:
        words = {"once": "one release is all", "again": "there will be more: a ledger keeps what is spent"}
        question = "Will you publish from these votes more than once?"
        again = _ask("again", question, words, "once", "--again or --once") == "again"
    answers = Answers(unit, questions, bool(repeats), asked, epsilon, again)
    _ = answers.privacy  # refused here if it makes no promise
    return answers


def _questions(said: str) -> str:
    return said if said in (PAIRS, UNKNOWN) else str(number_of_questions(said))


def _ask_questions(votes: Votes) -> str:
    """How many questions one person could answer; how many columns there are is public."""
    words = {PAIRS: "each pair at most once", UNKNOWN: "nobody knows; 5 % of ε will find out"}
    if votes.shape.in_sets:
        question, usual = "How many sets could one person be shown, by the questionnaire? A number, or", None
        del words[PAIRS]
    elif votes.shape.row_is_person or votes.shape.votes_per_row > 1:
        question = "How many questions could one person answer, by the questionnaire? A number, or"
        usual = PAIRS if votes.shape.name == "rankings" else str(votes.shape.votes_per_row)
    else:
        question, usual = "How many votes may one person cast? A number, or", UNKNOWN
    return _ask("questions", question, words, usual, free=_questions)


def _repeats(votes: Votes, questions: str, repeats: bool | None) -> bool:
    """Whether a pair may be asked twice; sets have no pairs, and `pairs` has said it."""
    if votes.shape.in_sets:
        if repeats is not None:
            raise UsageError("--repeats is about pairs, and these are best-worst sets; leave it out")
        return True
    if questions == PAIRS:
        if repeats:
            raise UsageError(f"--questions {PAIRS} says that nobody is asked a pair twice; leave --repeats out")
        return False
    if repeats is not None:
        return repeats
    words = {"no": "each pair at most once, which takes less noise", "yes": "pairs may come again, or nobody knows"}
    usual = "yes" if votes.shape.name == "long" else "no"
    remedy = "--repeats or --no-repeats"
    return _ask("repeats", "Could anybody be asked the same pair twice?", words, usual, remedy) == "yes"


def _checked_word(name: str, given: str | None, words: tuple[str, ...]) -> str | None:
    if given is not None and given not in words:
        raise UsageError(f"--{name} must be one of {', '.join(words)}; got {given!r}")
    return given


def _ask_epsilon() -> str:
    words = {"0.5": "strong", "1": "usual", "2": "weaker, for small surveys"}
    return _ask("epsilon", "How strong is the promise? A number ε above 0, such as", words, "1", free=_epsilon)


def _epsilon(said: str) -> str:
    try:
        number = float(said)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise UsageError(f"{said!r} is not a number above 0")
    return said


def _any(said: str) -> str:
    return said


def _one_of(words: list[str]) -> Callable[[str], str]:
    def check(said: str) -> str:
        if said not in words:
            raise UsageError(f"say one of {', '.join(words)}; got {said!r}")
        return said

    return check


def _somebody() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(
    name: str,
    question: str,
    words: dict[str, str],
    default: str | None,
    remedy: str | None = None,
    *,
    free: Callable[[str], str] | None = None,
) -> str:
    """One question on a terminal, asked again with the reason if its answer makes no sense; elsewhere the option that
    answers it is missing. `free`: what refuses an answer, where it may be another than the words."""
    from rich.console import Console
    from rich.prompt import Prompt
    from rich.text import Text

    if not _somebody():
        raise UsageError(f"there is nobody to ask ({question.rstrip('?:,')}); answer with {remedy or f'--{name}'}")
    console = Console(stderr=True)
    console.print(Text(f"\n{question}", style="bold"))
    for word, meaning in words.items():
        console.print(Text(f"  {word:<10}  {meaning}"))
    usual = {} if default is None else {"default": default}
    accepted = free or _one_of(list(words))
    while True:
        said = str(Prompt.ask(">", console=console, **usual) or "").strip()
        try:
            if not said:
                raise UsageError("an answer is needed here; Ctrl-C ends the questions")
            return accepted(said)
        except UsageError as reason:
            tell(reason.in_options())


# ---- what to expect --------------------------------------------------------------------------------------------------


def _show_plan(report: Report, answers: Answers) -> None:
    """The plan for a survey of this size, for the data holder; where it cannot be simulated, why."""
    from rich.console import Console

    from quietrank.planning.result import render

    try:
        with progress("simulating surveys of this size …") as bar:
            plan = _plan(report, answers, bar)
    except QuietrankError as reason:
        tell(f"What to expect cannot be simulated: {reason.in_options()}")
        return
    warn("What to expect of a survey of this size, with these answers (simulated; the size is confidential):")
    Console(stderr=True).print(render(plan, then=False))


def _plan(report: Report, answers: Answers, bar: object) -> Plan:
    from quietrank.planning.plan import plan

    promise = {name: value for name, value in answers.promise.items() if name not in ("max_per_person", "epsilon")}
    epsilons = sorted({answers.epsilon / 2, answers.epsilon, answers.epsilon * 2})
    shared = {"epsilon": epsilons, "repetitions": REPETITIONS, "curves": False, "progress": bar, **promise}
    if answers.unit != "person":
        return plan(report.items, votes=max(report.votes, 1), **shared)
    typical = max(1, round(report.votes_per_person.get("median", 1)))
    people = max(1, int(report.people or 1))
    if answers.questions == PAIRS:
        return plan(report.items, people, min(typical, report.items * (report.items - 1) // 2), **shared)
    if not answers.repeats:
        typical = min(typical, report.items * (report.items - 1) // 2)
    limit = typical if answers.questions == UNKNOWN else int(answers.questions or typical)
    return plan(report.items, people, typical, max_per_person=limit, **shared)
