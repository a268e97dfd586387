"""Long tables: every dialect is read to the tally of its plain form; missing answers and counts are what they say."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.crossing import public_votes
from quietrank.errors import PrivacyError, QuietrankError, VotesError
from quietrank.mechanisms.laplace import LAPLACE, l1_reach
from quietrank.promise.privacy import Privacy, Unit
from quietrank.promise.promise import EVERY_VOTE, Bounded, Promise
from quietrank.statistics.method import Method
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_TOTAL
from quietrank.votes import bound, tally
from quietrank.votes.added import added_up
from quietrank.votes.check import skipped
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.shapes.long import Long, recognise
from quietrank.votes.tallies import Tally
from quietrank.votes.tally import count_votes
from tests.effort import effort
from tests.steps import tally_pairs, tally_votes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "long"
ITEMS = ("coffee", "tea", "water")
EACH_VOTE = Privacy(1, "comparison")
UNIFORM = Privacy(1, "comparison", design="uniform")
PUBLIC = Privacy(1, "comparison", neighbours="outcome", design="public")
NOTHING = dict.fromkeys(("winner", "loser", "tie", "a", "b", "outcome", "person", "count", "wins_a", "wins_b"))

DIALECTS: dict[str, dict[str, Any]] = {
    "words": {},
    "arena": {},
    "items": {},
    "win-loss-draw": {},
    "one-minus-one": {"outcomes": "1/-1/0"},
    "one-half-zero": {"outcomes": "1/0.5/0"},
    "one-two-zero": {"outcomes": {1: "a", 2: "b", 0: "tie"}},
    "one-two-half": {},
    "own-words": {"outcomes": "links besser=a,rechts besser=b,gleich gut=tie"},
    "one-hot": {},
    "one-hot-bothbad": {},
    "counts": {"count": "n"},
    "outcome-counts": {"count": "votes"},
    "bradleyterry2": {},
    "wins": {"a": "first", "b": "second", "wins_a": "win.a", "wins_b": "win.b"},
    "preference": {},
    "crosses": {"outcomes": {"": "a"}},
    "missing": {"missing": ["n/a", "Don't know"]},
    "missing-winners": {"missing": "skipped"},
    "bothbad": {"bothbad": "drop"},
}


def _read(name: str, **options: Any) -> Votes:
    return read_votes(FIXTURES / f"{name}.csv", ITEMS, **options)


def _table(items: tuple[str, ...] = ("x", "y", "z"), /, *, options: Any = None, **columns: Any) -> Votes:
    return read_votes(pa.table(columns), items, **(options or {}))


def _sums(votes: Votes) -> tuple[list[int], list[int]]:
    tally = tally_votes(votes, EACH_VOTE)
    return tally.wins.tolist(), tally.losses.tolist()


def _pairs(votes: Votes) -> list[Any]:
    tally = tally_pairs(votes, EACH_VOTE)
    columns = (tally.i, tally.j, tally.wins_i, tally.wins_j)
    return [row for row in zip(*(column.tolist() for column in columns), strict=True) if row[2] or row[3]]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.few(3)
def test_every_dialect_is_read_to_the_tally_of_its_plain_form(name: str) -> None:
    """By item and by pair, with the list declared or taken from the file."""
    votes, plain = _read(name, **DIALECTS[name]), _read("plain")
    assert _sums(votes) == _sums(plain)
    assert _pairs(votes) == _pairs(plain)
    found = read_votes(FIXTURES / f"{name}.csv", items_from_votes=True, **DIALECTS[name])
    assert found.items.names == ITEMS


def test_every_fixture_is_read() -> None:
    """None is forgotten."""
    assert {path.stem for path in FIXTURES.iterdir()} == {"plain", *DIALECTS}


# ---- what values mean ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", ["0", "0.0", 0, 0.0])
@pytest.mark.few(2)
def test_a_zero_is_refused_until_its_coding_is_named(zero: object) -> None:
    """It is a tie in one coding and a loss in another; other rows never decide which."""
    columns = {"a": ["x", "x"], "b": ["y", "y"], "outcome": [type(zero)(1), zero]}  # type: ignore[call-arg]
    with pytest.raises(VotesError) as refused:
        tally_votes(_table(**columns), EACH_VOTE)
    assert "--outcomes 1/-1/0 (0 is a tie) or --outcomes 1/0.5/0 (0 is a win of b)" in refused.value.in_options()
    tied = tally_votes(_table(options={"outcomes": "1/-1/0"}, **columns), EACH_VOTE)
    lost = tally_votes(_table(options={"outcomes": "1=a,0=b"}, **columns), EACH_VOTE)
    assert tied.wins.tolist() == [3, 1, 0]
    assert lost.wins.tolist() == [2, 2, 0]


def test_check_says_which_codings_fit() -> None:
    """The data holder may look at the votes to choose one; nothing else does."""
    report = qr.check(_table(a=["x"] * 3, b=["y"] * 3, outcome=["0", "1", "2"]))
    assert report.codings == ("the outcomes 0, 1, 2 fit --outcomes 1/2/0",)
    assert "fit --outcomes 1/2/0" in repr(report)
    assert qr.check(_table(a=["x"], b=["y"], outcome=["maybe"])).codings == ()


@given(st.lists(st.sampled_from(["1", "-1", "2", "0.5", "win", "loss", "draw", "a", "tie"]), min_size=1, max_size=6))
@settings(max_examples=effort(4, 25), deadline=None)
def test_a_value_means_the_same_whatever_other_rows_say(outcomes: list[str]) -> None:
    """The tally of a file is the sum of the tallies of its rows."""
    whole = tally_votes(_table(a=["x"] * len(outcomes), b=["y"] * len(outcomes), outcome=outcomes), EACH_VOTE)
    each = [tally_votes(_table(a=["x"], b=["y"], outcome=[one]), EACH_VOTE).wins for one in outcomes]
    assert whole.wins.tolist() == sum(each).tolist()  # type: ignore[union-attr]


def test_items_called_like_codes_are_read_by_name() -> None:
    """The list of items is public: with an item called 1, numbers are names, as they were before there were codes."""
    votes = _table(("1", "2", "3"), a=["2", "3"], b=["1", "2"], outcome=["1", "3"])
    assert tally_votes(votes, EACH_VOTE).wins.tolist() == [2, 0, 2]
    with pytest.raises(VotesError, match="cannot be read"):
        tally_votes(_table(("1", "2", "3"), a=["3"], b=["2"], outcome=["1"]), EACH_VOTE)
    declared = _table(("1", "2"), a=["2"], b=["1"], outcome=["1"], options={"outcomes": {1: "a", 2: "b"}})
    assert tally_votes(declared, EACH_VOTE).wins.tolist() == [0, 2]


def test_a_declared_value_takes_precedence_and_other_numbers_are_not_guessed() -> None:
    """Words that were not declared keep their meaning."""
    options = {"outcomes": {"1": "b", "draw": "a"}}
    assert tally_votes(_table(a=["x"] * 3, b=["y"] * 3, outcome=["1", "draw", "tie"], options=options), EACH_VOTE).wins.tolist() == [3, 3, 0]  # fmt: skip  # noqa: E501
    with pytest.raises(VotesError, match="cannot be read"):
        tally_votes(_table(a=["x"], b=["y"], outcome=["2"], options=options), EACH_VOTE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcomes": "1:a"}, "must be values and their meanings"),
        ({"outcomes": 3}, "must be values and their meanings"),
        ({"outcomes": {}}, "has no value"),
        ({"outcomes": "1=x"}, "the meanings are a, b, tie, missing"),
        ({"outcomes": {"1": "a", "1.0": "b"}}, "two meanings"),
        ({"outcomes": "skip=tie", "missing": "skip"}, "give it one meaning"),
        ({"missing": []}, "has no word"),
        ({"missing": 3}, "must be a list of words"),
        ({"bothbad": "win"}, "bothbad must be one of tie, drop"),
    ],
)
def test_wrong_words_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuietrankError, match=message):
        _table(a=["x"], b=["y"], outcome=["a"], options=options)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (("winner", "loser"), {"outcomes": "1/0"}, "outcomes is about a column of outcomes"),
        (("winner", "loser", "tie"), {"outcomes": "1/2/0"}, "leave b out"),
        (("winner", "loser"), {"bothbad": "drop"}, "bothbad='drop' is about a column of outcomes"),
        (("a", "b", "win1", "win2"), {"missing": "x"}, "leave it out, and write 0"),
        (("a", "b", "win1", "win2"), {"wins_a": "win1"}, "together"),
        (("a", "b", "win1", "win2"), {"wins_a": "win1", "wins_b": "win2", "count": "a"}, "leave count out"),
        (("a", "b", "win1", "win2", "result"), {}, "more than one way"),
        (("model_a", "model_b", "winner", "winner_model_a", "winner_model_b"), {}, "more than one way"),
        (("model_a", "model_b", "winner_model_a"), {}, "do not say which"),
        (("prompt", "chosen", "rejected"), {}, "usually hold texts"),
        (("chosen", "rejected", "annotator"), {}, "usually hold texts"),
        (("timestamp", "datetime", "comment-id", "voter-id", "vote"), {}, "compare nothing with anything"),
        (("statement", "agree", "person"), {}, "compare nothing with anything"),
    ],
)
def test_tables_without_comparisons_and_words_without_answers_are_refused(
    columns: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    """By the names of columns alone: cells are never looked at."""
    with pytest.raises(VotesError, match=message):
        read_votes(pa.table({name: pa.array([], pa.string()) for name in columns}), ("x", "y"), **options)


def test_chosen_and_rejected_are_read_where_they_are_named() -> None:
    votes = _table(chosen=["x"], rejected=["y"], options={"winner": "chosen", "loser": "rejected"})
    assert tally_votes(votes, EACH_VOTE).wins.tolist() == [2, 0, 0]
    known = recognise(("prompt", "chosen", "rejected", "chosen_model", "rejected_model"), **NOTHING)
    assert known == Long("chosen_model", "rejected_model")


@pytest.mark.parametrize("flags", [("1", "1", "0"), ("0", "0", "0"), ("1", "", "0"), ("1", "maybe", "0")])
@pytest.mark.few(2)
def test_exactly_one_column_of_a_one_hot_answer_is_flagged(flags: tuple[str, ...]) -> None:
    names = ("winner_model_a", "winner_model_b", "winner_tie")
    columns = {name: [flag] for name, flag in zip(names, flags, strict=True)}
    with pytest.raises(VotesError, match=f"outcome '{', '.join(flags)}'"):
        tally_votes(_table(model_a=["x"], model_b=["y"], **columns), EACH_VOTE)


def test_both_bad_is_left_out_of_one_hot_answers() -> None:
    """As a tie in the plain form, and as nothing where it is dropped."""
    kept, dropped = _read("one-hot-bothbad"), _read("one-hot-bothbad", bothbad="drop")
    assert tally_votes(kept, EACH_VOTE).total == tally_votes(dropped, EACH_VOTE).total + 2


@pytest.mark.parametrize("word", ["1", "yes", "TRUE", "t", "tie", "tied", "draw", "x", "1.0"])
@pytest.mark.parametrize("other", ["0", "no", "False", "f", "n", "0.0"])
@pytest.mark.few(7)
def test_tie_flags_are_read_in_the_usual_words(word: str, other: str) -> None:
    votes = _table(winner=["x", "x"], loser=["y", "y"], tie=[word, other])
    assert tally_votes(votes, EACH_VOTE).wins.tolist() == [3, 1, 0]


def test_an_empty_flag_is_refused_until_it_is_said_what_it_means() -> None:
    """It may be no tie, or no answer: neither is guessed."""
    columns = {"winner": ["x", "x"], "loser": ["y", "y"], "tie": ["x", None]}
    with pytest.raises(VotesError, match="cannot be read"):
        tally_votes(_table(**columns), EACH_VOTE)
    assert tally_votes(_table(options={"outcomes": {"": "a"}}, **columns), EACH_VOTE).total == 4
    assert tally_votes(_table(options={"missing": [""]}, **columns), EACH_VOTE).total == 2


# ---- missing answers ------------------------------------------------------------------------------------------------


def test_what_may_be_left_out_is_known_without_the_votes() -> None:
    """A property of the request: the same for a file with missing answers, and one without."""
    for name, leaves_out in {"plain": False, "words": True, "one-hot": True, "counts": False, "bradleyterry2": False}.items():  # fmt: skip  # noqa: E501
        assert _read(name, **DIALECTS.get(name, {})).leaves_out is leaves_out
    assert _read("plain", missing="skipped").leaves_out
    assert _read("plain", outcomes={"0": "a", "1": "missing"}).leaves_out


def test_missing_answers_need_no_flag_and_have_their_own_line() -> None:
    report = qr.check(_read("missing", **DIALECTS["missing"]))
    assert (report.rows, report.votes, report.not_answered, report.flaws) == (9, 6, 3, {})
    assert any(line.split() == ["not", "answered", "3"] for line in report.lines())
    with pytest.raises(VotesError, match="2 rows"):
        tally_votes(_read("missing"), EACH_VOTE)


def test_without_missing_an_empty_winner_is_still_wrong() -> None:
    """What the answer is there cannot be told from what is wrong."""
    with pytest.raises(VotesError, match="cell is empty"):
        tally_votes(_read("missing-winners"), EACH_VOTE)


def test_the_public_number_of_votes_is_taken_before_anything_is_left_out() -> None:
    """Neighbours may differ in whether a vote has an answer: what is counted differs, what is public does not."""
    answered = _table(a=["x", "x"], b=["y", "y"], outcome=["a", "b"])
    missing = _table(a=["x", "x"], b=["y", "y"], outcome=["a", ""])
    promise = Promise(UNIFORM, answered.items, leaves_out=answered.leaves_out)
    one, other = (count_votes(votes, promise.bounded(None)) for votes in (answered, missing))
    assert [added_up(tallies).by_item.total for tallies in (one, other)] == [4, 2]
    assert one.rows == other.rows == 2
    assert public_votes(one, promise) is public_votes(other, promise) is None
    assert not promise.total_is_public
    assert promise.votes_are_public


def test_where_rows_may_be_left_out_the_total_is_noisy() -> None:
    """(s, T) instead of s alone: decided by the layout, also where every vote has an answer; at no further noise."""
    plain = qr.noisy_tally(_read("plain"), UNIFORM, mechanism="laplace")
    words = qr.noisy_tally(_read("words"), UNIFORM, mechanism="laplace")
    assert (plain.statistic, words.statistic) == (NET_WINS, NET_WINS_AND_TOTAL)
    assert (plain.public_total, words.public_total) == (6, None)
    promise = Promise(UNIFORM, _read("words").items, leaves_out=True)
    alone, both = (LAPLACE.calibrate(promise, statistic) for statistic in (NET_WINS, NET_WINS_AND_TOTAL))
    assert l1_reach(promise, NET_WINS) == l1_reach(promise, NET_WINS_AND_TOTAL) == 2
    assert alone.law.spread.net_wins == pytest.approx(both.law.spread.net_wins)


@pytest.mark.parametrize("method", ["net-wins", "win-rate", "bradley-terry"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.few(2)
def test_a_noisy_total_is_saved_and_read_back(method: Any, delta: float, tmp_path: Path) -> None:
    """Alone and by group, where the total over all groups is the sum of noisy ones."""
    privacy = Privacy(1000, "comparison", design="uniform", delta=delta)
    tally = qr.noisy_tally(_read("missing", **DIALECTS["missing"]), privacy, method=method)
    tally.to_json(tmp_path / "t.json")
    again = qr.NoisyTally.from_json(tmp_path / "t.json")
    assert again.total == tally.total
    assert qr.rerank(again, method=method).method == method
    by = {"by": "item_a", "groups": list(ITEMS)}
    split = qr.rank_by_group(_read("missing", **DIALECTS["missing"], **by), privacy, method=method, overall=True)
    assert split.groups == ("overall", *ITEMS)


def test_under_a_public_design_a_missing_answer_is_a_tie() -> None:
    """The pair was asked, and that is public."""
    missing = tally_votes(_read("missing", **DIALECTS["missing"]), PUBLIC)
    assert missing.total == 2 * 9
    assert missing.rows == 9
    tied = _table(ITEMS, a=["tea"], b=["water"], outcome=["tie"])
    one = _table(ITEMS, a=["tea"], b=["water"], outcome=[""])
    assert tally_votes(one, PUBLIC).wins.tolist() == tally_votes(tied, PUBLIC).wins.tolist()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [("bothbad", {"bothbad": "drop"}, "bothbad='drop'"), ("missing-winners", {"missing": "skipped"}, "missing beside")],
)
def test_what_would_change_a_public_design_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    """Whether or not the file has such rows."""
    for file in (name, {"bothbad": "arena", "missing-winners": "plain"}[name]):
        with pytest.raises(PrivacyError, match=message):
            qr.rank(_read(file, **options), PUBLIC)
        assert len(qr.rank(_read(file, **options), EACH_VOTE)) == 3


@given(st.lists(st.sampled_from(["a", "b", "tie", "", "skip"]), min_size=1, max_size=8))
@settings(max_examples=effort(4, 25), deadline=None)
def test_rows_without_an_answer_change_no_weight(outcomes: list[str]) -> None:
    """A person's votes are bounded as if rows without an answer were not there."""
    privacy, said = Privacy(1, "person", max_per_person=2), [one for one in outcomes if one not in ("", "skip")]

    def counted(answers: list[str]) -> Tally:
        columns = {name: pa.array([cell] * len(answers), pa.string()) for name, cell in zip("abp", "xyp", strict=True)}
        table = pa.table(columns | {"outcome": pa.array(answers, pa.string())})
        return tally_votes(read_votes(table, ("x", "y"), person="p", missing="skip"), privacy)

    assert counted(outcomes).wins.tolist() == counted(said).wins.tolist()


