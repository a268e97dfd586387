"""Headers of survey tools: recognised by their own marks, and by nothing that an answer alone could imitate."""

from __future__ import annotations

import pytest

from quietrank.errors import VotesError
from quietrank.votes.formats import header

NAME = "survey.csv"
IDS = '"{""ImportId"":""a""}","{""ImportId"":""b""}"\n'


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("person,x:y\nana,1\nben,2\n", ("person", "x:y"), 0),
        ("StartDate,x:y\nStart Date,X or Y?\n" + IDS + "2026,1\n", ("StartDate", "x:y"), 2),
        ("StartDate,x:y\n2026,1\n2026,2\n", ("StartDate", "x:y"), 0),
        # Somebody's answers look like Qualtrics' third row, but the columns are not those of Qualtrics.
        ("person,x:y\nana,1\n" + IDS, ("person", "x:y"), 0),
        (
            "Respondent ID,Collector ID,Rank,,\n,,x,y,z\n1,2,1,2,3\n",
            ("Respondent ID", "Collector ID", "x", "y", "z"),
            1,
        ),
        ("Respondent ID,Collector ID,x:y\n,,Response\n1,2,1\n", ("Respondent ID", "Collector ID", "x:y"), 1),
        (
            "Respondent ID,Collector ID,End Date,x:y,why\n,,,Response,Open-Ended Response\n",
            ("Respondent ID", "Collector ID", "End Date", "x:y", "why"),
            1,
        ),
        # Votes without ids: one that is not answered, one that is, and one with a comment.
        ("Respondent ID,Collector ID,x:y\n,,\n1,2,1\n", ("Respondent ID", "Collector ID", "x:y"), 0),
        ("Respondent ID,Collector ID,x:y\n,,1\n", ("Respondent ID", "Collector ID", "x:y"), 0),
        ("Respondent ID,Collector ID,x:y,why\n,,,Response\n", ("Respondent ID", "Collector ID", "x:y", "why"), 0),
        ("Respondent ID,Collector ID,x:y\n7,8,1\n", ("Respondent ID", "Collector ID", "x:y"), 0),
        ("person,x:y\n", ("person", "x:y"), 0),
    ],
)
def test_the_rows_of_a_header(text: str, names: tuple[str, ...], rows: int) -> None:
    assert header.read(NAME, text, ",", None) == (names, rows)
    assert header.read(NAME, text, ",", 3)[1] == 3


@pytest.mark.parametrize("rows", [-1, 1.5, "two", 21, True])
def test_a_wrong_number_of_header_rows_is_refused(rows: object) -> None:
    with pytest.raises(VotesError, match="header_rows must be a whole number from 0 to 20"):
        header.read(NAME, "a,b\n", ",", rows)  # type: ignore[arg-type]
