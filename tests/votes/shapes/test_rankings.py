"""Rankings: three forms, what is left out, what is wrong, and PrefLib's files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from tests.effort import effort
from tests.steps import tally_votes

DRINKS = ["tea", "coffee", "water"]
PERSON = Privacy(1, "person", max_per_person=3)
ANSWERS = Privacy(1, "person", one_per_pair=True, max_per_person=6)
Order = tuple[tuple[int, ...], ...]
"""tiers of alternatives, from 1"""


def _table(**columns: list[Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def _net(votes: qr.Votes, privacy: Privacy = PERSON) -> list[float]:
    tally = tally_votes(votes, privacy)
    return [float(value * tally.step) for value in tally.net_wins]


@pytest.mark.parametrize(
    ("columns", "words", "message"),
    [
        ({"ranking": ["tea", "tea>water>tea"]}, {}, r"has an item twice: 1 row .*row 2: 'tea>water>tea'.*twice 'tea'"),
        ({"ranking": ["tea>milk"]}, {}, r"not on the declared list: 1 row .*undeclared item 'milk'\).*declare every"),
        ({"ranking": ["tea>Tea"]}, {}, "'Tea', which differs from the declared 'tea' only by spaces, case"),
        ({"ranking": ["tea>>coffee"]}, {}, r"an item's cell is empty: 1 row .*row 1: 'tea>>coffee'"),
        ({"1st": ["tea"], "2nd": ["tea"]}, {}, r"item twice.*row 1: 'tea > tea'"),
        ({"1st": ["tea", "rum"], "2nd": ["", "tea"]}, {}, r"row 2: 'rum > tea'.*undeclared item 'rum'"),
        ({"tea": ["1"], "coffee": ["4"], "water": ["2"]}, {"shape": "rankings"}, r"whole number from 1.*place '4'\)"),
        ({"tea": ["1"], "coffee": ["0"], "water": ["2"]}, {"shape": "rankings"}, r"unknown place '0'"),
        ({"tea": ["1"], "coffee": ["1.5"], "water": ["2"]}, {"shape": "rankings"}, r"unknown place '1.5'"),
        ({"tea": ["1"], "coffee": ["best"], "water": [""]}, {"shape": "rankings"}, r"unknown place 'best'"),
    ],
)
@pytest.mark.few(3)
def test_a_wrong_ranking_is_refused_with_row_and_remedy(
    columns: dict[str, list[Any]], words: dict[str, Any], message: str
) -> None:
    """Counted once, however many pairs it has; skipped as a whole."""
    with pytest.raises(VotesError, match=message):
        tally_votes(qr.read_votes(_table(**columns), DRINKS, **words), PERSON)
    votes = qr.read_votes(_table(**columns), DRINKS, skip_invalid=True, **words)
    assert _net(votes) == [0, 0, 0]


@pytest.mark.parametrize(
    ("columns", "words", "message"),
    [
        ({"1st": ["tea"], "3rd": ["tea"]}, {}, "none for place 2"),
        ({"1st": ["tea"], "2nd": ["tea"], "rank1": ["x"], "rank2": ["y"]}, {}, "more than one set of columns"),
        ({"1st": ["tea"], "2nd": ["tea"], "ranking": ["x"]}, {}, "could both hold rankings"),
        ({"ranking": ["tea"], "ballot": ["tea"]}, {}, "more than one column could hold rankings"),
        ({"tea": ["1"], "coffee": ["2"]}, {"shape": "rankings"}, "no column with the places of water"),
        ({"x": ["1"], "y": ["2"]}, {"shape": "rankings"}, "no columns hold rankings"),
        ({"x": ["1"]}, {"ranking": "z"}, "there is no column 'z' for ranking"),
        ({"ranking": ["tea"]}, {"unranked": "first"}, "unranked must be one of missing, last"),
        (
            {"ranking": ["tea"]},
            {"pairs": [("tea", "water"), ("coffee", "water")]},
            "compares all pairs of its items; leave pairs out",
        ),
        ({"1st": ["x"], "2nd": ["y"], "winner": ["x"], "loser": ["y"]}, {}, "more than one shape (long, rankings)"),
        ({"tea": ["1"], "coffee": ["2"], "water": ["3"]}, {}, "are named after the items"),
    ],
)
def test_columns_in_doubt_are_refused(columns: dict[str, list[Any]], words: dict[str, Any], message: str) -> None:
    with pytest.raises(qr.QuietrankError) as refused:
        qr.read_votes(_table(**columns), DRINKS, **words)
    assert message in str(refused.value)


def test_an_item_with_a_sign_of_rankings_needs_another_form() -> None:
    items = ["a>b", "c"]
    with pytest.raises(VotesError, match="cannot be told from the signs of a ranking"):
        qr.read_votes(_table(ranking=["c"]), items)
    assert _net(qr.read_votes(_table(**{"1st": ["a>b"], "2nd": ["c"]}), items)) == [0.5, -0.5]


def test_which_items_were_ranked_is_an_answer() -> None:
    """So it is never a public design."""
    votes = qr.read_votes(_table(ranking=["tea>coffee>water"]), DRINKS)
    with pytest.raises(VotesError, match="which items a person ranked is an answer of theirs; use"):
        qr.rank(votes, Privacy(1, "person", max_per_person=3, neighbours="outcome", design="public"))


def test_sqlite_reads_rankings_of_declared_items() -> None:
    """It has no arrays: places are picked in another way, and items cannot be taken from the votes."""
    import ibis

    table = ibis.sqlite.connect().create_table("votes", _table(ranking=["tea>coffee=water", "water > tea", None]))
    assert _net(qr.read_votes(table, DRINKS), ANSWERS) == [0.5, -0.5, 0]
    with pytest.raises(VotesError, match="cannot be taken from rankings in SQLite; declare them with items"):
        qr.read_votes(table, items_from_votes=True)


def test_one_person_with_two_rankings_is_one_person() -> None:
    votes = qr.read_votes(_table(person=["ana", "ana"], ranking=["tea>coffee", "tea>coffee"]), DRINKS)
    assert _net(votes, ANSWERS) == [0.5, -0.5, 0]


def test_check_says_what_was_understood() -> None:
    report = qr.check(qr.read_votes(_table(person=["ana"], ranking=["tea>coffee=water"]), DRINKS))
    assert report.understood == (
        "row 1: ana preferred tea to coffee",
        "row 1: ana preferred tea to water",
        "row 1: ana found coffee and water equal",
    )
    assert (report.rows, report.votes, report.votes_per_row) == (1, 3, 3)


def _definition(orders: list[Order], n: int, *, last: bool) -> list[float]:
    """Net wins of all pairs, straight from the definition."""
    net = [0.0] * n
    for order in orders:
        place = {item: k for k, tier in enumerate(order) for item in tier}
        for i, j in itertools.combinations(range(1, n + 1), 2):
            if (i not in place and j not in place) or (not last and not (i in place and j in place)):
                continue
            first, second = place.get(i, n), place.get(j, n)
            won = 0.5 * (second > first) - 0.5 * (second < first)
            net[i - 1] += won
            net[j - 1] -= won
    return net


def orders(n: int) -> st.SearchStrategy[Order]:
    """Some of n alternatives, in tiers."""
    some = st.permutations(range(1, n + 1)).flatmap(lambda order: st.integers(1, n).map(lambda k: order[:k]))
    cut = st.lists(st.booleans(), min_size=n, max_size=n)
    return st.tuples(some, cut).map(lambda both: _tiers(*both))


def _tiers(items: list[int], starts: list[bool]) -> Order:
    tiers: list[list[int]] = []
    for item, start in zip(items, starts, strict=False):
        if start or not tiers:
            tiers.append([])
        tiers[-1].append(item)
    return tuple(map(tuple, tiers))


def write_preflib(path: Path, names: list[str], lines: list[tuple[int, Order]]) -> Path:
    """A file in PrefLib's format."""
    header = [f"# FILE NAME: {path.name}", f"# NUMBER ALTERNATIVES: {len(names)}"]
    header += [f"# NUMBER VOTERS: {sum(count for count, _ in lines)}", f"# NUMBER UNIQUE ORDERS: {len(lines)}"]
    header += [f"# ALTERNATIVE NAME {k}: {name}" for k, name in enumerate(names, 1)]
    body = [f"{count}: {','.join(map(_tier, order))}" for count, order in lines]
    path.write_text("\n".join([*header, *body, ""]), encoding="utf-8")
    return path