def test_skipped_rows_are_those_that_are_wrong() -> None:
    """A missing answer is not one of them."""
    votes = _table(a=["x", "x", "q"], b=["y", "y", "y"], outcome=["", "?", "a"], options={"skip_invalid": True})
    assert skipped(votes, people=False) == {"undeclared item": 1, "unknown outcome": 1}


# ---- counts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [-1, 1.5, "", None, "many", 2**40 + 1, "1e3", "99999999999999999999"])
@pytest.mark.few(2)
def test_a_count_that_is_not_a_whole_number_is_refused_and_never_skipped(count: object) -> None:
    """How many votes there are may be public; a row of unknown size must not vanish from it."""
    columns = {"winner": ["x", "x"], "loser": ["y", "w"], "n": pa.array([str(count or ""), str(count or "")])}
    for skip in (False, True):
        with pytest.raises(VotesError, match=r"not a whole number from 0 to 2\^40: 2 rows.*never dropped"):
            tally_votes(_table(options={"count": "n", "skip_invalid": skip}, **columns), EACH_VOTE)


def test_each_row_that_is_wrong_is_said_once() -> None:
    """Although it is read as a count of each outcome."""
    votes = _table(player1=["x", "x"], player2=["y", "q"], win1=["1", "2"], win2=["1", "2"], ties=["0", "3"])
    with pytest.raises(VotesError, match=r"1 row \(such as row 2: 'x' against 'q', outcome '2, 2, 3' \([^)]*\)\);"):
        tally_votes(votes, EACH_VOTE)
    broken = _table(player1=["x", "x"], player2=["y", "y"], win1=["1", "2"], win2=["1", "-2"])
    with pytest.raises(VotesError, match=r"2\^40: 1 row \("):
        tally_votes(broken, EACH_VOTE)


