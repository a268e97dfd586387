"""A condition on rows: what it may say, that it leaves out exactly the rows that do not meet it, and that nothing which
is public depends on how many those are."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import quietrank as qr
from quietrank.crossing import exact_values
from quietrank.errors import VotesError
from quietrank.mechanisms.choose import choose
from quietrank.pipeline import Request, make_tally
from quietrank.promise.privacy import Neighbours, Privacy, Unit
from quietrank.promise.promise import EVERY_VOTE, Promise
from quietrank.publish import tally_file
from quietrank.render.meaning import unprotected
from quietrank.statistics.method import Method
from quietrank.votes import check
from quietrank.votes.files import open_arrow
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tally import count_votes
from quietrank.votes.where import PASSES, parse_where
from tests.cli.running import VOTE, Run
from tests.effort import effort
from tests.helpers import privacy_id, silence

ITEMS = ["x", "y", "z"]
DAY = dt.date(2026, 1, 31)
ROWS: list[dict[str, Any]] = [
    {"person": "ana", "winner": "x", "loser": "y", "n": 1, "f": 0.5, "flag": True, "day": DAY, "t": "De"},
    {"person": "ana", "winner": "y", "loser": "z", "n": 2, "f": None, "flag": False, "day": None, "t": " fr "},
    {"person": "ben", "winner": "x", "loser": "z", "n": 3, "f": -2.0, "flag": None, "day": DAY, "t": "100%"},
    {"person": "eve", "winner": "z", "loser": "x", "n": None, "f": 4.0, "flag": True, "day": DAY, "t": None},
]


def table(rows: list[dict[str, Any]] = ROWS) -> pa.Table:
    return pa.Table.from_pylist(rows)


# ---- what it may say -------------------------------------------------------------------------------------------------

MEANINGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "t = 'De'": lambda r: r["t"] == "De",
    "T = 'De' and N = 1": lambda r: r["t"] == "De" and r["n"] == 1,
    "\"t\" <> 'De'": lambda r: r["t"] is not None and r["t"] != "De",
    "n > 1": lambda r: r["n"] is not None and r["n"] > 1,
    "n >= 2 or flag": lambda r: (r["n"] or 0) >= 2 or r["flag"],
    "not flag": lambda r: r["flag"] is False,
    "flag = true": lambda r: r["flag"],
    "n in (1, 3)": lambda r: r["n"] in (1, 3),
    "t not in ('De', 'x')": lambda r: r["t"] not in (None, "De"),
    "n between 2 and 3": lambda r: r["n"] in (2, 3),
    "n not between 2 and 3": lambda r: r["n"] == 1,
    "t like 'D%'": lambda r: (r["t"] or "").startswith("D"),
    "t not like 'D%'": lambda r: r["t"] is not None and not r["t"].startswith("D"),
    "t ilike 'd_'": lambda r: r["t"] == "De",
    "t not ilike 'd_'": lambda r: r["t"] not in (None, "De"),
    "f is null": lambda r: r["f"] is None,
    "f is not null": lambda r: r["f"] is not None,
    "f < -1.5": lambda r: (r["f"] or 0) < -1.5,
    "n * 2 + f / 2 - 1 > 1": lambda r: None not in (r["n"], r["f"]) and r["n"] * 2 + r["f"] / 2 - 1 > 1,
    "-n = -2": lambda r: r["n"] == 2,
    "lower(t) = 'de' or upper(t) = 'DE'": lambda r: r["t"] == "De",
    "trim(t) = 'fr'": lambda r: r["t"] == " fr ",
    "length(t) = 4": lambda r: len(r["t"] or "") == 4,
    "day = '2026-01-31'": lambda r: r["day"] == DAY,
    "day > date '2026-01-30'": lambda r: r["day"] == DAY,
    "cast(n as text) = '2'": lambda r: r["n"] == 2,
    "n::varchar = '2'": lambda r: r["n"] == 2,
    "cast('2026-01-31' as date) = day": lambda r: r["day"] == DAY,
    "(n = 1 or n = 2) and not (n = 2)": lambda r: r["n"] == 1,
    "winner = 'x' -- and a comment": lambda r: r["winner"] == "x",
    "1 = 1": lambda r: True,
    "false": lambda r: False,
}


def _engines() -> dict[str, Callable[[], Any]]:
    import ibis

    def sqlite() -> Any:
        plain = [{name: v for name, v in row.items() if name not in ("day", "flag")} for row in ROWS]
        return ibis.sqlite.connect().create_table("v", pa.Table.from_pylist(plain))

    return {"arrow": _opened, "duckdb": lambda: ibis.duckdb.connect().create_table("v", table()), "sqlite": sqlite}


@pytest.mark.parametrize("engine", ["arrow", "duckdb", "sqlite"])
def test_a_condition_means_what_it_says(engine: str) -> None:
    """On quietrank's own engine and on others, each row by itself; what is unknown does not pass."""
    source = _engines()[engine]()
    for condition, meets in MEANINGS.items():
        if engine == "sqlite" and ("day" in condition or "flag" in condition):
            continue
        marked = parse_where(condition, source.columns).marked(source)
        passing = marked.filter(marked[PASSES]).select("person", "winner").to_pyarrow().to_pylist()
        expected = [{"person": row["person"], "winner": row["winner"]} for row in ROWS if meets(row)]
        assert sorted(map(repr, passing)) == sorted(map(repr, expected)), condition