def _tier(tier: tuple[int, ...]) -> str:
    return str(tier[0]) if len(tier) == 1 else "{" + ",".join(map(str, tier)) + "}"


@given(st.lists(st.tuples(st.integers(1, 4), orders(4)), min_size=1, max_size=5), st.booleans())
@settings(max_examples=effort(3, 25), deadline=None)
def test_a_preflib_file_comes_back(tmp_path: Path, lines: list[tuple[int, Order]], last: bool) -> None:
    """Written and read again: every voter is one person with a whole ranking, in all three forms."""
    names = ["red", "green", "blue", "'grey'"]
    votes = qr.read_votes(write_preflib(tmp_path / "colours.toi", names, lines), unranked="last" if last else "missing")
    everybody = [order for count, order in lines for _ in range(count)]
    expected = _definition(everybody, 4, last=last)
    assert _net(votes, ANSWERS) == expected
    assert tally_votes(votes, ANSWERS).rows == 6 * len(everybody)
    cells = [">".join("=".join(names[item - 1] for item in tier) for tier in order) for order in everybody]
    words: dict[str, Any] = {"unranked": "last" if last else "missing"}
    assert _net(qr.read_votes(_table(ranking=cells), names, **words), Privacy(1, "comparison")) == expected
    place = [{item: k for k, tier in enumerate(order, 1) for item in tier} for order in everybody]
    by_item = {name: [str(one.get(k, "")) for one in place] for k, name in enumerate(names, 1)}
    votes = qr.read_votes(_table(**by_item), names, shape="rankings", **words)
    assert _net(votes, Privacy(1, "comparison")) == expected