def test_sums_of_counts_cannot_overflow() -> None:
    """The largest counts fit, also on the lattice of the noise; more than 2^40 in all are refused before anything is
    added up."""
    largest = _table(winner=["x"] * 2, loser=["y"] * 2, n=[2**39] * 2, options={"count": "n"})
    assert tally_votes(largest, EACH_VOTE).wins.tolist() == [2**41, 0, 0]
    beyond = _table(winner=["x"] * 8193, loser=["y"] * 8193, n=[2**40] * 8193, options={"count": "n"})
    with pytest.raises(VotesError, match=r"more than 2\^40 votes"):
        tally_votes(beyond, EACH_VOTE)


COUNTED = st.tuples(st.sampled_from(["xy", "yz", "zx"]), st.sampled_from(["a", "b", "tie", ""]), st.integers(0, 4))


@given(st.lists(COUNTED, min_size=1, max_size=6), st.sampled_from([EACH_VOTE, UNIFORM, PUBLIC]))
@settings(max_examples=effort(5, 25), deadline=None)
def test_a_row_that_stands_for_several_votes_is_that_many_rows(
    rows: list[tuple[str, str, int]], privacy: Privacy
) -> None:
    """The same sums, and the same public number of votes, as the file with one row per vote."""
    once = [(pair, outcome) for pair, outcome, number in rows for _ in range(number)] or [("xy", "a")]
    rows = rows if any(number for _, _, number in rows) else [("xy", "a", 1)]
    short = pa.table(
        {"a": [r[0][0] for r in rows], "b": [r[0][1] for r in rows], "outcome": [r[1] for r in rows], "n": [r[2] for r in rows]}  # noqa: E501
    )  # fmt: skip
    long = pa.table({"a": [r[0][0] for r in once], "b": [r[0][1] for r in once], "outcome": [r[1] for r in once]})
    counted = tally_votes(read_votes(short, ("x", "y"), count="n", skip_invalid=True), privacy)
    plain = tally_votes(read_votes(long, ("x", "y"), skip_invalid=True), privacy)
    assert (counted.wins.tolist(), counted.losses.tolist()) == (plain.wins.tolist(), plain.losses.tolist())
    assert counted.rows == plain.rows == len(once)


