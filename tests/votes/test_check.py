"""Checking: bad rows are counted, shown and refused, or dropped one by one on request."""

from __future__ import annotations

import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.declare import declare, with_pairs
from quietrank.promise.privacy import Privacy
from quietrank.votes import check
from quietrank.votes.snapshot import FLAWS
from tests.helpers import ITEMS, Vote, from_arrow
from tests.steps import for_items, tally_pairs, tally_votes

EACH_VOTE = Privacy(1, "comparison")
EACH_PERSON = Privacy(1, "person", max_per_person=2)
GOOD: list[Vote] = [("p1", "A1", "ç", "a"), ("p1", "ç", "Ω", "tie"), ("p 2", "A1", "Ω", "b")]
BAD: dict[str, Vote] = {
    "missing item": ("p1", "", "A1", "a"),
    "undeclared item": ("p1", "A1", "nobody's item", "a"),
    "item against itself": ("p1", "A1", "A1", "a"),
    "unknown outcome": ("p1", "A1", "ç", "?"),
    "missing person": ("", "A1", "ç", "a"),
}


@pytest.mark.parametrize("count", [tally_votes, tally_pairs])
@pytest.mark.parametrize("flaw", BAD)
@pytest.mark.few(3)
def test_every_flaw_is_refused_with_its_row(flaw: str, count) -> None:  # type: ignore[no-untyped-def]
    """The message says what is wrong, in how many rows, where, and what to do."""
    votes = from_arrow([*GOOD, BAD[flaw], *GOOD, BAD[flaw]])
    with pytest.raises(VotesError) as refused:
        count(votes, EACH_PERSON)
    message = str(refused.value)
    assert f"{FLAWS[flaw]}: 2 rows" in message
    assert "row 4: " in message
    assert "skip_invalid=True" in message


@pytest.mark.parametrize("flaw", BAD)
@pytest.mark.few(2)
def test_skipping_drops_exactly_the_bad_rows(flaw: str) -> None:
    """With `skip_invalid` the tally is that of the good rows, and the row count is that of all rows."""
    skipped = tally_votes(from_arrow([BAD[flaw], *GOOD, BAD[flaw]], skip_invalid=True), EACH_PERSON)
    clean = tally_votes(from_arrow(GOOD), EACH_PERSON)
    assert (skipped.wins == clean.wins).all()
    assert (skipped.losses == clean.losses).all()
    assert skipped.rows == len(GOOD) + 2


def test_a_missing_person_is_no_flaw_where_votes_stand_alone() -> None:
    """Under unit=comparison nobody needs to be named."""
    assert tally_votes(from_arrow([*GOOD, BAD["missing person"]]), EACH_VOTE).rows == 4


def test_under_a_public_design_an_unreadable_answer_counts_as_a_tie() -> None:
    """Dropping it would change the design with the answer: the pair stays, exposures do not move."""
    privacy = Privacy(1, "person", neighbours="outcome", design="public", max_per_person=2)
    twice_bad: list[Vote] = [("", "A1", "ç", "?"), ("p1", "A1", "A1", "?")]
    unreadable = tally_votes(from_arrow([*GOOD, BAD["unknown outcome"], *twice_bad], skip_invalid=True), privacy)
    tied = tally_votes(from_arrow([*GOOD, ("p1", "A1", "ç", "tie")]), privacy)
    won = tally_votes(from_arrow([*GOOD, ("p1", "A1", "ç", "a")]), privacy)
    assert (unreadable.wins == tied.wins).all()
    assert (unreadable.exposure == won.exposure).all()


def test_an_empty_file_is_refused_only_where_that_is_public() -> None:
    """It still releases noise under add-remove, and where people may be replaced: by some who said nothing."""
    for privacy in (Privacy(1, "comparison", neighbours="add-remove"), EACH_PERSON):
        assert tally_votes(from_arrow([]), privacy).total == 0
    with pytest.raises(VotesError, match="no votes"):
        tally_votes(from_arrow([]), EACH_VOTE)


def test_a_file_whose_rows_are_all_skipped_is_not_refused() -> None:
    """Refusing would tell that the last good row was gone."""
    assert tally_votes(from_arrow([BAD["unknown outcome"]], skip_invalid=True), EACH_VOTE).total == 0


def test_the_report_counts_everything() -> None:
    """People, items, votes, ties, votes per person, and every flaw."""
    found = check.report(from_arrow([*GOOD, *BAD.values()]), people=True)
    assert (found.rows, found.votes, found.ties, found.items, found.people) == (8, 3, 1, 4, 2)
    assert found.votes_per_person == {"least": 1, "median": 1.5, "most": 2}
    assert found.flaws == dict.fromkeys((flaw for flaw in FLAWS if flaw in BAD), 1)
    assert found.examples[0].startswith("row 4: ")


def test_a_pair_off_the_list_is_a_flaw() -> None:
    """Whoever declares askable pairs hears of votes on others; skipping drops those rows and no more."""
    pairs = [("ç", "A1"), ("b c", "Ω")]
    listed = [("p1", "A1", "ç", "a"), ("p1", "Ω", "b c", "b"), ("p2", "ç", "A1", "tie")]
    strange = ("p2", "A1", "Ω", "a")
    for privacy in (EACH_VOTE, Privacy(1, "person", max_per_person=2), Privacy(1, "person", one_per_pair=True)):
        bounded = for_items(privacy, with_pairs(declare(ITEMS), pairs))
        with pytest.raises(VotesError, match="askable pairs: 1 row"):
            tally_votes(from_arrow([*listed, strange], pairs=pairs), bounded)
        skipped = tally_votes(from_arrow([*listed, strange], pairs=pairs, skip_invalid=True), bounded)
        kept = tally_votes(from_arrow(listed, pairs=pairs), bounded)
        assert (skipped.wins == kept.wins).all()
        assert (skipped.losses == kept.losses).all()


def test_a_list_of_pairs_must_cover_the_items() -> None:
    """An item on no pair could not be ranked; parts that never meet are separated in the release."""
    with pytest.raises(VotesError, match="in no askable pair"):
        with_pairs(declare(ITEMS), [("A1", "ç")])
    apart = from_arrow([("p1", "A1", "ç", "a")], pairs=[("A1", "ç"), ("b c", "Ω")])
    release = qr.rank(apart, Privacy(1, "person", one_per_pair=True, neighbours="add-remove"))
    assert any("2 separate parts" in assumption for assumption in release.assumptions)


def test_the_report_refuses_what_a_release_refuses() -> None:
    """An empty file is refused where the unit is one vote, but not for people, who may have answered nothing."""
    with pytest.raises(VotesError, match="no votes"):
        check.report(from_arrow([]), people=False)
    assert check.report(from_arrow([]), people=True).rows == 0


def test_a_name_that_is_hard_to_tell_apart_is_pointed_out() -> None:
    """By spaces, case or Unicode form; any other name is not said to be like a declared one."""
    for name in ("A1 ", "a1", "\uff211", "c\u0327"):
        with pytest.raises(VotesError, match="only by spaces, case or Unicode form"):
            tally_votes(from_arrow([("p", name, "Ω", "a")]), EACH_VOTE)
    with pytest.raises(VotesError) as refused:
        tally_votes(from_arrow([("p", "A2", "Ω", "a")]), EACH_VOTE)
    assert "only by" not in str(refused.value)
