"""The Python edge: words that a type checker knows, docstrings that say them, and examples that run."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank import estimators
from quietrank.cli.options import VOTE_SHAPES
from quietrank.ledger.book import BudgetLedger
from quietrank.maths import links
from quietrank.maths.links import LinkWord
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.perturbed_mle.loss import Calibration, CalibrationWord
from quietrank.mechanisms.registry import AUTO, MECHANISMS, MechanismWord
from quietrank.planning.survey import PAPER, SPREADS, SpreadWord
from quietrank.promise.privacy import Design, DesignWord, Neighbours, NeighboursWord, Unit, UnitWord
from quietrank.simulation import Layout, LayoutWord
from quietrank.statistics.method import Method, MethodWord
from quietrank.votes.files import INPUT_FORMATS
from quietrank.votes.formats.scan import InputFormatWord
from quietrank.votes.read import ShapeWord

PUBLIC = {name: getattr(qr, name) for name in qr.__all__ if callable(getattr(qr, name))}
FUNCTIONS = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one)}
WITH_PARAMETERS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "Privacy": qr.Privacy,
    "Ledger.create": qr.Ledger.create,
    "estimators.fit_arrays": estimators.fit_arrays,
}


def words(hint: Any) -> Iterator[str]:
    """The words in a type, however deep."""
    if typing.get_origin(hint) is Literal:
        yield from typing.get_args(hint)
    else:
        for part in typing.get_args(hint):
            yield from words(part)


@pytest.mark.parametrize(
    ("hint", "known"),
    [
        (UnitWord, list(Unit)),
        (NeighboursWord, list(Neighbours)),
        (DesignWord, list(Design)),
        (MethodWord, list(Method)),
        (CalibrationWord, list(Calibration)),
        (MechanismWord, [AUTO, *(name for name in MECHANISMS if MECHANISMS[name].__module__.startswith("quietrank."))]),
        (LinkWord, list(links._BY_NAME)),
        (SpreadWord, [*SPREADS, PAPER]),
        (LayoutWord, list(Layout)),
        (InputFormatWord, list(INPUT_FORMATS)),
        (ShapeWord, list(VOTE_SHAPES)),
    ],
)
def test_a_type_checker_knows_all_words(hint: Any, known: list[str]) -> None:
    """The words of each type are those that the library takes, no more and no fewer."""
    assert sorted(words(hint)) == sorted(known)
    assert len(known) > 1


def test_no_public_parameter_is_a_bare_word() -> None:
    """Whatever takes one of a few words says which: `str` is left to names, paths and targets."""
    bare = {
        (name, parameter)
        for name, function in WITH_PARAMETERS.items()
        if name != "estimators.fit_arrays"  # NumPy counts text among what may become an array
        for parameter, hint in hints(function).items()
        if str in (hint, *typing.get_args(hint))
    }
    columns = {"winner", "loser", "tie", "a", "b", "outcome", "person", "delimiter", "by", "count", "wins_a", "wins_b"}
    columns |= {"outcomes", "missing"}  # a coding by its name, or words
    columns |= {"encoding", "sheet", "where", "best", "worst", "shown", "design_file", "version", "set"}
    columns |= {"ranking", "pair_columns", "day_column", "id"}
    columns |= {"connect", "table", "query", "memory_limit", "temp_dir"}  # a URL, names, a size, a path
    assert bare == {
        *(("read_votes", column) for column in columns), ("plan", "target"), ("simulate", "strengths"),
        ("synthetic", "group"),
        ("Ledger.create", "data"), ("Ledger.create", "path"),
        *((name, "ledger") for name in ("rank", "rank_by_group", "noisy_tally", "noisy_tally_by_group", "top")),
    }  # fmt: skip


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of a function's parameters; some are written for the type checker only."""
    target = function.__init__ if inspect.isclass(function) else function
    types = typing.get_type_hints(target, localns={"pa": pa, **PUBLIC})
    return {name: hint for name, hint in types.items() if name != "return"}


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_the_docstring_says_every_parameter_and_word(name: str) -> None:
    """Each parameter by name, and each word that it takes, in quotes; of mechanisms, which may become more, some."""
    said = inspect.getdoc(WITH_PARAMETERS[name]) or ""
    for parameter, hint in hints(WITH_PARAMETERS[name]).items():
        assert f"{parameter} " in said or f"{parameter}," in said, parameter
        for word in words(hint) if parameter != "mechanism" else ("auto", "laplace"):
            assert f'"{word}"' in said, (parameter, word)