def test_the_number_of_votes_is_that_of_counts() -> None:
    """For the public number of votes, for each group, and for what check says."""
    votes = _read("counts", count="n")
    assert tally_votes(votes, EACH_VOTE).rows == 6
    report = qr.check(votes)
    assert (report.rows, report.votes, report.ties) == (6, 6, 1)
    two = _read("bradleyterry2")
    report = qr.check(two)
    assert (report.rows, report.votes, report.ties) == (3, 6, 1)
    grouped = count_votes(_read("counts", count="n", by="tie", groups=["no", "yes"]), EVERY_VOTE)
    assert [tally.rows for tally in grouped] == [5, 1]
    assert grouped.rows == 6


PEOPLE = [Privacy(1, "person", max_per_person=2), Privacy(1, "comparison", neighbours="add-remove", max_per_person=2)]


@pytest.mark.parametrize("privacy", PEOPLE)
@pytest.mark.parametrize("name", ["counts", "bradleyterry2"])
def test_counts_are_refused_for_people(name: str, privacy: Privacy) -> None:
    """Also where a column names them: a row of several votes may be of several people."""
    votes = replace(_read(name, **DIALECTS[name]), skip_invalid=True)
    for refused in (lambda: qr.rank(votes, privacy), lambda: tally_votes(votes, privacy)):
        with pytest.raises(VotesError, match="not known whose they are; use unit='comparison'"):
            refused()
    with pytest.raises(VotesError, match="not known whose"):
        qr.check(votes, unit="person")