def test_a_count_is_so_many_people(tmp_path: Path) -> None:
    """A line is bounded person by person: 5 voters with L = 1 weigh 5, not 1; and none weighs more than 1."""
    path = write_preflib(tmp_path / "x.soc", DRINKS, [(5, ((1,), (2,), (3,)))])
    tally = tally_votes(qr.read_votes(path), Privacy(1, "person", max_per_person=1))
    assert 5 * 0.999 < float(tally.wins.sum() * tally.step) <= 5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("3: 1,2\nx: 1\n", r"row 2 is 'x: 1'; every line after the header must be a count and an order"),
        ("0: 1,2\n", "row 1 is '0: 1,2'"),
        ("3: 1,{2\n", "row 1 is"),
        ("2: 1,7\n", r"undeclared item '7'"),
        ("2: 1,1\n", r"item twice '1'"),
    ],
)
@pytest.mark.few(3)
def test_a_wrong_preflib_file_is_refused(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "x.soi"
    path.write_text("# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: coffee\n" + body)
    with pytest.raises(VotesError, match=message):
        tally_votes(qr.read_votes(path), PERSON)


def test_preflib_files_of_old_are_refused(tmp_path: Path) -> None:
    (tmp_path / "old.soc").write_text("2\n1,tea\n2,coffee\n3,3,1\n3,1,2\n")
    with pytest.raises(VotesError, match="PrefLib's current format"):
        qr.read_votes(tmp_path / "old.soc")
