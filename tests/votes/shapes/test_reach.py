"""How far one row can move a tally: exhaustive search over all rows of small wide files and rankings.

Every row that somebody could hand in stands in one file, each under its own name; what each adds is computed by the
library, and all differences are compared with what noise is calibrated for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.arrays import Floats
from quietrank.estimate.methods import Expected
from quietrank.mechanisms.scatter import Around
from quietrank.promise.graph import complete
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Bounded, Promise
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from quietrank.votes.formats import preflib
from quietrank.votes.tally import counting
from tests.helpers import zonotope_gauge
from tests.steps import gauge, sensitivity, tally_votes
from tests.votes.shapes.test_rankings import write_preflib

ITEMS = ["x", "y", "z"]
PAIRS = list(itertools.combinations(range(3), 2))
LIMITED = Privacy(1.0, "person", max_per_person=2)
ANSWERS = Privacy(1.0, "person", one_per_pair=True, max_per_person=3)


def _wide() -> qr.Votes:
    """Every row of three cells, and some people with two rows."""
    rows = [(f"p{k}", *row) for k, row in enumerate(itertools.product(["1", "2", "tie", ""], repeat=3))]
    rows += [("twice", "1", "1", ""), ("twice", "2", "1", "1"), ("same", "1", "1", "1"), ("same", "1", "1", "1")]
    return qr.read_votes(
        pa.table(dict(zip(["person", "x:y", "x:z", "y:z"], zip(*rows, strict=True), strict=True))), ITEMS
    )


def _rankings(unranked: Any) -> qr.Votes:
    """Every ranking of some of the items, with ties; and some people with two."""
    places = itertools.product(["", "1", "2", "3"], repeat=3)
    rows = [(f"p{k}", *row) for k, row in enumerate(places)]
    rows += [("twice", "1", "2", "3"), ("twice", "3", "2", "1"), ("same", "1", "2", "3"), ("same", "1", "2", "3")]
    table = pa.table(dict(zip(["person", *ITEMS], zip(*rows, strict=True), strict=True)))
    return qr.read_votes(table, ITEMS, shape="rankings", unranked=unranked)


FILES: dict[str, Callable[[], qr.Votes]] = {
    "wide": _wide,
    "rankings": lambda: _rankings("missing"),
    "rankings, others last": lambda: _rankings("last"),
}


def _contributions(votes: qr.Votes, privacy: Privacy) -> tuple[Floats, Floats]:
    """Wins and losses that each person adds, in votes; a row of zeros for nobody."""
    bounded = Bounded.by(privacy, None)
    with counting(votes, bounded, again=True) as counted:
        assert counted.weighed is not None
        rows = counted.weighed.to_pyarrow().to_pylist()
    people = {person: k for k, person in enumerate({row["person"] for row in rows}, 1)}
    wins, losses = np.zeros((2, len(people) + 1, 3))
    for row in rows:
        who, weight = people[row["person"]], row["weight"] * float(bounded.half_vote)
        for item, y in ((row["a"], row["y"]), (row["b"], 2 - row["y"])):
            wins[who, item] += weight * y
            losses[who, item] += weight * (2 - y)
    return wins, losses


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("privacy", [LIMITED, ANSWERS], ids=["limited", "one-per-pair"])
@pytest.mark.few(2)
def test_no_row_moves_a_tally_further_than_derived(file: str, privacy: Privacy) -> None:
    """Any row replaced by any other: L1 of net wins, wins, and both; and the gauge of net wins, which is attained."""
    wins, losses = _contributions(FILES[file](), privacy)
    net = (wins - losses) / 2
    for statistic, vectors in ((NET_WINS, net), (WINS, wins), (WINS_AND_LOSSES, np.hstack([wins, losses]))):
        apart = np.abs(vectors[:, None] - vectors[None]).sum(axis=2).max()
        reach = float(sensitivity(privacy, statistic, complete(3)).l1)
        assert apart <= reach + 1e-12, statistic
        assert apart > 0.6 * reach, statistic
    if privacy.one_per_pair:
        moves = np.unique((net[:, None] - net[None]).reshape(-1, 3).round(9), axis=0)
        furthest = max(zonotope_gauge(complete(3), move.tolist()) for move in moves)
        assert furthest == pytest.approx(float(gauge(privacy, NET_WINS)))


def test_a_row_that_is_not_bounded_would_be_noticed() -> None:
    """This test can fail: rows that are not bounded move the tally further."""
    wins, losses = _contributions(_wide(), Privacy(1.0, "person", max_per_person=6))
    apart = np.abs((wins - losses)[:, None] / 2 - (wins - losses)[None] / 2).sum(axis=2).max()
    assert apart > float(sensitivity(LIMITED, NET_WINS, complete(3)).l1)


def _moved_by_one_voter(folder: Path) -> float:
    """How far the wins move when one of four voters turns their ranking round."""
    up, down = ((1,), (2,), (3,)), ((3,), (2,), (1,))
    files = [write_preflib(folder / "one.soc", ITEMS, [(4, up)])]
    files.append(write_preflib(folder / "other.soc", ITEMS, [(3, up), (1, down)]))
    tallies = [tally_votes(qr.read_votes(file), LIMITED) for file in files]
    difference = (tallies[0].net_wins - tallies[1].net_wins) * float(tallies[0].step)
    return float(np.abs(difference).sum())


def test_a_voter_of_a_preflib_file_moves_it_by_one_person(tmp_path: Path) -> None:
    """Voters are bounded one by one, however many share a line."""
    assert _moved_by_one_voter(tmp_path) <= float(sensitivity(LIMITED, NET_WINS, complete(3)).l1)


def test_counts_multiplied_after_bounding_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: each voter of a line weighs as much as the whole line, as if it were bounded by itself."""
    honest = preflib.COUNT
    monkeypatch.setattr(preflib, "COUNT", f"range(len({honest}) * len({honest}))")
    assert _moved_by_one_voter(tmp_path) > float(sensitivity(LIMITED, NET_WINS, complete(3)).l1)