def test_the_condition_is_recorded_as_it_was_understood() -> None:
    where = parse_where("T='De'   and -- secret thoughts\n day>='2026-01-01'", ["t", "day", "winner"])
    assert where.text == "T = 'De' AND day >= '2026-01-01'"
    assert where.columns == ("t", "day")


NEVER = [
    "n in (select 1)", "exists (select 1)", "(select true)", "count(*) > 0", "sum(n) > 0", "max(n) = n",
    "row_number() over () > 1", "sum(n) over () > 1", "lag(n) over () = 1", "random() < 0.5", "uuid() = t",
    "now() > '2026-01-01'", "current_timestamp is not null", "current_date = day", "today() = day",
    "getenv('HOME') = t",
    "read_text('/etc/passwd') = t", "nextval('s') = 1", "t similar to 'x'", "t ~ 'x'", "regexp_matches(t, 'x')",
    "case when flag then true else false end", "coalesce(flag, true)", "if(flag, true, false)",
    "try_cast(t as int) = 1",
    "t || 'x' = 'y'", "n % 2 = 0", "n // 2 = 1", "n ** 2 = 4", "n & 1 = 1", "t[1] = 'D'", "t->'x' = 1", "[1, 2] = n",
    "{'a': 1} = n", "n = any([1, 2])", "n is distinct from 1", "t like 'x' escape '!'", "trim(both 'x' from t) = 'y'",
    "trim(t, 'x') = 'y'", "cast(t as json) = 1", "cast(n as decimal(5, 2)) = 1", "cast(n as int[]) = 1", "n = ?",
    "n = $1", "n = :x", "rowid = 1", "votes.n = 1", "main.votes.n = 1", "*", "columns('n') > 1",
    "t collate nocase = 'x'",
    "day + interval 1 day > '2026-01-01'", "extract(year from day) = 2026", "n = 1, n = 2", "lower(n) = 'x'",
    "length(t, 1) = 1", "n between symmetric 2 and 1", "unnest([true])", "n = null", "n in (null)", "n in ()",
    "(n, f) = (1, 2)", "n = 1 limit 1", "n = 1 union select 1", "n = 1)", "exists(n)", "n = all (select 1)",
    "flag is true", "t = 'a' 'b'", "n = 0x1G", "t glob 'x'", "hash(t) = 1", "md5(t) = 'x'", "error('x')",
]  # fmt: skip


@cache
def _opened() -> Any:
    return open_arrow(table(), "votes").table


@pytest.mark.parametrize("condition", NEVER)
def test_everything_else_is_refused(condition: str) -> None:
    """Whatever looks at other rows, at the time, at chance or at the machine; whatever is not known to be harmless."""
    opened = _opened()
    with pytest.raises(VotesError, match="where: "):
        parse_where(condition, opened.columns).marked(opened)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("f > '2026-09-15'", "f is a number and '2026-09-15' a text.*; compare with a number, .* seconds since 1970"),
        ("f > CAST('2026-09-15' AS DOUBLE)", "'2026-09-15' is no number; compare with a number"),
        (
            "CAST(f AS TIMESTAMP) > '2026-09-15'",
            "f is a number, which is no timestamp; .* seconds since 1970",
        ),
        ("CAST(n AS DATE) > '2026-09-15'", "n is a number, which is no date"),
        ("f > '5'", r"write CAST\('5' AS DOUBLE\)"),
    ],
)
def test_a_moment_beside_a_number_names_the_condition_and_what_to_write(condition: str, reason: str) -> None:
    opened = _opened()
    with pytest.raises(VotesError, match=f"where: .*{reason}"):
        parse_where(condition, opened.columns).marked(opened)


