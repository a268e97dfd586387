"""Tally: exact integers, whatever the order, format, threads or names; and nobody weighs more than L."""

from __future__ import annotations

import copy
import gzip
import pickle
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.demo import demo_votes
from quietrank.promise.privacy import Privacy
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tallies import Tally
from tests.effort import effort
from tests.helpers import COLUMNS, ITEMS, Vote, columns_of, from_arrow, vote_lists, write_csv, write_json_lines
from tests.steps import tally_pairs, tally_votes

EACH_VOTE = Privacy(1, "comparison")
EACH_PERSON = Privacy(1, "person", max_per_person=3)
few = settings(max_examples=effort(5, 25))


def _same(first: Tally, second: Tally) -> bool:
    return bool((first.wins == second.wins).all() and (first.losses == second.losses).all())


def _by_hand(votes: list[Vote], privacy: Privacy) -> tuple[list[Fraction], list[Fraction]]:
    """Wins and losses in votes, straight from the definition."""
    count = {person: sum(vote[0] == person for vote in votes) for person, *_ in votes}
    wins, losses = [Fraction(0)] * len(ITEMS), [Fraction(0)] * len(ITEMS)
    for person, a, b, outcome in votes:
        weight = Fraction(1)
        if privacy is EACH_PERSON:
            weight = Fraction(min(2**20, 3 * 2**20 // count[person]), 2**20)
        y = {"a": Fraction(1), "b": Fraction(0), "tie": Fraction(1, 2)}[outcome]
        for item, won in ((a, y), (b, 1 - y)):
            wins[ITEMS.index(item)] += weight * won
            losses[ITEMS.index(item)] += weight * (1 - won)
    return wins, losses


def test_the_survey_gives_its_known_wins() -> None:
    """CEMS, noise switched off: wins with ties as halves, and strict wins."""
    votes = demo_votes()
    tally = tally_votes(votes, EACH_VOTE)
    wins = dict(zip(votes.items, tally.wins * float(tally.step), strict=True))
    assert wins == {
        "London": 1138,
        "Paris": 809,
        "Barcelona": 708.5,
        "St.Gallen": 703,
        "Milano": 610.5,
        "Stockholm": 485,
    }
    table = votes.source.table
    strict = tally_votes(Votes(_only(table.filter(table.outcome != "tie")), votes.shape, votes.items), EACH_VOTE)
    assert dict(zip(votes.items, strict.wins // 2, strict=True)) == {
        "London": 1082,
        "Paris": 737,
        "Barcelona": 614,
        "St.Gallen": 631,
        "Milano": 511,
        "Stockholm": 392,
    }


def _only(table: object):  # type: ignore[no-untyped-def]
    from quietrank.votes.files import Source

    return Source(table, None, "a filtered table")


@given(vote_lists(), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@few
def test_the_tally_is_the_definition(votes: list[Vote], privacy: Privacy) -> None:
    """Counting in the engine equals adding up by hand, exactly."""
    tally = tally_votes(from_arrow(votes), privacy)
    wins, losses = _by_hand(votes, privacy)
    assert [int(value) * tally.step for value in tally.wins] == wins
    assert [int(value) * tally.step for value in tally.losses] == losses
    assert tally.rows == len(votes)


@given(vote_lists(), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@few
def test_pairs_add_up_to_items(votes: list[Vote], privacy: Privacy) -> None:
    """The tally by pair and the tally by item are two views of the same sums."""
    read = from_arrow(votes)
    pairs = tally_pairs(read, privacy)
    assert (pairs.i < pairs.j).all()
    assert _same(pairs.by_item, tally_votes(read, privacy))


@given(vote_lists(), st.randoms(use_true_random=False), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@few
def test_row_order_and_threads_do_not_change_a_bit(votes: list[Vote], rnd: random.Random, privacy: Privacy) -> None:
    """The same rows in any order, on any number of threads."""
    shuffled = votes[:]
    rnd.shuffle(shuffled)
    one = from_arrow(votes)
    one.source.table.get_backend().raw_sql("SET threads = 1")
    assert _same(tally_votes(one, privacy), tally_votes(from_arrow(shuffled), privacy))


@given(vote_lists(), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@settings(max_examples=effort(2, 25))
def test_every_format_gives_the_same_tally(tmp_path: Path, votes: list[Vote], privacy: Privacy) -> None:
    """CSV, gzipped CSV, TSV, Parquet, JSON Lines, pandas, polars, pyarrow and Ibis agree to the bit."""
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns_of(votes))
    pq.write_table(table, tmp_path / "votes.parquet")
    plain = write_csv(tmp_path / "votes.csv", votes)
    (tmp_path / "votes.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "votes.tsv").write_text("\n".join("\t".join(row) for row in [COLUMNS, *votes]), encoding="utf-8")
    write_json_lines(tmp_path / "votes.jsonl", votes)
    sources = list(tmp_path.iterdir())
    assert len(sources) == 5
    frames = [pd.DataFrame(columns_of(votes)), pl.DataFrame(columns_of(votes)), table, ibis.memtable(table)]
    expected = tally_votes(from_arrow(votes), privacy)
    for source in [*sources, *frames]:
        assert _same(tally_votes(read_votes(source, items=ITEMS), privacy), expected), source


@given(vote_lists(), st.permutations(range(len(ITEMS))), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@few
def test_relabelling_items_permutes_the_tally(votes: list[Vote], order: list[int], privacy: Privacy) -> None:
    """Names mean nothing: renamed items carry their counts with them."""
    name = {item: ITEMS[order[k]] for k, item in enumerate(ITEMS)}
    renamed = [(person, name[a], name[b], outcome) for person, a, b, outcome in votes]
    before, after = tally_votes(from_arrow(votes), privacy), tally_votes(from_arrow(renamed), privacy)
    assert (after.wins[order] == before.wins).all()
    assert (after.losses[order] == before.losses).all()


@given(vote_lists(), st.sampled_from([EACH_VOTE, EACH_PERSON]))
@few
def test_turning_every_vote_round_swaps_wins_and_losses(votes: list[Vote], privacy: Privacy) -> None:
    """Mirrored outcomes mirror the tally."""
    mirror = {"a": "b", "b": "a", "tie": "tie"}
    mirrored = [(person, a, b, mirror[outcome]) for person, a, b, outcome in votes]
    before, after = tally_votes(from_arrow(votes), privacy), tally_votes(from_arrow(mirrored), privacy)
    assert (after.wins == before.losses).all()
    assert (after.net_wins == -before.net_wins).all()


@given(vote_lists(), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(few, max_examples=effort(4, 10))
def test_a_person_with_ten_thousand_votes_weighs_at_most_the_limit(votes: list[Vote], limit: int, seed: int) -> None:
    """Adding one person with 10 000 votes moves no wins, losses or total by more than L, nor s by more than L/2."""
    rng = random.Random(seed)
    pairs = [rng.sample(ITEMS, 2) for _ in range(10_000)]
    flood: list[Vote] = [("flood", a, b, rng.choice(["a", "a", "a", "b", "tie"])) for a, b in pairs]
    privacy = Privacy(1, "person", max_per_person=limit)
    without, present = tally_votes(from_arrow(votes), privacy), tally_votes(from_arrow([*votes, *flood]), privacy)
    steps = limit / without.step
    for moved in (present.wins - without.wins, present.losses - without.losses):
        assert np.abs(moved).sum() <= steps
    assert np.abs(present.net_wins - without.net_wins).sum() <= steps
    assert np.abs(present.net_wins - without.net_wins).max() <= steps / 2


def test_many_threads_give_the_same_bits(tmp_path: Path) -> None:
    """Enough rows for several threads to share: one thread and four agree."""
    rng = random.Random(6)
    votes: list[Vote] = [
        (f"p{rng.randrange(5000)}", *_pair(rng), rng.choice(["a", "b", "tie"])) for _ in range(400_000)
    ]
    tallies = []
    for threads in (1, 4):
        read = from_arrow(votes)
        read.source.table.get_backend().raw_sql(f"SET threads = {threads}")
        tallies.append(tally_votes(read, EACH_PERSON))
    assert _same(*tallies)


def _pair(rng: random.Random) -> tuple[str, str]:
    a, b = rng.sample(ITEMS, 2)
    return a, b


def test_unbounded_people_would_be_noticed() -> None:
    """The test above can fail: counted vote by vote, the same person moves the tally by 10 000."""
    flood = [("flood", "A1", "ç", "a")] * 10_000
    assert tally_votes(from_arrow(flood), EACH_VOTE).wins[0] == 2 * 10_000
    assert tally_votes(from_arrow(flood), EACH_PERSON).wins[0] * Fraction(1, 2**21) <= 3


def test_a_tally_keeps_its_numbers_to_itself() -> None:
    """It does not print, and cannot be pickled or copied out."""
    votes = from_arrow([("p", "A1", "ç", "a")] * 12345)
    for tally in (tally_votes(votes, EACH_VOTE), tally_pairs(votes, EACH_VOTE)):
        assert "12345" not in f"{tally!r} {tally} {votes!r}"
        with pytest.raises(TypeError, match="confidential"):
            pickle.dumps(tally)
        with pytest.raises(TypeError, match="confidential"):
            copy.deepcopy(tally)