def test_one_query_gives_the_sums_of_the_snapshot() -> None:
    """Where each row is another person's the sums come from one query: equal, bit for bit, to those of the snapshot,
    which counts the same votes where invalid rows are to be skipped."""
    rng = np.random.default_rng(3)
    cells = rng.choice(np.array(["1", "2", "0.5", "", "tie"], object), size=(200, 3), p=[0.3, 0.3, 0.1, 0.28, 0.02])
    columns = dict(zip(["x:y", "z:x", "y_z"], cells.T.tolist(), strict=True))
    for people in (None, [f"p{k}" for k in range(200)], [f"p{k % 190}" for k in range(200)]):
        table = pa.table(columns if people is None else {"person": people, **columns})
        for privacy in (LIMITED, ANSWERS):
            both = [qr.read_votes(table, ITEMS, skip_invalid=skip) for skip in (False, True)]
            one, other = (tally_votes(votes, privacy) for votes in both)
            assert (one.wins == other.wins).all()
            assert (one.losses == other.losses).all()
            assert one.rows == other.rows == 600


@pytest.mark.parametrize("around", [Around.ZERO, Around.VOTES, Around.EXPOSURES])
@pytest.mark.few(2)
def test_one_snapshot_of_rows_gives_the_scatter_of_that_of_votes(around: Around) -> None:
    """The scatter of people, too, is the same bit for bit, whether or not a row is made for each vote; also that of a
    sample, which is of the same people."""
    rng = np.random.default_rng(4)
    cells = rng.choice(np.array(["1", "2", "tie", ""], object), size=(300, 3), p=[0.4, 0.2, 0.1, 0.3])
    table = pa.table(
        {"person": [f"p{k}" for k in range(300)], **dict(zip(["x:y", "z:x", "y:z"], cells.T, strict=True))}
    )
    bounded = Promise(LIMITED, Items(tuple(ITEMS))).bounded(None)
    expected = [Expected(around, np.array([0.3, -0.1, -0.2]) + (0.5 if around is Around.EXPOSURES else 0.0))]
    steps, by_row = [], []
    for skip in (False, True):
        votes = qr.read_votes(table, ITEMS, skip_invalid=skip)
        with counting(votes, bounded, may_be_empty=True, again=True) as counted:
            assert counted.weighed is not None
            steps.append([counted.scatter(expected, 2.0, bits)[0] for bits in range(4)])
            by_row.append("item" in counted.weighed.columns)
    assert by_row == [True, False]
    assert steps[0] == steps[1]
    assert steps[0] == sorted(steps[0], reverse=True)
    assert steps[0][0] > steps[0][3] > 0


@pytest.mark.parametrize(("person", "cell"), [("q", "9"), ("", "1"), ("q", "x ")])
@pytest.mark.few(2)
def test_the_one_query_finds_what_is_wrong(person: str, cell: str) -> None:
    """A cell that cannot be read and a person without a name are refused, not counted."""
    votes = qr.read_votes(pa.table({"person": ["p", person], "x:y": ["1", cell], "x:z": ["1", ""]}), ITEMS)
    if cell == "x ":
        with pytest.raises(qr.QuietrankError, match="unknown outcome"):
            tally_votes(votes, LIMITED)
    with pytest.raises(qr.QuietrankError, match="row 2"):
        tally_votes(votes, LIMITED)


def test_two_columns_of_one_pair_share_an_answer() -> None:
    """The single query would count them apart, so it is not used."""
    votes = qr.read_votes(pa.table({"person": ["p"], "x:y": ["1"], "y:x": ["2"]}), ITEMS)
    tally = tally_votes(votes, ANSWERS)
    assert [float(value * tally.step) for value in tally.net_wins] == [0.5, -0.5, 0]
