"""`quietrank start`: looks at a file, asks a few questions, shows what to expect, and prints the command to run.

The command and the Python lines go to stdout; what was read from the file is confidential and goes to stderr. Nothing
is released, and nothing that was read decides about the promise: the answers do.
"""

from __future__ import annotations

import sys
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
    asked: Annotated[
        str | None,
        answer("Who was asked what: known to all, drawn at random, or a secret.", choice((PUBLIC, RANDOM, SECRET))),
    ] = None,
    epsilon: Annotated[float | None, answer("Strength of the promise; smaller is stronger.", "E")] = None,
    again: Annotated[
        bool | None,
        answer("Whether you will publish from these votes more than once.", None, "--again/--once", show_default=False),
    ] = None,
) -> None:
    """Ask a few questions about a file of votes, and print the command to run. Runs nothing by itself."""
    from quietrank.votes import check as checks

    with counting("opening votes"):
        votes = source.read(any_items=True)
        report = checks.check(votes)
    warn(f"{checks.CONFIDENTIAL} This is what the file seems to hold:")
    for line in report.lines():
        tell(f"  {line}")
    items_from_votes = source.items_from_votes or (source.items is None and _list_is_public())
    answers = _answers(votes, unit, questions, asked, epsilon, again)
    _show_plan(report, answers)
    lines = commands(source, answers, items_from_votes=items_from_votes)
    in_python = python(source, answers, items_from_votes=items_from_votes)
    show_data("".join(f"{line}\n" for line in [*lines, "", "# From Python:", *in_python]))


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


def _answers(
    votes: Votes, unit: str | None, questions: str | None, asked: str | None, epsilon: float | None, again: bool | None
) -> Answers:
    """The answers that were given as options, and the others asked for; checked by what they promise."""
    unit = _checked_word("unit", unit, ("person", "comparison")) or _ask(
        "unit",
        "Whose votes are these: what must nobody be able to read out of the ranking?",
        {"person": "anything that one person said", "comparison": "a single vote; people are not the secret"},
        "person",
    )
    if unit == "person":
        votes.require_person()
        questions = questions or _ask(
            "questions",
            "How many questions could one person answer, by the questionnaire? A number, or",
            {PAIRS: "each pair at most once", UNKNOWN: "nobody knows; 5 % of ε will find out"},
            None,
            free=True,
        )
        questions = questions if questions in (PAIRS, UNKNOWN) else str(number_of_questions(questions))
    elif questions is not None:
        raise UsageError("--questions is about people, and single votes are protected here; leave it out")
    asked = _checked_word("asked", asked, (PUBLIC, RANDOM, SECRET)) or _ask(
        "asked",
        "May anybody know who was asked about which pairs?",
        {
            PUBLIC: "yes, only the answers are a secret",
            RANDOM: "no, but pairs were drawn at random, or everybody was asked all of them",
            SECRET: "no",
        },
        SECRET,
    )
    epsilon = epsilon if epsilon is not None else float(_ask_epsilon())
    if again is None:
        words = {"once": "one release is all", "again": "there will be more: a ledger keeps what is spent"}
        question = "Will you publish from these votes more than once?"
        again = _ask("again", question, words, "once", "--again or --once") == "again"
    answers = Answers(unit, questions, asked, epsilon, again)
    _ = answers.privacy  # refused here if it makes no promise
    return answers


def _checked_word(name: str, given: str | None, words: tuple[str, ...]) -> str | None:
    if given is not None and given not in words:
        raise UsageError(f"--{name} must be one of {', '.join(words)}; got {given!r}")
    return given


def _ask_epsilon() -> str:
    words = {"0.5": "strong", "1": "usual", "2": "weaker, for small surveys"}
    while True:
        said = _ask("epsilon", "How strong is the promise? A number ε above 0, such as", words, "1", free=True)
        try:
            float(said)
            return said
        except ValueError:
            tell(f"{said!r} is not a number")


def _ask(
    name: str,
    question: str,
    words: dict[str, str],
    default: str | None,
    remedy: str | None = None,
    *,
    free: bool = False,
) -> str:
    """One question on a terminal; elsewhere the option that answers it is missing."""
    from rich.console import Console
    from rich.prompt import Prompt
    from rich.text import Text

    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError(f"there is nobody to ask ({question.rstrip('?:,')}); answer with {remedy or f'--{name}'}")
    console = Console(stderr=True)
    console.print(Text(f"\n{question}", style="bold"))
    for word, meaning in words.items():
        console.print(Text(f"  {word:<10}  {meaning}"))
    choices = None if free else list(words)
    usual = {} if default is None else {"default": default}
    while not (said := Prompt.ask(">", console=console, choices=choices, show_choices=False, **usual)):
        pass
    return str(said)


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
    limit = typical if answers.questions == UNKNOWN else int(answers.questions or typical)
    return plan(report.items, people, typical, max_per_person=limit, **shared)