# ---- examples ---------------------------------------------------------------------------------------------------

EXAMPLES = {**PUBLIC, "estimators.fit_arrays": estimators.fit_arrays}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_docstring_s_example_runs(name: str) -> None:
    """Every public function and class has an example, and it gives what it shows."""
    said = inspect.getdoc(EXAMPLES[name]) or ""
    assert ">>> " in said
    example = doctest.DocTestParser().get_doctest(said, {}, name, None, None)
    assert sum(bool(step.want) for step in example.examples) >= 1
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=failures.append)
    assert not failures, "".join(failures)


def test_a_wrong_example_is_found() -> None:
    """This test can fail: an example that shows something else is seen."""
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None).failed == 1


def test_the_package_stays_light() -> None:
    """`import quietrank` loads none of the heavy libraries."""
    check = "import sys, quietrank; print(sorted({'numpy', 'pyarrow', 'duckdb', 'ibis', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- what is new to call ----------------------------------------------------------------------------------------


def test_members_and_objects_are_taken_as_words_are() -> None:
    """An enum's member, or a mechanism itself, is as good as its name, for mypy and at run time."""
    votes = qr.read_votes(qr.simulate(3, 9, 2, seed=1), items_from_votes=True)
    privacy = qr.Privacy(1, Unit.COMPARISON, neighbours=Neighbours.REPLACE, design=Design.UNIFORM)
    assert privacy == qr.Privacy(1, "comparison", neighbours="replace", design="uniform")
    release = qr.rank(votes, privacy, mechanism=LAPLACE, method=Method.NET_WINS)
    assert (release.mechanism.name, release.method) == ("laplace", "net-wins")


def test_the_ledger_is_the_budget_ledger() -> None:
    """One class with two names."""
    assert qr.Ledger is BudgetLedger


def test_the_same_seed_simulates_the_same_votes() -> None:
    """And another seed other votes."""
    tables = [qr.simulate(5, 20, 4, seed=seed) for seed in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_simulated_votes_follow_the_strengths() -> None:
    """θ = log 3 against 0 wins three votes of four."""
    table = qr.simulate(strengths={"tea": np.log(3), "water": 0}, people=4000, per_person=1, seed=1)
    wins = table["winner"].to_pylist().count("tea")
    assert wins / 4000 == pytest.approx(0.75, abs=5 * (0.75 * 0.25 / 4000) ** 0.5)


def test_a_simulated_graph_compares_each_pair_once() -> None:
    """With p = 1 all of them, with p = 0 none; nobody is named."""
    assert qr.simulate(5, p=1).num_rows == 10
    assert qr.simulate(5, p=0).num_rows == 0
    assert qr.simulate(5, p=0).column_names == ["winner", "loser"]


def test_the_check_reads_well() -> None:
    """It says first that it is confidential, then what was read as what, and what is wrong; names move no cursor."""
    columns = {
        "person": ["a", None, "b"],
        "winner": ["tea", "tea", "t\x1b[2Jae"],
        "loser": ["water"] * 3,
        "x\n": [1] * 3,
    }
    votes = qr.read_votes(pa.table(columns), ["tea", "water"])
    said = repr(qr.check(votes, unit="person"))
    assert said.startswith("Confidential")
    for line in ("column read as winner", "columns not read", "usable votes", "invalid: missing person", "row"):
        assert line in said, line
    assert "\x1b" not in said
    assert "x\\n" in said


def test_the_check_counts_votes_of_nobody_only_for_people() -> None:
    """A vote without a person is a flaw where people are protected."""
    votes = qr.read_votes(
        pa.table({"person": ["a", None], "winner": ["tea"] * 2, "loser": ["water"] * 2}), ["tea", "water"]
    )
    assert qr.check(votes).votes == qr.check(votes, unit="comparison").votes == 2
    assert qr.check(votes, unit=Unit.PERSON).votes == 1
