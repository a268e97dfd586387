"""Wrong and unusual calls from Python: accepted rightly, or refused in one sentence that names Python's arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quietrank
from quietrank import estimators
from quietrank.ledger import book
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.promise.privacy import Unit
from quietrank.publish import tally_file
from quietrank.simulation import read_strengths
from tests.cli.test_wrong_calls import contents

qr: Any = quietrank
fit_arrays: Any = estimators.fit_arrays
BudgetLedger: Any = book.BudgetLedger
tally_from_dict: Any = tally_file.from_dict
"""wrong calls are what no type allows"""

COLUMNS = {"person": ["a", "a", "b", "c"], "winner": ["x", "y", "x", "z"], "loser": ["y", "z", "z", "x"]}
LAND = {"land": ["n", "n", "s", "s"]}
HUGE = 10**400
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class World:
    """What the calls are about; made once."""

    folder: Path
    votes: Any
    lands: Any
    release: Any
    grouped: Any
    tally: Any

    @property
    def csv(self) -> str:
        return str(self.folder / "votes.csv")

    @property
    def values(self) -> Any:
        """The release as plain values that may be edited."""
        return json.loads(self.release.to_json())

    def damaged(self, *path: Any, value: Any) -> Any:
        """The release with one value changed."""
        values = place = self.values
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return values

    def read(self, **options: Any) -> Any:
        return qr.read_votes(self.csv, **({"items": ["x", "y", "z"]} | options))


VOTE = qr.Privacy(1, "comparison")
PERSON = qr.Privacy(1, "person", max_per_person=2)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("python")
    pd.DataFrame(COLUMNS | LAND).to_csv(folder / "votes.csv", index=False)
    votes = qr.read_votes(folder / "votes.csv", ["x", "y", "z"])
    lands = qr.read_votes(folder / "votes.csv", ["x", "y", "z"], by="land", groups=["n", "s"])
    release, tally = qr.rank(votes, VOTE), qr.noisy_tally(votes, VOTE)
    grouped = qr.rank_by_group(lands, PERSON)
    release.to_json(folder / "release.json")
    grouped.to_json(folder / "grouped.json")
    tally.to_json(folder / "tally.json")
    BudgetLedger.create(folder / "rich.db", 9, data="votes", unit="comparison")
    BudgetLedger.create(folder / "poor.db", 0.5, data="votes", unit="comparison")
    (folder / "folder.json").mkdir()
    (folder / "mine.json").write_text('{"mine": 1}')
    (folder / "digits.json").write_text("[" + "9" * 5000 + "]")
    return World(folder, votes, lands, release, grouped, tally)


Call = Callable[[World], Any]


def of(call: Callable[[World, Any], Any], value: Any) -> Call:
    """The call with this value."""
    return lambda world: call(world, value)


REFUSED: dict[str, tuple[Call, str]] = {
    # read_votes
    "source None": (lambda w: qr.read_votes(None, ["x", "y"]), "say where the votes are"),
    "source int": (lambda w: qr.read_votes(5, ["x", "y"]), "cannot read votes from a int"),
    "source list": (lambda w: qr.read_votes([("x", "y")], ["x", "y"]), "cannot read votes from a list"),
    "source bytes": (lambda w: qr.read_votes(b"votes.csv", ["x", "y"]), "cannot read votes from a bytes"),
    "source dict": (lambda w: qr.read_votes(COLUMNS, ["x", "y"]), "cannot read votes from a dict"),
    "source array": (lambda w: qr.read_votes(np.zeros((2, 2)), ["x", "y"]), "cannot read votes from a ndarray"),
    "source series": (lambda w: qr.read_votes(pd.Series(["x"]), ["x", "y"]), "pandas"),
    "source polars series": (lambda w: qr.read_votes(pl.Series(["x"]), ["x", "y"]), "polars"),
    "source arrow array": (lambda w: qr.read_votes(pa.array(["x"]), ["x", "y"]), "pyarrow"),
    "source arrow scalar": (lambda w: qr.read_votes(pa.scalar("x"), ["x", "y"]), "pyarrow"),
    "source folder": (lambda w: qr.read_votes(w.folder, ["x", "y"]), "files of one format|cannot tell the format"),
    "source nowhere": (lambda w: qr.read_votes("nowhere.csv", ["x", "y"]), "there is no file"),
    "source NUL": (lambda w: qr.read_votes("a\0.csv", ["x", "y"]), "source must be the path"),
    "source empty": (lambda w: qr.read_votes("", ["x", "y"]), "path of the votes is empty"),
    "source long": (lambda w: qr.read_votes("v" * 5000 + ".csv", ["x", "y"]), "there is no file"),
    "source class": (lambda w: qr.read_votes(pd.DataFrame, ["x", "y"]), "cannot read votes"),
    "source module": (lambda w: qr.read_votes(pd, ["x", "y"]), "cannot read votes"),
    "no items": (lambda w: w.read(items=None), r"items=\[\.\.\.\], or use items_from_votes=True"),
    "items text": (lambda w: w.read(items="xyz"), "items must be a list of names"),
    "items bytes": (lambda w: w.read(items=b"xyz"), "items must be a list of names"),
    "items int": (lambda w: w.read(items=5), "items must be a list of names"),
    "items empty": (lambda w: w.read(items=[]), "at least two items, got 0"),
    "items one": (lambda w: w.read(items=["x"]), "at least two items, got 1"),
    "items None in it": (lambda w: w.read(items=["x", None]), "every item must have a name"),
    "items fractions": (lambda w: w.read(items=["x", 1.5]), "every item must have a name"),
    "items nan": (lambda w: w.read(items=["x", NAN]), "every item must have a name"),
    "items True": (lambda w: w.read(items=["x", True]), "every item must have a name"),
    "items lists": (lambda w: w.read(items=[["x"], ["y"]]), "every item must have a name"),
    "items bytes in it": (lambda w: w.read(items=[b"x", b"y"]), "every item must have a name"),
    "items twice": (lambda w: w.read(items=["x", "y", "x"]), "'x' is declared twice"),
    "items twice as number": (lambda w: w.read(items=[1, "1"]), "'1' is declared twice"),
    "items blank": (lambda w: w.read(items=["x", " "]), "empty name"),
    "items surrogate": (lambda w: w.read(items=["x", "\ud800"]), "not UTF-8"),
    "items long twice": (lambda w: w.read(items=["y" * 10**5] * 2), r"^.{0,300}declared twice|^.{0,200}…"),
    "items 2-d": (lambda w: w.read(items=np.zeros((2, 2), dtype=int)), "every item must have a name"),
    "items 0-d": (lambda w: w.read(items=np.array("x")), "items must be a list"),
    "items and from votes": (lambda w: w.read(items_from_votes=True), "one of the two"),
    "items_from_votes text": (lambda w: w.read(items=None, items_from_votes="yes"), "items_from_votes must be True or"),
    "items_from_votes 1": (lambda w: w.read(items=None, items_from_votes=1), "items_from_votes must be True or False"),
    "winner int": (lambda w: w.read(winner=1, loser="loser"), "no column 1 for winner"),
    "winner list": (lambda w: w.read(winner=["winner"], loser="loser"), r"no column \['winner'\] for winner"),
    "winner alone": (lambda w: w.read(winner="winner"), "give winner and loser together"),
    "winner empty": (lambda w: w.read(winner="", loser="loser"), "no column '' for winner"),
    "tie unknown": (lambda w: w.read(tie="draw"), "no column 'draw' for tie"),
    "tie True": (lambda w: w.read(tie=True), "no column True for tie"),
    "a and b": (lambda w: w.read(a="winner", b="loser"), "give a, b and outcome together"),
    "person dict": (lambda w: w.read(person={}), "no column {} for person"),
    "delimiter int": (lambda w: w.read(delimiter=5), "delimiter must be a single character"),
    "delimiter empty": (lambda w: w.read(delimiter=""), "delimiter must be a single character"),
    "delimiter bytes": (lambda w: w.read(delimiter=b","), "delimiter must be a single character"),
    "delimiter two": (lambda w: w.read(delimiter="::"), "delimiter must be a single character"),
    "pairs text": (lambda w: w.read(pairs="xy"), "pairs must be pairs of items"),
    "pairs int": (lambda w: w.read(pairs=5), "pairs must be pairs of items"),
    "pairs empty": (lambda w: w.read(pairs=[]), "pairs is empty"),
    "pairs three": (lambda w: w.read(pairs=[("x", "y", "z")]), "pairs must be pairs of items"),
    "pairs None": (lambda w: w.read(pairs=[None]), "pairs must be pairs of items"),
    "pairs of None": (lambda w: w.read(pairs=[("x", None)]), "every item must have a name"),
    "pairs strange": (lambda w: w.read(pairs=[("x", "w")]), "add it to items"),
    "by alone": (lambda w: w.read(by="land"), "say both: by"),
    "groups alone": (lambda w: w.read(groups=["n"]), "say both: by"),
    "by int": (lambda w: w.read(by=1, groups=["n"]), "no column 1 for by"),
    "groups text": (lambda w: w.read(by="land", groups="ns"), "groups must be a list of names"),
    "groups empty": (lambda w: w.read(by="land", groups=[]), "list of groups is empty"),
    "groups twice": (lambda w: w.read(by="land", groups=["n", "n"]), "'n' is declared twice"),
    "groups None": (lambda w: w.read(by="land", groups=[None]), "every group must have a name"),
    "skip_invalid text": (lambda w: w.read(skip_invalid="no"), "skip_invalid must be True or False"),
    "skip_invalid None": (lambda w: w.read(skip_invalid=None), "skip_invalid must be True or False"),
    "strangers": (
        lambda w: qr.rank(w.read(items=["x", "y"]), VOTE),
        "declare every item with items,.*skip_invalid=True",
    ),
    # Privacy
    **{
        f"epsilon {value!r}"[:40]: (
            of(lambda w, value: qr.Privacy(value, "comparison"), value),
            "^epsilon must be a number",
        )
        for value in (
            0,
            -1,
            NAN,
            INF,
            1e308,
            HUGE,
            True,
            "1",
            None,
            1j,
            [1],
            np.array([1.0, 2.0]),
            Decimal("NaN"),
            Decimal("Infinity"),
            Fraction(-1, 2),
            np.float64("nan"),
            np.bool_(True),
            b"1",
            Decimal("1e-999"),
        )
    },
    **{
        f"max_per_person {value!r}"[:40]: (
            of(lambda w, value: qr.Privacy(1, "person", max_per_person=value), value),
            "^max_per_person must be a whole number",
        )
        for value in ("5", 0, -1, 1.5, NAN, INF, HUGE, True, [5], Fraction(5, 2), Decimal("2.5"), 2**33)
    },
    **{
        f"delta {value!r}"[:40]: (
            of(lambda w, value: qr.Privacy(1, "comparison", value), value),
            "^delta must be 0, or",
        )
        for value in (-1e-9, 0.5, NAN, "1e-6", None, True, HUGE, Decimal("sNaN"))
    },
    **{
        f"clip {value!r}"[:40]: (
            of(lambda w, value: qr.Privacy(1, "person", 1e-6, max_per_person=2, clip=value), value),
            "^clip must be a number",
        )
        for value in (0, -1, NAN, "2", True, HUGE)
    },
    "unit None": (lambda w: qr.Privacy(1, None), "unit must be one of comparison, person; got unit=None"),
    "unit list": (lambda w: qr.Privacy(1, ["person"]), "unit must be one of"),
    "unit Person": (lambda w: qr.Privacy(1, "Person"), "unit must be one of"),
    "neighbours int": (lambda w: qr.Privacy(1, "comparison", neighbours=1), "neighbours must be one of"),
    "design None": (lambda w: qr.Privacy(1, "comparison", design=None), "design must be one of"),
    "one_per_pair text": (lambda w: qr.Privacy(1, "person", one_per_pair="yes"), "one_per_pair must be True"),
    "one_per_pair 1": (lambda w: qr.Privacy(1, "person", one_per_pair=1), "one_per_pair must be True"),
    "person unbounded": (lambda w: qr.Privacy(1, "person"), "unit='person' needs max_per_person.*one_per_pair=True"),
    "clip with laplace": (
        lambda w: qr.rank(w.votes, qr.Privacy(1, "person", clip=1), mechanism="laplace"),
        "unit='person' needs max_per_person",
    ),
    "design alone": (lambda w: qr.Privacy(1, "comparison", design="public"), "neighbours='replace' does not go with"),
    # rank and its like
    "rank path": (lambda w: qr.rank(w.csv, VOTE), r"rank\(read_votes\(\.\.\.\), Privacy"),
    "rank epsilon": (lambda w: qr.rank(w.votes, 1.0), r"rank\(read_votes\(\.\.\.\), Privacy"),
    "rank class": (lambda w: qr.rank(w.votes, qr.Privacy), r"a Privacy"),
    "rank None": (lambda w: qr.rank(None, None), r"give what read_votes returned"),
    "rank by land": (lambda w: qr.rank(w.lands, PERSON), "use rank_by_group"),
    "rank_by_group of all": (lambda w: qr.rank_by_group(w.votes, PERSON), "by='country', groups="),
    "rank_by_group None": (lambda w: qr.rank_by_group(None, PERSON), "give what read_votes returned"),
    "tally of groups": (lambda w: qr.noisy_tally(w.lands, PERSON), "rank_by_group"),
    "tally by group of all": (lambda w: qr.noisy_tally_by_group(w.votes, PERSON), "groups="),
    "tally of the mle": (lambda w: qr.noisy_tally(w.votes, VOTE, mechanism="perturbed-mle"), "use rank, or choose"),
    "mechanism None": (lambda w: qr.rank(w.votes, VOTE, mechanism=None), "mechanism must be one of"),
    "mechanism list": (lambda w: qr.rank(w.votes, VOTE, mechanism=[]), "mechanism must be one of"),
    "method int": (lambda w: qr.rank(w.votes, VOTE, method=1), "method must be one of"),
    "gamma text": (lambda w: qr.rank(w.votes, VOTE, method="bradley-terry", gamma="1"), "gamma must be a finite"),
    "gamma None": (lambda w: qr.rank(w.votes, VOTE, method="bradley-terry", gamma=None), "gamma must be a finite"),
    "gamma array": (
        lambda w: qr.rank(w.votes, VOTE, method="bradley-terry", gamma=np.array([1.0, 2.0])),
        "gamma must be a finite",
    ),
    "gamma alone": (lambda w: qr.rank(w.votes, VOTE, gamma=1), "gamma belongs to method='bradley-terry'"),
    "comparisons text": (
        lambda w: qr.rank(w.votes, VOTE, mechanism="perturbed-mle", comparisons_per_item="3"),
        "comparisons_per_item must be",
    ),
    "calibration int": (
        lambda w: qr.rank(w.votes, VOTE, mechanism="perturbed-mle", calibration=1),
        "calibration must be one of",
    ),
    "link int": (lambda w: qr.rank(w.votes, VOTE, mechanism="perturbed-mle", link=1), "link"),
    "link None": (lambda w: qr.rank(w.votes, VOTE, mechanism="perturbed-mle", link=None), "link"),
    "link unknown": (lambda w: qr.rank(w.votes, VOTE, mechanism="perturbed-mle", link="cauchit"), "unknown link"),
    "link array": (lambda w: qr.rank(w.votes, VOTE, link=np.array(["a", "b"])), "link"),
    "gaussian": (lambda w: qr.rank(w.votes, VOTE, mechanism="gaussian"), "add delta=1e-6, or use mechanism='laplace'"),
    "zonotope": (lambda w: qr.rank(w.votes, VOTE, mechanism="zonotope"), "needs unit='person' and one_per_pair=True"),
    "mle of people": (lambda w: qr.rank(w.votes, PERSON, mechanism="perturbed-mle"), "comparisons_per_item"),
    "level text": (lambda w: qr.rank(w.votes, VOTE, level="high"), "level must be a number from 0.5 to 0.999"),
    "level percent": (lambda w: qr.rank(w.votes, VOTE, level=90), "level must be .* such as 0.9; got level=90"),
    "level None": (lambda w: qr.rank(w.votes, VOTE, level=None), "level must be a number"),
    "simultaneous text": (lambda w: qr.rank(w.votes, VOTE, simultaneous="yes"), "simultaneous must be True or False"),
    "simultaneous 1": (lambda w: qr.rank(w.votes, VOTE, simultaneous=1), "simultaneous must be True or False"),
    "scale unknown": (lambda w: qr.rank(w.votes, VOTE, scale="odds"), "scale must be one of log-odds, elo, prob"),
    "scale None": (lambda w: qr.rank(w.votes, VOTE, scale=None), "scale must be one of"),
    "scale of counts": (lambda w: qr.rank(w.votes, VOTE, method="wins", scale="elo"), "use method='bradley-terry'"),
    "anchor alone": (lambda w: qr.rank(w.votes, VOTE, anchor=("x", 1000)), "anchor belongs to scale='elo'; add it"),
    **{
        f"anchor {value!r}": (
            of(lambda w, value: qr.rank(w.votes, VOTE, method="bradley-terry", scale="elo", anchor=value), value),
            r"^anchor must be an item and its score, such as \('item', 1000\)",
        )
        for value in (3, "x", "x=", ("x",), ("x", "much"), ("x", NAN), (1, 1000), ["x", 1000], b"x=1000", True)
    },
    "anchor of a stranger": (
        lambda w: qr.rank(w.votes, VOTE, method="bradley-terry", scale="elo", anchor="w=1000"),
        "anchor names 'w', which is not an item",
    ),
    **{
        f"sampling_share {value!r}"[:40]: (
            of(lambda w, value: qr.rank(w.votes, PERSON, sampling_share=value), value),
            "^sampling_share must be a number from 0, which buys nothing, to 0.5, or auto",
        )
        for value in (-1, 2, NAN, "much", None, True, HUGE, [0.1])
    },
    "rerank level": (lambda w: qr.rerank(w.tally, level="high"), "level must be a number"),
    "rerank scale": (lambda w: qr.rerank(w.tally, scale="odds"), "scale must be one of"),
    "rerank anchor": (lambda w: qr.rerank(w.tally, method="bradley-terry", scale="elo", anchor=3), "anchor must be"),
    "rerank simultaneous": (lambda w: qr.rerank(w.tally, simultaneous="yes"), "simultaneous must be True or False"),
    "ledger nowhere": (lambda w: qr.rank(w.votes, VOTE, ledger="nowhere.db"), "there is no ledger"),
    "ledger int": (lambda w: qr.rank(w.votes, VOTE, ledger=5), "ledger must be a ledger or the path of one; got 5"),
    "ledger bytes": (lambda w: qr.rank(w.votes, VOTE, ledger=b"b.db"), "ledger must be a ledger or the path"),
    "ledger NUL": (lambda w: qr.rank(w.votes, VOTE, ledger="b\0.db"), "path"),
    "ledger folder": (lambda w: qr.rank(w.votes, VOTE, ledger=w.folder), "no ledger"),
    "ledger poor": (lambda w: qr.rank(w.votes, VOTE, ledger=w.folder / "poor.db"), "the budget does not cover"),
    "ledger class": (lambda w: qr.rank(w.votes, VOTE, ledger=BudgetLedger), "ledger must be a ledger"),
    "ledger of δ": (
        lambda w: qr.rank(
            w.votes, qr.Privacy(1, "comparison", 1e-6), mechanism="gaussian", ledger=w.folder / "rich.db"
        ),
        "allows no delta",
    ),
    "rerank release": (lambda w: qr.rerank(w.release), "give a noisy tally: rerank"),
    "rerank path": (lambda w: qr.rerank(w.folder / "tally.json"), "give a noisy tally: rerank"),
    "rerank None": (lambda w: qr.rerank(None), "give a noisy tally: rerank"),
    "rerank method": (lambda w: qr.rerank(w.tally, method="elo"), "method must be one of"),
    "rerank gamma": (lambda w: qr.rerank(w.tally, method="bradley-terry", gamma=-1), "gamma=-1"),
    "fit path": (lambda w: qr.fit(w.csv), "give what read_votes returned"),
    "fit None": (lambda w: qr.fit(None), "give what read_votes returned"),
    "fit ridge text": (lambda w: qr.fit(w.votes, ridge="1"), "ridge must be"),
    "fit ridge nan": (lambda w: qr.fit(w.votes, ridge=NAN), "ridge must be"),
    "fit ridge None": (lambda w: qr.fit(w.votes, ridge=None), "ridge must be"),
    "fit ridge True": (lambda w: qr.fit(w.votes, ridge=True), "ridge must be"),
    "fit ridge negative": (lambda w: qr.fit(w.votes, ridge=-1), "ridge must be"),
    "fit link": (lambda w: qr.fit(w.votes, ridge=1, link="probit"), "probit"),
    "fit cluster text": (lambda w: qr.fit(w.votes, ridge=1, cluster="yes"), "cluster must be True or False"),
    "fit cluster 1": (lambda w: qr.fit(w.votes, ridge=1, cluster=1), "cluster must be True or False"),
    "fit level 1": (lambda w: qr.fit(w.votes, ridge=1, level=1), "level must be a number from 0.5 to 0.999"),
    "fit level text": (lambda w: qr.fit(w.votes, ridge=1, level="0.9"), "level must be a number"),
    "fit level None": (lambda w: qr.fit(w.votes, ridge=1, level=None), "level must be a number"),
    "fit link int": (lambda w: qr.fit(w.votes, ridge=1, link=3), "link"),
    "fit without ridge": (lambda w: qr.fit(w.read(items=["x", "y", "z", "w"], pairs=None), link="x"), "unknown link"),
    # releases and tallies
    **{
        f"top {value!r}"[:40]: (
            of(lambda w, value: w.release.top(value), value),
            "^k must be a whole number from 1 to the 3",
        )
        for value in (0, -1, 1.5, 4, "2", None, True, NAN, HUGE, [1], Fraction(3, 2))
    },
    "top of groups": (lambda w: w.grouped.top(9), "^k must be a whole number"),
    "to_json int": (lambda w: w.release.to_json(5), "path must be the path of a file"),
    "to_json bytes": (lambda w: w.release.to_json(b"r.json"), "path must be the path of a file"),
    "to_json True": (lambda w: w.release.to_json(True), "path must be the path of a file"),
    "to_json NUL": (lambda w: w.release.to_json("r\0.json"), "path must be the path of a file"),
    "to_json folder": (lambda w: w.release.to_json(w.folder / "folder.json"), "folder"),
    "to_json empty": (lambda w: w.release.to_json(""), "folder|ending|name"),
    "to_json nowhere": (lambda w: w.release.to_json(w.folder / "no" / "r.json"), "no folder|cannot write"),
    "to_json mine": (lambda w: w.release.to_json(w.folder / "mine.json"), "not replaced"),
    "to_json votes": (lambda w: w.release.to_json(w.csv), "not replaced"),
    "to_json long": (lambda w: w.release.to_json(w.folder / ("r" * 5000)), "too long"),
    "to_csv int": (lambda w: w.release.to_csv(5), "path must be the path of a file"),
    "to_csv tally": (lambda w: w.release.to_csv(w.folder / "tally.json"), "not replaced"),
    "groups to_json int": (lambda w: w.grouped.to_json(5), "path must be the path of a file"),
    "tally to_json": (lambda w: w.tally.to_json(5), "path must be the path of a file"),
    "tally over release": (lambda w: w.tally.to_json(w.folder / "release.json"), "not replaced"),
    "from_json int": (lambda w: qr.Release.from_json(5), "path must be the path of a file"),
    "from_json nowhere": (lambda w: qr.Release.from_json("nowhere.json"), "cannot read nowhere.json"),
    "from_json NUL": (lambda w: qr.Release.from_json("r\0.json"), "path must be the path of a file"),
    "from_json folder": (lambda w: qr.Release.from_json(w.folder), "cannot read"),
    "from_json csv": (lambda w: qr.Release.from_json(w.csv), "is not JSON"),
    "from_json tally": (lambda w: qr.Release.from_json(w.folder / "tally.json"), "not a release"),
    "from_json grouped": (lambda w: qr.Release.from_json(w.folder / "grouped.json"), "not a release"),
    "from_json digits": (lambda w: qr.Release.from_json(w.folder / "digits.json"), "is not JSON"),
    "grouped from_json": (lambda w: qr.GroupedRelease.from_json(w.folder / "release.json"), "qr.Release.from_json"),
    "tally from_json release": (
        lambda w: qr.NoisyTally.from_json(w.folder / "release.json"),
        "use qr.Release.from_json",
    ),
    "tally from_json None": (lambda w: qr.NoisyTally.from_json(None), "path must be the path of a file"),
    "grouped tally from_json": (lambda w: qr.GroupedTally.from_json(w.folder / "tally.json"), "NoisyTally.from_json"),
    "tally from_dict None": (lambda w: tally_from_dict(None), "not a noisy tally"),
    "from_dict None": (lambda w: qr.Release.from_dict(None), "not a release"),
    "from_dict list": (lambda w: qr.Release.from_dict([]), "not a release"),
    "from_dict empty": (lambda w: qr.Release.from_dict({}), "not a release"),
    **{
        f"from_dict {path[-1]} {value!r}"[:60]: (
            of(lambda w, at: qr.Release.from_dict(w.damaged(*at[0], value=at[1])), (path, value)),
            f"damaged .*{message}",
        )
        for path, value, message in [
            (("ranking",), None, "list"),
            (("ranking",), [], "ranks"),
            (("ranking",), [1], "type"),
            (("ranking", 0), {}, "it has no 'item'"),
            (("ranking", 0, "rank"), 2, "ranks"),
            (("ranking", 0, "rank"), True, "finite number"),
            (("ranking", 0, "rank"), "1", "finite number"),
            (("ranking", 0, "item"), 5, "text"),
            (("ranking", 0, "item"), "", "empty name"),
            (("ranking", 0, "score"), NAN, "finite number"),
            (("ranking", 0, "score"), None, "score"),
            (("ranking", 0, "score"), "high", "finite number"),
            (("ranking", 0, "score"), -1e9, "follow from its scores"),
            (("ranking", 0, "win_rate"), "much", "finite number"),
            (("ranking", 0, "extra"), 1, "type"),
            (("privacy",), None, "type"),
            (("privacy", "epsilon"), -1, "epsilon must be"),
            (("privacy", "unit"), "person", "max_per_person"),
            (("privacy", "extra"), 1, "type"),
            (("mechanism",), [], "type"),
            (("mechanism", "name"), 5, "text"),
            (("mechanism", "scale"), [], "number"),
            (("mechanism", "alternatives"), {"laplace": "much"}, "much"),
            (("method",), 5, "text"),
            (("gamma",), "auto", "finite number"),
            (("assumptions",), "none", "list"),
            (("assumptions",), [1], "text"),
            (("made_with",), None, "text"),
            (("ledger_entry",), 5, "text"),
        ]
    },
    "grouped from_dict": (lambda w: qr.GroupedRelease.from_dict({"format": "quietrank/grouped-release/1"}), "damaged"),
    "grouped no groups": (
        lambda w: qr.GroupedRelease.from_dict({"format": "quietrank/grouped-release/1", "by": "b", "groups": {}}),
        "damaged",
    ),
    "grouped None": (
        lambda w: qr.GroupedRelease.from_dict({"format": "quietrank/grouped-release/1", "by": "b", "groups": None}),
        "damaged",
    ),
    "grouped of none": (lambda w: qr.GroupedRelease("land", ()), "one promise and one payment"),
    "grouped of others": (
        lambda w: qr.GroupedRelease("land", (("n", w.release), ("s", w.grouped["s"]))),
        "rank them together",
    ),
    # ledgers
    "create int": (lambda w: BudgetLedger.create(5, 1, data="v", unit="person"), "path must be the path"),
    "create over": (lambda w: BudgetLedger.create(w.folder / "rich.db", 1, data="v", unit="person"), "exists already"),
    "create nowhere": (lambda w: BudgetLedger.create(w.folder / "no" / "b", 1, data="v", unit="person"), "no folder"),
    "create epsilon": (lambda w: BudgetLedger.create(w.folder / "b", "1", data="v", unit="person"), "epsilon must"),
    "create delta": (lambda w: BudgetLedger.create(w.folder / "b", 1, 1, data="v", unit="person"), "delta must"),
    "create data": (lambda w: BudgetLedger.create(w.folder / "b", 1, data=5, unit="person"), "data"),
    "create no data": (lambda w: BudgetLedger.create(w.folder / "b", 1, data=" ", unit="person"), "data"),
    "create unit": (lambda w: BudgetLedger.create(w.folder / "b", 1, data="v", unit=None), "unit must be"),
    "create surrogate": (lambda w: BudgetLedger.create(w.folder / "b\0", 1, data="v", unit="person"), "path"),
    "open int": (lambda w: BudgetLedger.open(5), "path must be the path"),
    "open None": (lambda w: BudgetLedger.open(None), "path must be the path"),
    "open votes": (lambda w: BudgetLedger.open(w.csv), "is not a ledger"),
    "open folder": (lambda w: BudgetLedger.open(w.folder), "no ledger"),
    "public ledger unit": (lambda w: qr.Ledger.create(w.folder / "b", 1, data="v", unit="vote"), "unit must be one of"),
    "public ledger open": (lambda w: qr.Ledger.open(w.csv), "is not a ledger"),
    # checks, simulations, groups by name
    "check path": (lambda w: qr.check(w.csv), r"check\(read_votes\(...\)\)"),
    "check None": (lambda w: qr.check(None), "give what read_votes returned"),
    "check unit": (lambda w: qr.check(w.votes, unit="vote"), "unit must be one of comparison, person"),
    "check unit list": (lambda w: qr.check(w.votes, unit=[]), "unit must be one of"),
    "check nobody": (
        lambda w: qr.check(qr.read_votes(pa.table({"winner": ["x"], "loser": ["y"]}), ["x", "y"]), unit="person"),
        "need a column that names the person",
    ),
    "simulate nothing": (lambda w: qr.simulate(), "say what is compared: items=4, or strengths="),
    "simulate both": (lambda w: qr.simulate(4, 5, 6, strengths={"x": 1, "y": 2}), "not both"),
    "simulate no people": (lambda w: qr.simulate(4), "say how to compare: people=50"),
    "simulate no questions": (lambda w: qr.simulate(4, 50), "say how to compare"),
    "simulate people and p": (lambda w: qr.simulate(4, 50, 6, p=0.5), "say how to compare"),
    "simulate items text": (
        lambda w: qr.simulate("4", 50, 6),
        "items must be a whole number, 2 or more; got items='4'",
    ),
    "simulate items one": (lambda w: qr.simulate(1, 50, 6), "items must be a whole number, 2 or more"),
    "simulate items huge": (lambda w: qr.simulate(HUGE, 50, 6), "at most 1000000 items"),
    "simulate people 0": (lambda w: qr.simulate(4, 0, 6), "people must be a whole number, 1 or more"),
    "simulate questions": (lambda w: qr.simulate(4, 5, 2.5), "per_person must be a whole number"),
    "simulate too many": (lambda w: qr.simulate(4, HUGE, 6), "votes fit in a table; ask for fewer"),
    "simulate a large graph": (lambda w: qr.simulate(10**6, p=1), "votes fit in a table; ask for fewer"),
    "simulate p": (lambda w: qr.simulate(4, p=1.5), "p must be a number from 0 to 1; got p=1.5"),
    "simulate p nan": (lambda w: qr.simulate(4, p=NAN), "p must be a number from 0 to 1"),
    "simulate p text": (lambda w: qr.simulate(4, p="all"), "p must be a number from 0 to 1"),
    "simulate seed": (lambda w: qr.simulate(4, 5, 6, seed=-1), "seed must be a whole number, 0 or more"),
    "synthetic path": (lambda w: qr.synthetic(w.csv, 5), "give a release or a noisy tally"),
    "synthetic None": (lambda w: qr.synthetic(None, 5), "give a release or a noisy tally"),
    "synthetic counts": (lambda w: qr.synthetic(w.release, 5), "rank with method='bradley-terry'"),
    "synthetic no group": (lambda w: qr.synthetic(w.grouped, 5), "say which group: group must be one of n, s"),
    "synthetic group list": (lambda w: qr.synthetic(w.grouped, 5, group=["n"]), "there is no group"),
    "synthetic votes 0": (lambda w: qr.synthetic(w.tally, 0), "votes must be a whole number, 1 or more"),
    "synthetic votes text": (lambda w: qr.synthetic(w.tally, "5"), "votes must be a whole number"),
    "synthetic votes True": (lambda w: qr.synthetic(w.tally, True), "votes must be a whole number"),
    "synthetic too many": (lambda w: qr.synthetic(w.tally, HUGE), "with the command quietrank synthetic"),
    "synthetic shape": (lambda w: qr.synthetic(w.tally, 5, shape="wide"), "shape must be one of long, arena"),
    "synthetic shape list": (lambda w: qr.synthetic(w.tally, 5, shape=[]), "shape must be one of"),
    "synthetic seed": (lambda w: qr.synthetic(w.tally, 5, seed=-1), "seed must be a whole number, 0 or more"),
    "simulate seed text": (lambda w: qr.simulate(4, 5, 6, seed="x"), "seed must be a whole number"),
    **{
        f"simulate strengths {given!r}"[:60]: (
            of(lambda w, strengths: qr.simulate(people=5, per_person=6, strengths=strengths), given),
            message,
        )
        for given, message in [
            (5, "strengths must be the path"),
            ({}, "at least two items a number each"),
            ({"x": 1.0}, "at least two items a number each"),
            ({"x": 1.0, "y": "strong"}, "at least two items a number each"),
            ({"x": 1.0, "y": NAN}, "at least two items a number each"),
            ({"x": 1.0, "y": 101}, "from -100 to 100"),
            ({"x": 1.0, " ": 2.0}, "empty name"),
            ({1: 1.0, "1": 2.0}, "declared twice"),
            ("nowhere.csv", "columns item and strength"),
        ]
    },
    "group unknown": (lambda w: w.grouped["west"], "there is no group 'west'; the groups are n, s"),
    "group list": (lambda w: w.grouped[[]], "there is no group"),
    "group number": (lambda w: w.grouped[0], "there is no group 0"),
    # plans and audits
    "plan items text": (lambda w: qr.plan("5", 20, 3), "items must be a whole number"),
    "plan items one": (lambda w: qr.plan(1, 20, 3), "items must be a whole number, 2 or more"),
    "plan items fraction": (lambda w: qr.plan(2.5, 20, 3), "items must be a whole number"),
    "plan items True": (lambda w: qr.plan(True, 20, 3), "items must be a whole number"),
    "plan people 0": (lambda w: qr.plan(5, 0, 3), "people must be a whole number"),
    "plan no people": (lambda w: qr.plan(5), "people=500"),
    "plan no questions": (lambda w: qr.plan(5, 20), "per_person=15"),
    "plan ε empty": (lambda w: qr.plan(5, 20, 3, epsilon=[]), "the list of epsilon is empty"),
    "plan ε text": (lambda w: qr.plan(5, 20, 3, epsilon="1"), "epsilon must be a number"),
    "plan ε nan": (lambda w: qr.plan(5, 20, 3, epsilon=[1, NAN]), "epsilon must be a number"),
    "plan ε None in it": (lambda w: qr.plan(5, 20, 3, epsilon=[None]), "epsilon must be a number"),
    "plan target int": (lambda w: qr.plan(5, 20, 3, target=5), "target"),
    "plan target words": (lambda w: qr.plan(5, 20, 3, target="be good"), "target"),
    "plan target and ε": (lambda w: qr.plan(5, 20, 3, target="winner 0.9", epsilon=1), "leave epsilon out"),
    "plan solve": (lambda w: qr.plan(5, 20, 3, solve="votes"), "solve must be epsilon or people"),
    "plan solve list": (lambda w: qr.plan(5, 20, 3, solve=[]), "solve must be epsilon or people"),
    "plan unit": (lambda w: qr.plan(5, 20, 3, unit=None), "unit must be one of"),
    "plan spread": (lambda w: qr.plan(5, 20, 3, spread="wide"), "spread must be one of"),
    "plan spread list": (lambda w: qr.plan(5, 20, 3, spread=[]), "spread must be one of"),
    "plan top_k": (lambda w: qr.plan(5, 20, 3, top_k=5), "top_k must be from 1 to 4"),
    "plan repetitions": (lambda w: qr.plan(5, 20, 3, repetitions=3), "repetitions must be a whole number, 10"),
    "plan seed": (lambda w: qr.plan(5, 20, 3, seed=-1), "seed must be a whole number"),
    "plan seed text": (lambda w: qr.plan(5, 20, 3, seed="1"), "seed must be a whole number"),
    "plan mechanism": (lambda w: qr.plan(5, 20, 3, mechanism="gaussian"), "add delta=1e-6"),
    "audit mechanism": (lambda w: qr.audit(mechanism="magic"), "mechanism must be one of"),
    "audit unit": (lambda w: qr.audit(unit=1), "unit must be one of"),
    "audit epsilon": (lambda w: qr.audit(epsilon=0), "epsilon must lie between"),
    "audit epsilon text": (lambda w: qr.audit(epsilon="1"), "epsilon must lie between"),
    "audit epsilon True": (lambda w: qr.audit(epsilon=True), "epsilon must lie between"),
    "audit quick": (lambda w: qr.audit(quick="yes"), "quick must be True or False"),
    "audit workers": (lambda w: qr.audit(workers=0), "workers must be a whole number, 1 or more"),
    "audit workers text": (lambda w: qr.audit(workers="2"), "workers must be a whole number"),
    "audit risk": (lambda w: qr.audit(risk=2), "risk must be a probability"),
    "audit nothing": (lambda w: qr.audit(mechanism="zonotope", unit="comparison"), "leave out one of mechanism, unit"),
    # arrays and strengths
    "arrays lengths": (lambda w: fit_arrays([0, 1], [1], 2), "equal lengths, got 2 and 1"),
    "arrays negative": (lambda w: fit_arrays([0, -1], [1, 0], 2), r"winner must lie in 0\.\.1, got -1"),
    "arrays beyond": (lambda w: fit_arrays([0, 1], [1, 2], 2), r"loser must lie in 0\.\.1"),
    "arrays floats": (lambda w: fit_arrays([0.0, 1.0], [1, 0], 2), "array of integer item indices"),
    "arrays nan": (lambda w: fit_arrays([NAN, 1], [1, 0], 2), "array of integer item indices"),
    "arrays text": (lambda w: fit_arrays(["x", "y"], ["y", "x"], 2), "map item names"),
    "arrays bools": (lambda w: fit_arrays([True, False], [False, True], 2), "array of integer item indices"),
    "arrays 2-d": (lambda w: fit_arrays([[0, 1]], [[1, 0]], 2), "one-dimensional"),
    "arrays 0-d": (lambda w: fit_arrays(0, 1, 2), "one-dimensional"),
    "arrays ragged": (lambda w: fit_arrays([[0], [1, 2]], [1, 0], 2), "one-dimensional"),
    "arrays None": (lambda w: fit_arrays(None, None, 2), "one-dimensional"),
    "arrays huge": (lambda w: fit_arrays([HUGE, 1], [1, 0], 2), "array of integer item indices"),
    "arrays themselves": (lambda w: fit_arrays([0, 1], [0, 0], 2), "an item cannot meet itself"),
    "arrays n_items 0": (lambda w: fit_arrays([], [], 0), "n_items must be"),
    "arrays n_items text": (lambda w: fit_arrays([0], [1], "2"), "n_items must be"),
    "arrays n_items fraction": (lambda w: fit_arrays([0], [1], 2.5), "n_items must be"),
    "arrays n_items True": (lambda w: fit_arrays([0], [1], True), "n_items must be"),
    "arrays ridge": (lambda w: fit_arrays([0], [1], 2, ridge="1"), "ridge must be"),
    "arrays ridge nan": (lambda w: fit_arrays([0], [1], 2, ridge=NAN), "ridge must be"),
    "arrays no ridge": (lambda w: fit_arrays([0], [1], 2, ridge=0), "give a ridge above 0, for example ridge=1.0"),
    "arrays tie": (lambda w: fit_arrays([0], [1], 2, tie=[0.5]), "tie must be a boolean array"),
    "arrays ties": (lambda w: fit_arrays([0], [1], 2, tie=[True, False]), "tie must have one entry per vote"),
    "arrays link": (lambda w: fit_arrays([0], [1], 2, link="cauchit"), "unknown link"),
    "arrays link int": (lambda w: fit_arrays([0], [1], 2, link=3), "link"),
    "errors of strangers": (lambda w: fit_arrays([0, 1], [1, 0], 2).standard_errors_of([5]), "items must"),
    "strengths": (lambda w: read_strengths(w.folder / "votes.csv"), "columns item and strength"),
}

ACCEPTED: dict[str, tuple[Call, Any]] = {
    "epsilon whole": (lambda w: qr.Privacy(1, "comparison").epsilon, 1.0),
    "epsilon Fraction": (lambda w: qr.Privacy(Fraction(1, 2), "comparison").epsilon, 0.5),
    "epsilon Decimal": (lambda w: qr.Privacy(Decimal("0.1"), "comparison").epsilon, 0.1),
    "epsilon third": (lambda w: Fraction(qr.Privacy(Fraction(1, 3), "comparison").epsilon) <= Fraction(1, 3), True),
    "epsilon float64": (lambda w: type(qr.Privacy(np.float64(0.5), "comparison").epsilon), float),
    "epsilon float32": (lambda w: qr.Privacy(np.float32(0.5), "comparison").epsilon, 0.5),
    "epsilon int64": (lambda w: qr.Privacy(np.int64(2), "comparison").epsilon, 2.0),
    "limit 5.0": (lambda w: qr.Privacy(1, "person", max_per_person=5.0).max_per_person, 5),
    "limit int64": (lambda w: type(qr.Privacy(1, "person", max_per_person=np.int64(5)).max_per_person), int),
    "limit Fraction": (lambda w: qr.Privacy(1, "person", max_per_person=Fraction(5)).max_per_person, 5),
    "one_per_pair numpy": (lambda w: qr.Privacy(1, "person", one_per_pair=np.bool_(True)).one_per_pair, True),
    "items numbers": (lambda w: w.read(items=[1, 2]).items.names, ("1", "2")),
    "items floats": (lambda w: w.read(items=[1.0, 2.0]).items.names, ("1", "2")),
    "items array": (lambda w: w.read(items=np.array(["x", "y"])).items.names, ("x", "y")),
    "items series": (lambda w: w.read(items=pd.Series(["x", "y"])).items.names, ("x", "y")),
    "items arrow": (lambda w: w.read(items=pa.array(["x", "y"])).items.names, ("x", "y")),
    "items generator": (lambda w: w.read(items=(name for name in "xyz")).items.names, ("x", "y", "z")),
    "items dict": (lambda w: w.read(items={"x": 1, "y": 2}).items.names, ("x", "y")),
    "items long": (lambda w: len(w.read(items=["x", "y" * 10**5]).items), 2),
    "items emoji": (lambda w: w.read(items=["🦆", "e\u0301", "é"]).items.names, ("🦆", "e\u0301", "é")),
    "path object": (lambda w: len(qr.read_votes(w.folder / "votes.csv", ["x", "y", "z"]).items), 3),
    "a frame": (lambda w: len(qr.rank(qr.read_votes(pd.DataFrame(COLUMNS), ["x", "y", "z"]), VOTE).ranking), 3),
    "a lazy frame": (lambda w: len(qr.read_votes(pl.LazyFrame(COLUMNS), ["x", "y", "z"]).items), 3),
    "ledger as text": (lambda w: qr.rank(w.votes, VOTE, ledger=_new(w, "text")).ledger_entry is not None, True),
    "ledger as path": (lambda w: qr.rank(w.votes, VOTE, ledger=Path(_new(w, "path"))).ledger_entry is not None, True),
    "ledger open": (lambda w: qr.rank(w.votes, VOTE, ledger=BudgetLedger.open(_new(w, "open"))).method, "win-rate"),
    "gamma Decimal": (
        lambda w: qr.rerank(w.tally, method="bradley-terry", gamma=Decimal(2)).gamma,
        2.0,
    ),
    "gamma int64": (lambda w: qr.rerank(w.tally, method="bradley-terry", gamma=np.int64(2)).gamma, 2.0),
    "top 2.0": (lambda w: len(w.release.top(2.0).ranking), 2),
    "top int64": (lambda w: len(w.release.top(np.int64(2)).ranking), 2),
    "ridge Fraction": (lambda w: qr.fit(w.votes, ridge=Fraction(1, 2)).fitted.ridge, 0.5),
    "ridge int64": (lambda w: qr.fit(w.votes, ridge=np.int64(1)).fitted.ridge, 1.0),
    "arrays uint8": (lambda w: len(fit_arrays(np.array([0, 1], np.uint8), np.array([1, 0], np.uint8), 2).scores), 2),
    "arrays of nothing": (lambda w: fit_arrays([], [], 2).scores.tolist(), [0.0, 0.0]),
    "n_items int64": (lambda w: len(fit_arrays([0], [1], np.int64(2)).scores), 2),
    "release again": (lambda w: qr.Release.from_dict(w.values) == w.release, True),
    "release of top": (lambda w: len(qr.Release.from_dict(json.loads(w.release.top(1).to_json())).ranking), 1),
    "groups again": (lambda w: qr.GroupedRelease.from_json(w.folder / "grouped.json") == w.grouped, True),
    "simulate int64": (lambda w: qr.simulate(np.int64(4), 5.0, np.int64(6), seed=np.int64(1)).num_rows, 30),
    "simulate strengths": (
        lambda w: (
            set(qr.simulate(strengths={"x": np.float32(1), 2: Decimal(2)}, p=1)["winner"].to_pylist()) <= {"x", "2"}
        ),
        True,
    ),
    "simulate and read": (lambda w: len(qr.read_votes(qr.simulate(4, 5, 6), items_from_votes=True).items), 4),
    "check a member": (lambda w: qr.check(w.votes, unit=Unit.PERSON).people, 3),
    "mechanism object": (lambda w: qr.rank(w.votes, VOTE, mechanism=LAPLACE).mechanism.name, "laplace"),
    "groups as dict": (lambda w: list(dict(w.grouped)), ["n", "s"]),
    "skip_invalid numpy": (lambda w: w.read(skip_invalid=np.bool_(True)).skip_invalid, True),
}


def _new(world: World, name: str) -> str:
    """The path of a new ledger, beside the folder that must not change."""
    path = world.folder.parent / f"{world.folder.name}-{name}.db"
    BudgetLedger.create(path, 9, data="votes", unit="comparison")
    return str(path)


def test_the_table_is_long() -> None:
    """At least 100 calls."""
    assert len(REFUSED) + len(ACCEPTED) >= 100


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.few(53)
def test_a_wrong_call_is_refused_in_one_sentence(world: World, name: str) -> None:
    """An error of ours, with Python's names and no option of the command line; nothing is written or spent."""
    call, message = REFUSED[name]
    before = contents(world.folder)
    with pytest.raises(qr.QuietrankError) as refused:
        call(world)
    said = str(refused.value)
    assert re.search(message, said), said
    assert "--" not in said
    assert "\n" not in said
    assert contents(world.folder) == before


@pytest.mark.parametrize("name", ACCEPTED)
@pytest.mark.few(28)
def test_an_unusual_call_is_accepted(world: World, name: str) -> None:
    """Numbers and lists of every kind mean what they say."""
    call, expected = ACCEPTED[name]
    assert call(world) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: qr.Privacy(),
        lambda: qr.Privacy(1, "comparison", sigma=2),
        lambda: qr.read_votes("votes.csv", votes="other.csv"),
        lambda: qr.rank(1, 2, 3),
        lambda: qr.audit(sigma=1),
        lambda: qr.audit("laplace"),
        lambda: qr.simulate(4, 5, 6, 0.5),
        lambda: qr.check(),
    ],
)
def test_a_missing_or_unknown_argument_is_python_s_own_error(call: Callable[[], Any]) -> None:
    """As everywhere in Python."""
    with pytest.raises(TypeError, match="argument"):
        call()