def test_cells_of_a_csv_file_are_text(tmp_path: Path) -> None:
    """Numbers are compared after an explicit cast; a cell that is no number is an error, and no result."""
    (tmp_path / "v.csv").write_text("winner,loser,n\nx,y,9\nx,y,10\ny,x,\n")
    with pytest.raises(VotesError, match=r"n is a text and 5 a number.*; write CAST\(n AS DOUBLE\)"):
        read_votes(tmp_path / "v.csv", ["x", "y"], where="n > 5")
    votes = read_votes(tmp_path / "v.csv", ["x", "y"], where="cast(n as double) > 9")
    assert count_votes(votes, EVERY_VOTE).by_group[0][1].by_item.total == 2
    (tmp_path / "v.csv").write_text("winner,loser,n\nx,y,9\nx,y,many\n")
    votes = read_votes(tmp_path / "v.csv", ["x", "y"], where="cast(n as double) > 5")
    with pytest.raises(VotesError, match="many"):
        qr.rank(votes, Privacy(1, "comparison"))


def test_sqlite_casts_are_refused() -> None:
    """There 'many' is 0, without a word."""
    with pytest.raises(VotesError, match="SQLite turns text"):
        read_votes(_engines()["sqlite"](), ITEMS, where="cast(t as double) = 0")


# ---- which rows it leaves out ----------------------------------------------------------------------------------------

CELLS = st.fixed_dictionaries(
    {
        "person": st.sampled_from(["ana", "ben", "eve"]),
        "winner": st.sampled_from(ITEMS),
        "loser": st.sampled_from(ITEMS),
        "t": st.sampled_from(["de", "fr", None, ""]),
        "n": st.one_of(st.none(), st.integers(-3, 3)),
    }
).filter(lambda row: row["winner"] != row["loser"])
SCHEMA = pa.schema([("person", "string"), ("winner", "string"), ("loser", "string"), ("t", "string"), ("n", "int64")])
CONDITIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "t = 'de' and n >= 0": lambda r: r["t"] == "de" and r["n"] is not None and r["n"] >= 0,
    "n in (1, -2) or t is null": lambda r: r["n"] in (1, -2) or r["t"] is None,
    "not (winner = 'x')": lambda r: r["winner"] != "x",
    "person <> 'ana' and loser between 'x' and 'y'": lambda r: r["person"] != "ana" and r["loser"] in ("x", "y"),
}
BOUNDS = [
    Privacy(1, "comparison"),
    Privacy(1, "person", max_per_person=2),
    Privacy(1, "person", one_per_pair=True),
    Privacy(1, "person", delta=1e-6, max_per_person=2, clip=0.75),
]