def test_counts_multiplied_after_bounding_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a person's rows are bounded as votes, and then count as often as they say."""
    honest = bound.weigh

    def multiplied(rows: Any, bounded: Bounded, people: Any) -> Any:
        weighed = honest(rows.drop("count"), bounded) if "count" in rows.columns else honest(rows, bounded)
        if "count" not in rows.columns:
            return weighed
        return rows.mutate(weight=rows["count"] * (2**20 if bounded.unit is Unit.PERSON else 1))

    votes = _table(winner=["x", "x"], loser=["y", "z"], n=[50, 50], who=["p", "p"], options={"count": "n", "person": "who"})  # fmt: skip  # noqa: E501
    monkeypatch.setattr(Votes, "require_uncounted", lambda self: None)
    with pytest.raises(AssertionError, match="people cannot be bounded"):
        tally_votes(votes, PEOPLE[0])
    monkeypatch.setattr(tally, "weigh", multiplied)
    broken = tally_votes(votes, PEOPLE[0])
    most = Promise(PEOPLE[0], votes.items).limits.weight
    assert broken.total * broken.step > most  # one person weighs more than was promised: 100 instead of 2


def test_a_fit_of_counts_is_that_of_votes_and_is_not_clustered() -> None:
    columns = {"winner": ["x", "y"], "loser": ["y", "x"], "n": [30, 10], "person": ["p", "q"]}
    counted = _table(("x", "y"), options={"count": "n"}, **columns)
    plain = _table(("x", "y"), winner=["x"] * 30 + ["y"] * 10, loser=["y"] * 30 + ["x"] * 10)
    one, other = qr.fit(counted), qr.fit(plain)
    assert [row["score"] for row in one.rows()] == [row["score"] for row in other.rows()]
    assert any("stand for several votes" in note for note in one.notes)
    with pytest.raises(QuietrankError, match="stand for several votes"):
        qr.fit(counted, cluster=True)


