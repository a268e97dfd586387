"""The words that --help shows are those that are taken, and the same option has the same words everywhere."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, get_args

import pytest
import typer

from quietrank import simulation
from quietrank.app.pages import votes_form
from quietrank.cli import options, start
from quietrank.cli.app import app
from quietrank.maths import links
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.perturbed_mle.loss import Calibration
from quietrank.mechanisms.registry import AUTO, MECHANISMS
from quietrank.planning import crowd, plan, survey
from quietrank.promise.privacy import Unit
from quietrank.publish.view import Scale
from quietrank.render.forest import Theme
from quietrank.statistics.method import Method, Ties
from quietrank.votes.files import INPUT_FORMATS, KINDS
from quietrank.votes.formats.text import COMPRESSIONS
from quietrank.votes.read import EngineWord, ShapeWord, UnrankedWord
from quietrank.votes.shapes import outcomes
from quietrank.votes.shapes.rankings import Unranked
from quietrank.votes.shapes.registry import SHAPES
from tests.cli.running import Run


def test_the_words_are_those_of_the_library() -> None:
    """What is written out to keep --help quick is what the registry and the enums say."""
    assert tuple(Method) == options.METHODS
    assert tuple(SHAPES) == options.VOTE_SHAPES == get_args(ShapeWord)
    assert tuple(Unranked) == options.UNRANKED == get_args(UnrankedWord)
    assert options.METHODS[0] == AUTO
    assert tuple(Calibration) == options.CALIBRATIONS
    assert tuple(Theme) == options.THEMES
    assert tuple(links._BY_NAME) == options.LINKS
    assert get_args(plan.SolveWord) == options.SOLUTIONS
    assert (*survey.SPREADS, survey.PAPER) == options.SPREADS
    assert tuple(crowd.Habit) == options.HABITS == get_args(crowd.HabitWord)
    assert tuple(simulation.Layout) == options.SHAPES
    assert options.INPUT_FORMATS == INPUT_FORMATS
    assert tuple(Ties) == options.TIES
    assert tuple(Scale) == options.SCALES
    assert tuple(outcomes.BothBad) == options.BOTH_BAD
    assert get_args(EngineWord) == options.VOTE_ENGINES


@pytest.mark.parametrize("shapes", [start.SHAPES, votes_form.SHAPES], ids=["start", "app"])
def test_questions_name_every_shape(shapes: dict[str, str]) -> None:
    """Also one that is added; `""` is that of the columns' names."""
    assert set(shapes) - {""} == set(SHAPES)


def test_the_app_takes_files_of_every_kind() -> None:
    assert set(votes_form.ENDINGS) == {*KINDS, *COMPRESSIONS}


@pytest.mark.parametrize("command", ["rank", "plan", "audit"])
def test_help_lists_the_mechanisms_of_the_registry(command: str, run: Run) -> None:
    """Also one that was registered from outside."""
    MECHANISMS["own"] = LAPLACE
    try:
        shown = run(command, "--help").stdout
    finally:
        del MECHANISMS["own"]
    assert all(name in shown for name in (*MECHANISMS, "own"))


def test_choices_are_broken_between_words() -> None:
    """Lines of 22 characters fit beside the longest option on a terminal of 80 columns."""
    assert options.choice(Unit) == "[comparison|person]"
    assert (
        options.choice(("laplace", "zonotope", "gaussian", "perturbed-mle"))
        == "[laplace|zonotope|\n gaussian|\n perturbed-mle]"
    )


SAME = ("--format", "--overwrite", "--neighbours", "--design", "--method", "--by", "--groups", "--winner")


def test_the_same_option_has_the_same_words_everywhere() -> None:
    """Where it means the same; `audit` takes --neighbours as a filter."""
    texts: dict[str, set[str]] = defaultdict(set)
    group: Any = typer.main.get_command(app)
    for name, command in (*group.commands.items(), *group.commands["ledger"].commands.items()):
        for param in command.params:
            if name != "audit" or param.opts[0] in ("--format", "--overwrite"):
                texts[param.opts[0]].add(f"{param.metavar} {param.help}")
    assert {option: len(texts[option]) for option in SAME} == dict.fromkeys(SAME, 1)