@given(st.lists(CELLS, min_size=1, max_size=25), st.sampled_from(sorted(CONDITIONS)), st.sampled_from(BOUNDS))
@settings(max_examples=effort(5, 25), deadline=None)
def test_filtering_and_counting_is_counting_what_was_filtered(
    rows: list[dict[str, Any]], condition: str, privacy: Privacy
) -> None:
    """The exact tally is that of the rows that meet the condition; the numbers before it are those of all rows."""
    promise = Promise(privacy, qr.read_votes(pa.Table.from_pylist(rows, SCHEMA), ITEMS).items)
    bounded = promise.bounded(choose(promise, Method.NET_WINS, None).noise.clip)

    def count(some: list[dict[str, Any]], **options: Any) -> Any:
        votes = read_votes(pa.Table.from_pylist(some, SCHEMA), ITEMS, **options)
        return count_votes(votes, bounded, by_pair=True, may_be_empty=True)

    filtered, meets = count(rows, where=condition), CONDITIONS[condition]
    by_hand = count([row for row in rows if meets(row)])
    (one,), (other,) = filtered, by_hand
    for name in ("i", "j", "wins_i", "wins_j"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert filtered.rows == len(rows)
    if privacy.unit is Unit.PERSON:
        assert filtered.people == len({row["person"] for row in rows})


def test_a_row_that_is_left_out_cannot_be_wrong() -> None:
    """A bad outcome, an unknown item, an unknown group: nobody minds; the same in a row that passes is an error that
    shows the row."""
    rows = [
        {"person": "ana", "a": "x", "b": "y", "outcome": "a", "lang": "de", "land": "n"},
        {"person": "cho", "a": "x", "b": "x", "outcome": "maybe", "lang": "fr", "land": "s"},
        {"person": "ben", "a": "w", "b": None, "outcome": None, "lang": None, "land": None},
    ]
    options: dict[str, Any] = {"by": "land", "groups": ["n"], "outcome": "outcome", "a": "a", "b": "b"}
    votes = read_votes(pa.Table.from_pylist(rows), ITEMS, where="lang = 'de'", **options)
    report = qr.check(votes, unit="person")
    assert (report.rows, report.votes, report.filtered, report.flaws) == (3, 1, 2, {})
    assert "left out by --where                    2" in repr(report)
    qr.rank_by_group(votes, Privacy(1, "person", max_per_person=1))
    bad = read_votes(pa.Table.from_pylist(rows), ITEMS, where="lang = 'fr'", **options)
    with pytest.raises(VotesError, match=r"such as row 2: 'x' against 'x'[^;]*; fix them|row 2"):
        qr.rank_by_group(bad, Privacy(1, "person", max_per_person=1))


def test_items_come_from_all_rows() -> None:
    """Being on the list is public, and does not depend on the condition."""
    assert read_votes(table(), items_from_votes=True, where="person = 'ana'").items.names == ("x", "y", "z")


def test_a_person_in_several_groups_is_judged_by_rows_that_count() -> None:
    rows = [("a", "n", 1), ("a", "s", 2), ("b", "n", 1)]
    cells = [{"person": p, "winner": "x", "loser": "y", "land": g, "k": k} for p, g, k in rows]
    votes = pa.Table.from_pylist(cells)
    options: dict[str, Any] = {"by": "land", "groups": ["n", "s"], "by_person": True}
    count = check.report(read_votes(votes, ITEMS, where="k = 1", **options), people=True)
    assert (count.votes, count.flaws) == (2, {})
    with pytest.raises(VotesError, match=r"person 'a', group '[ns]'"):
        qr.rank_by_group(read_votes(votes, ITEMS, where="k < 3", **options), Privacy(1, "person", max_per_person=1))


# ---- what is public --------------------------------------------------------------------------------------------------


def _public(votes: Votes, privacy: Privacy, method: str = "auto") -> dict[str, Any]:
    """All that is public about a tally, but for the noisy values themselves."""
    saved = qr.noisy_tally(votes, privacy, method=method, sampling_share=0)  # type: ignore[arg-type]
    public = tally_file.to_dict(saved)
    return {name: value for name, value in public.items() if name != "values"}


def _neighbours(privacy: Privacy) -> list[pa.Table]:
    """The same votes, but for one unit, which meets the condition or does not."""
    rows = [{"person": str(k), "winner": "x", "loser": "y", "t": "de"} for k in range(5)]
    last = [{"person": "9", "winner": "z", "loser": "y", "t": word} for word in ("de", "fr")]
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        return [pa.Table.from_pylist([*rows, *more]) for more in ([], last[:1], last[1:])]
    return [pa.Table.from_pylist([*rows, one]) for one in last]


PROMISES = [
    Privacy(1, "comparison"),
    Privacy(1, "comparison", design="uniform"),
    Privacy(1, "comparison", neighbours="add-remove"),
    Privacy(1, "person", max_per_person=2),
    Privacy(1, "person", max_per_person=2, design="uniform"),
    Privacy(1, "person", max_per_person=2, neighbours="add-remove"),
    Privacy(1, "person", one_per_pair=True),
]


def _same_in_public(privacy: Privacy, method: str) -> bool:
    public = [_public(read_votes(v, ITEMS, where="t = 'de'"), privacy, method) for v in _neighbours(privacy)]
    return all(one == public[0] for one in public)


@pytest.mark.parametrize("privacy", PROMISES, ids=privacy_id)
@pytest.mark.few(2)
def test_nothing_public_depends_on_who_meets_the_condition(privacy: Privacy) -> None:
    """Neighbours have the same public figures: what is counted is before the condition, and what remains is noisy."""
    for method in ("auto", "net-wins", "bradley-terry"):
        assert _same_in_public(privacy, method)
    saved = qr.noisy_tally(read_votes(_neighbours(privacy)[0], ITEMS, where="t = 'de'"), privacy)
    assert saved.public_total is None


def _count_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the number of votes that meet the condition were public."""

    def after(votes: Votes, bounded: Any, rows: Any, counted: Any) -> int:
        return int(rows.filter(rows.use).count().to_pyarrow().as_py())

    monkeypatch.setattr(check, "require_usable", after)
    monkeypatch.setattr(Promise, "total_is_public", Promise.votes_are_public)


def _people_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the number of people with such votes were public."""
    from quietrank.votes import tally

    honest = tally._number_of
    monkeypatch.setattr(tally, "_number_of", lambda people: honest(people.filter(people.votes > 0)))


@pytest.mark.parametrize(("plant", "privacy"), [(_count_after, PROMISES[0]), (_people_after, PROMISES[3])])
def test_a_public_count_after_the_condition_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], privacy: Privacy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above can fail."""
    assert _same_in_public(privacy, "auto")
    plant(monkeypatch)
    assert not _same_in_public(privacy, "auto")


@pytest.mark.parametrize("privacy", [p for p in PROMISES if p.unit is Unit.COMPARISON], ids=privacy_id)
@pytest.mark.parametrize("method", ["net-wins", "wins", "win-rate", "bradley-terry"])
@pytest.mark.few(4)
def test_a_vote_that_does_not_count_moves_nothing_further(privacy: Privacy, method: str) -> None:
    """Every vote on three items, and one that is left out: the statistic of neighbours differs by what its noise was
    calibrated for, at most; exhaustive."""
    items = read_votes(table(), ITEMS).items
    promise = Promise(privacy, items, leaves_out=True)
    noise = choose(promise, Method(method), None).noise
    assert noise.mechanism.name == "laplace"
    votes = [(a, b, o, "de") for a, b in itertools.combinations(ITEMS, 2) for o in ("a", "b", "tie")]
    votes.append(("x", "y", "a", "fr"))
    columns = dict(zip(("a", "b", "outcome", "t"), map(list, zip(*votes, strict=True)), strict=True))
    each = [str(k) for k in range(len(votes))]  # every vote in a group of its own, to be counted by itself
    read = read_votes(pa.table({**columns, "k": each}), ITEMS, where="t = 'de'", by="k", groups=each)
    tallies = count_votes(read, promise.bounded(noise.clip), by_pair=noise.statistic.by_pair)
    vectors = [np.asarray(exact_values(tally, noise), dtype=np.float64) for tally in tallies]
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        furthest = max(np.abs(one).sum() for one in vectors)
    else:
        furthest = max(np.abs(one - other).sum() for one in vectors for other in vectors)
    assert furthest * float(noise.step) == pytest.approx(float(dict(noise.figures)["sensitivity"]), rel=1e-9)


OUTCOME = {"neighbours": "outcome", "design": "public"}


def test_under_outcome_a_condition_sees_the_design_only() -> None:
    """Never a column of answers: of winner and loser both tell it."""
    answers = pa.table({"a": ["x"], "b": ["y"], "outcome": ["a"], "lang": ["de"], "result": ["a"], "person": ["p"]})
    comparison, person = Privacy(1, "comparison", **OUTCOME), Privacy(1, "person", max_per_person=1, **OUTCOME)  # type: ignore[arg-type]
    for condition in ("outcome = 'a'", "lang = 'de' and not outcome = 'b'", "result = 'a'"):
        votes = read_votes(answers, ITEMS, outcome="outcome", a="a", b="b", where=condition)
        for privacy in (comparison, person):
            with pytest.raises(VotesError, match="which tells the answer"):
                qr.rank(votes, privacy)
        qr.rank(votes, Privacy(1, "comparison"))
    for condition in ("winner = 'x'", "loser = 'y'"):
        with pytest.raises(VotesError, match="which tells the answer"):
            qr.rank(read_votes(table(), ITEMS, where=condition), comparison)
    for condition in ("a = 'x'", "b <> 'z' and person = 'p'", "lang = 'de'"):
        votes = read_votes(answers, ITEMS, outcome="outcome", a="a", b="b", where=condition)
        assert qr.noisy_tally(votes, comparison).public_total == 1.0


def test_under_outcome_the_design_is_that_of_the_rows_that_count() -> None:
    """The public number of votes is that after the condition: it reads the design, which all neighbours share."""
    rows = [{"a": "x", "b": "y", "outcome": o, "lang": w} for o, w in [("a", "de"), ("?", "de"), ("b", "fr")]]
    votes = read_votes(pa.Table.from_pylist(rows), ITEMS, where="lang = 'de'", skip_invalid=True)
    tally = qr.noisy_tally(votes, Privacy(1, "comparison", neighbours="outcome", design="public"))
    assert tally.public_total == 2.0
    assert tally.public_exposure is not None
    assert tally.public_exposure.tolist() == [2, 2, 0]


def test_the_groups_of_filtered_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of all votes is no longer that of the votes that count, and is not used for the overall ranking."""
    silence(monkeypatch)
    rows = [{"winner": "x", "loser": "y", "land": g, "n": k} for k in range(6) for g in ("n", "s")]
    votes = read_votes(pa.Table.from_pylist(rows), ITEMS, by="land", groups=["n", "s"], where="n < 2")
    tally = qr.noisy_tally_by_group(votes, Privacy(1, "comparison", design="uniform"))
    assert tally.public_votes is None
    release = qr.rerank(tally, overall=True)
    assert release.overall is not None
    assert release.overall.where == "n < 2"
    with_all = qr.noisy_tally_by_group(
        read_votes(pa.Table.from_pylist(rows), ITEMS, by="land", groups=["n", "s"]),
        Privacy(1, "comparison", design="uniform"),
    )
    assert with_all.public_votes == 12


