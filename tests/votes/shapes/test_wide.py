"""Wide files: which columns are pairs, what a cell says, and who is protected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.votes.shapes.pair_columns import pairs_of
from tests.steps import tally_votes

DRINKS = ["tea", "coffee", "water"]
PERSON = Privacy(1, "person", max_per_person=3)


def _table(**columns: list[Any]) -> Any:
    import pyarrow as pa

    return pa.table({name.replace("__", ":"): cells for name, cells in columns.items()})


def _net(votes: qr.Votes, privacy: Privacy = PERSON) -> list[float]:
    tally = tally_votes(votes, privacy)
    return [float(value * tally.step) for value in tally.net_wins]


@pytest.mark.parametrize(
    ("cell", "net"),
    [("1", 0.5), ("-1", -0.5), ("2", -0.5), ("0.5", 0), ("1.0", 0.5), (" A ", 0.5), ("tea", 0.5), ("coffee", -0.5),
     ("Draw", 0), ("", 0), (None, 0), ("  ", 0)],
)  # fmt: skip
def test_what_a_cell_says(cell: str | None, net: float) -> None:
    """Codes, words, names, and nothing."""
    votes = qr.read_votes(_table(person=["p"], tea__coffee=[cell]), DRINKS)
    assert _net(votes) == [net, -net, 0]


@pytest.mark.parametrize("kind", ["int8", "int64", "float64"])
@pytest.mark.few(1)
def test_numbers_are_codes_whatever_their_type(kind: str) -> None:
    import pyarrow as pa

    cells = pa.array([1, 2, None, -1], type=getattr(pa, kind)())
    votes = qr.read_votes(pa.table({"person": list("pqrs"), "tea:coffee": cells}), DRINKS)
    assert _net(votes) == [-0.5, 0.5, 0]
    assert qr.check(votes).votes == 3


@pytest.mark.parametrize("kind", ["string", "int8", "float64"])
@pytest.mark.few(1)
def test_a_zero_is_a_tie_in_one_coding_and_a_loss_in_another(kind: str) -> None:
    """So it is refused, and with an item of this name too, until it is declared; check says which codings fit."""
    import pyarrow as pa

    cells = pa.array([1, 0, 0], type=pa.int8()).cast(getattr(pa, kind)())
    table = pa.table({"person": list("pqr"), "tea:coffee": cells})
    with pytest.raises(VotesError, match=r"unknown answers: '0': 2 rows; say what each value means with outcomes"):
        tally_votes(qr.read_votes(table, DRINKS), PERSON)
    report = qr.check(qr.read_votes(table, DRINKS))
    assert (report.votes, report.flaws) == (1, {"unknown outcome": 2})
    (line,) = report.codings
    assert line == (
        "the outcomes 0, 1 fit --outcomes 1/-1/0 and --outcomes 1/0.5/0 and --outcomes 1/2/0 and --outcomes 1/0"
    )
    assert _net(qr.read_votes(table, DRINKS, outcomes="1/0")) == [-0.5, 0.5, 0]
    assert _net(qr.read_votes(table, DRINKS, outcomes="1/-1/0")) == [0.5, -0.5, 0]
    named = pa.table({"person": ["p"], "0:tea": ["0"]})
    assert qr.check(qr.read_votes(named, ["0", "tea"])).flaws == {"unknown outcome": 1}


def test_a_declared_map_takes_the_place_of_all_other_readings() -> None:
    """5 and 4 are unknown words, unless they are declared; 1 is then unknown."""
    table = _table(tea__coffee=["5", "4", "-", "X", ""])
    votes = qr.read_votes(table, DRINKS, outcomes={5: "a", 4: "b", "x": "tie", "-": "missing"})
    report = qr.check(votes)
    assert (report.votes, report.ties, report.not_answered, report.flaws) == (3, 1, 2, {})


def test_an_item_with_a_words_name_is_not_guessed() -> None:
    """Where the item `b` comes first, `b` may mean the item or the second one: such a cell is refused."""
    votes = qr.read_votes(_table(person=["p"], b__tea=["b"]), ["b", "tea"])
    with pytest.raises(VotesError, match=r"outcome cannot be read.*row 1: 'b' against 'tea', outcome 'b'"):
        tally_votes(votes, PERSON)
    assert _net(qr.read_votes(_table(person=["p"], tea__b=["b"]), ["b", "tea"])) == [0.5, -0.5]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("tea:milk", "'tea:milk' looks like a pair, but 'milk' is not a declared item; declare it"),
        ("rum vs gin", "'rum vs gin' looks like a pair, but 'rum' is not"),
        ("coffee:coffee", "compares 'coffee' with itself"),
    ],
)
def test_a_pair_that_is_not_declared_is_refused(column: str, message: str) -> None:
    """The message names the column, the item and the remedy."""
    import pyarrow as pa

    with pytest.raises(VotesError, match=message):
        qr.read_votes(pa.table({"person": ["p"], "tea:coffee": ["1"], column: ["1"]}), DRINKS)


def test_a_name_that_can_be_split_in_two_ways_is_refused() -> None:
    with pytest.raises(VotesError, match=r"'a_b_c' can be read as 'a' against 'b_c' or 'a_b' against 'c'; say which"):
        pairs_of(["a_b_c"], None, Items(("a", "b", "c", "b_c", "a_b")))


def test_columns_without_plain_separators_need_declared_items() -> None:
    """respondent_id is no pair, and tea_coffee may be none: names alone decide only where there is no doubt."""
    table = _table(tea_coffee=["1"], respondent_id=["p"])
    with pytest.raises(VotesError, match="do not say which column is which"):
        qr.read_votes(table, items_from_votes=True)
    with pytest.raises(VotesError, match=r"no column is named like a pair.*declare the items with items"):
        qr.read_votes(table, items_from_votes=True, shape="wide")
    assert qr.read_votes(table, ["tea", "coffee"]).shape.name == "wide"


def test_a_long_file_stays_long() -> None:
    """A column that looks like a pair, or like several, is no doubt where two columns are called winner and loser."""
    import pyarrow as pa

    table = pa.table({"winner": ["tea"], "loser": ["water"], "meta:language": ["de"], "a:b:c": ["x"], "1st": ["x"]})
    assert qr.read_votes(table, items_from_votes=True).shape.name == "long"
    assert qr.read_votes(table, DRINKS).shape.name == "long"
    both = table.select(["winner", "loser"]).append_column("tea:water", [["1"]])
    with pytest.raises(VotesError, match=r"more than one shape \(long, wide\); choose one with shape"):
        qr.read_votes(both, DRINKS)
    assert qr.read_votes(both, DRINKS, shape="wide").shape.name == "wide"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"pair_columns": "q_{a}"}, "must be a pattern with {a} and {b}"),
        ({"pair_columns": "nowhere.csv"}, "no CSV file that can be read"),
        ({"pair_columns": [("x", "tea", "coffee")]}, "lists 'x', but there is no such column"),
        ({"pair_columns": [("tea:coffee", "tea", "milk")]}, "'milk', which is not a declared item"),
        ({"pair_columns": [("tea:coffee", "tea", "coffee")] * 2}, "lists 'tea:coffee' twice"),
        ({"shape": "long", "pair_columns": "{a}:{b}"}, "pair_columns belongs to shape='wide'; leave it out"),
        ({"shape": "wide", "winner": "tea:coffee"}, "winner belongs to shape='long'; leave it out"),
        ({"shape": "narrow"}, "shape must be one of long, wide, rankings"),
        ({"pairs": [("tea", "water"), ("coffee", "water")]}, "about a pair that pairs does not list"),
        ({"header_rows": -1, "shape": "wide"}, None),
    ],
)
def test_what_cannot_be_read_is_refused(words: dict[str, Any], message: str | None) -> None:
    """Each with the remedy; the rows of a header are a matter of CSV files alone."""
    table = _table(person=["p"], tea__coffee=["1"])
    if message is None:
        qr.read_votes(table, DRINKS, **words)
        return
    with pytest.raises(VotesError) as refused:
        qr.read_votes(table, DRINKS, **words)
    assert message in str(refused.value)


def test_without_ids_each_row_is_a_person_and_the_release_says_so() -> None:
    votes = qr.read_votes(_table(tea__coffee=["1", "1"], tea__water=["2", "tie"]), DRINKS)
    assert _net(votes, Privacy(1, "person", max_per_person=1)) == [0.25, -0.5, 0.25]
    release = qr.rank(votes, PERSON)
    assert any("each row is taken to be one person" in note for note in release.assumptions)
    assert "each row is taken to be one person" in repr(qr.check(votes))
    single = qr.rank(votes, Privacy(1, "comparison"))
    assert not any("each row" in note for note in single.assumptions)
    named = qr.rank(qr.read_votes(_table(person=["p"], tea__coffee=["1"]), DRINKS), PERSON)
    assert not any("each row" in note for note in named.assumptions)


def test_a_saved_tally_keeps_the_note() -> None:
    from quietrank.publish.tally_file import from_dict, to_dict

    tally = qr.noisy_tally(qr.read_votes(_table(tea__coffee=["1", "1"]), DRINKS), PERSON)
    again = from_dict(to_dict(tally))
    assert isinstance(again, qr.NoisyTally)
    assert any("each row" in note for note in qr.rerank(again).assumptions)


def test_an_empty_cell_may_mean_not_asked_where_that_is_public() -> None:
    """Under `outcome` neighbours it is refused, also with skip_invalid; a complete table is not."""
    privacy = Privacy(1, "person", max_per_person=2, neighbours="outcome", design="public")
    for skip in (False, True):
        votes = qr.read_votes(_table(tea__coffee=["1", None]), DRINKS, skip_invalid=skip)
        with pytest.raises(VotesError, match=r"1 of the cells are empty.*not put to somebody.*use neighbours"):
            qr.rank(votes, privacy)
    qr.rank(qr.read_votes(_table(tea__coffee=["1", "2"]), DRINKS), privacy)


def test_unreadable_cells_are_refused_with_their_row() -> None:
    table = _table(person=["ana", "ben"], tea__coffee=["1", "9"], tea__water=["2", ""])
    with pytest.raises(
        VotesError, match=r"outcome cannot be read.*: 1 row \(such as row 2: 'tea' against 'coffee', outcome '9'"
    ):
        tally_votes(qr.read_votes(table, DRINKS), PERSON)
    kept = qr.read_votes(table, DRINKS, skip_invalid=True)
    assert _net(kept) == [0, -0.5, 0.5]


def test_a_row_without_a_person_is_one_flaw() -> None:
    """Counted by rows of the table, not by its cells."""
    table = _table(person=["ana", ""], tea__coffee=["1", "1"], tea__water=["2", "2"])
    assert qr.check(qr.read_votes(table, DRINKS), unit="person").flaws == {"missing person": 1}


def test_groups_are_those_of_the_row() -> None:
    table = _table(person=["ana", "ben"], land=["fr", "de"], tea__coffee=["1", "2"])
    votes = qr.read_votes(table, DRINKS, by="land", groups=["de", "fr"])
    releases = qr.rank_by_group(votes, PERSON)
    assert [group for group, _ in releases] == ["de", "fr"]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.few(1)
def test_other_engines_give_the_same_tally(engine: str) -> None:
    """Whether lists are unnested or every row stands beside every question."""
    import ibis
    import pyarrow as pa

    table = pa.table(
        {"person": ["ana", "ben", "ana"], "tea:coffee": ["1", "tie", None], "tea:water": ["2", "1", "equal"]}
    )
    theirs = getattr(ibis, engine).connect().create_table("votes", table)
    expected = tally_votes(qr.read_votes(table, DRINKS), PERSON)
    for privacy in (PERSON, Privacy(1, "person", one_per_pair=True, max_per_person=3), Privacy(1, "comparison")):
        expected = tally_votes(qr.read_votes(table, DRINKS), privacy)
        seen = tally_votes(qr.read_votes(theirs, DRINKS), privacy)
        assert (seen.wins == expected.wins).all()
        assert (seen.losses == expected.losses).all()


def test_check_shows_the_first_rows_as_understood() -> None:
    table = _table(person=["ana", "ben"], tea__coffee=["1", "tie"], tea__water=["", "2"])
    report = qr.check(qr.read_votes(table, DRINKS))
    assert report.shape == "wide"
    assert report.understood == (
        "row 1: ana preferred tea to coffee",
        "row 1: tea against water was not answered by ana",
        "row 2: ben found tea and coffee equal",
        "row 2: ben preferred water to tea",
    )
    lines = "\n".join(report.lines())
    for part in ("shape", "wide", "questions per row", "not answered", "row 1: ana preferred tea to coffee"):
        assert part in lines


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_list_of_columns_may_come_from_excel(between: str, tmp_path: Path) -> None:
    """With a byte-order mark, and semicolons where the decimal mark is a comma."""
    lines = [("column", "a", "b"), ("Q1", "tea", "coffee")]
    path = tmp_path / "pairs.csv"
    path.write_text("\r\n".join(map(between.join, lines)), encoding="utf-8-sig")
    assert _net(qr.read_votes(_table(person=["p"], Q1=["1"]), DRINKS, pair_columns=path)) == [0.5, -0.5, 0]