def test_counts_are_read_in_other_engines(tmp_path: Path) -> None:
    """The table is mentioned once there as well."""
    import ibis

    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        connection.execute("CREATE TABLE votes (a TEXT, b TEXT, win1 TEXT, win2 INTEGER, ties INTEGER)")
        connection.execute("INSERT INTO votes VALUES ('x', 'y', ' 3.0', 1, 2), ('y', 'z', '4', 0, 0)")
    connection.close()
    votes = read_votes(ibis.sqlite.connect(tmp_path / "v.sqlite").table("votes"), ("x", "y", "z"))
    tally = tally_votes(votes, EACH_VOTE)
    assert tally.wins.tolist() == [8, 12, 0]
    assert tally.rows == 10


@pytest.mark.parametrize("name", ["counts", "bradleyterry2", "missing"])
@pytest.mark.few(2)
def test_a_release_is_made_of_every_layout(name: str) -> None:
    """To the end, with little noise: tea is ahead of water."""
    votes = _read(name, **DIALECTS[name])
    for privacy in (Privacy(1000, "comparison"), Privacy(1000, "comparison", design="uniform"), PUBLIC.changed(epsilon=1000)):  # fmt: skip  # noqa: E501
        release = qr.rank(votes, privacy, method=Method.WIN_RATE)
        order = [row.item for row in release]
        assert order.index("tea") < order.index("water")
    assert Fraction(tally_votes(votes, EACH_VOTE).step) == Fraction(1, 2)