# ---- what is said about it -------------------------------------------------------------------------------------------


def test_the_condition_is_in_the_release_and_in_the_tally(tmp_path: Path) -> None:
    """In a field, among the assumptions, and among what is not protected; and it comes back from a file."""
    votes = read_votes(table(), ITEMS, where="t='De'")
    privacy = Privacy(1, "comparison")
    tally = qr.noisy_tally(votes, privacy)
    tally.to_json(tmp_path / "t.json")
    again = qr.NoisyTally.from_json(tmp_path / "t.json")
    assert again.where == tally.where == "t = 'De'"
    release = qr.rerank(again)
    release.to_json(tmp_path / "r.json")
    assert qr.Release.from_json(tmp_path / "r.json") == release
    assert release.where == "t = 'De'"
    assert any("Only votes with t = 'De' are counted" in note for note in release.assumptions)
    known = " ".join(unprotected(privacy, where=release.where))
    assert "The number of votes, before the condition is applied" in known
    assert "t = &#x27;De&#x27;" in release.report() or "t = &#39;De&#39;" in release.report()
    assert qr.rank(read_votes(table(), ITEMS), privacy).where is None


def test_a_saved_tally_with_a_condition_cannot_claim_a_public_total(tmp_path: Path) -> None:
    """Neither by adding a condition to a tally without, nor a number of votes to one with it."""
    from quietrank.errors import ReleaseError

    plain = json.loads(qr.noisy_tally(read_votes(table(), ITEMS), Privacy(1, "comparison")).to_json())
    with pytest.raises(ReleaseError, match="damaged"):
        tally_file.from_dict(plain | {"where": "n = 1"})
    with pytest.raises(ReleaseError, match="damaged"):
        tally_file.from_dict(plain | {"where": 5})


def test_rank_and_check_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` says how many rows are left out; `rank` says the condition."""
    path = tmp_path / "v.csv"
    path.write_text("winner,loser,lang\nx,y,de\ny,z,fr\nz,x,fr\nx,w,fr\n")
    with pytest.MonkeyPatch.context() as patch:
        run = Run(patch, capsys)
        checked = run("check", path, "--items", "x,y,z", "--where", "lang = 'de'")
        assert checked.code == 0
        assert "left out by --where                    3" in checked.stdout
        ranked = run("rank", path, "--items", "x,y,z", *VOTE, "--where", "lang = 'de'")
        assert ranked.code == 0
        assert "Only votes with lang = 'de' are counted" in " ".join(ranked.stdout.split())
        assert run("fit", path, "--ridge", "1", "--where", "lang = 'de'").code == 0


def test_an_auto_limit_with_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is chosen from the votes that count."""
    silence(monkeypatch)
    rows = [{"person": str(k), "winner": "x", "loser": "y", "n": n} for k in range(30) for n in range(8)]
    votes = read_votes(pa.Table.from_pylist(rows), ITEMS, where="n < 1")
    tally = make_tally(votes, Privacy(1, "person", max_per_person="auto"), Request.of("auto", "auto"))
    assert isinstance(tally, qr.NoisyTally)
    assert tally.privacy.max_per_person == 1
