"""`quietrank rank`: results to stdout, reasons to stderr, the right exit code, and no file left behind."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quietrank.errors import ReleaseError
from quietrank.publish.files import reserved
from quietrank.publish.release import Release
from quietrank.votes.hints import same_content
from quietrank.votes.read import read_votes
from tests.cli.running import BY_GROUP, COLUMNS, GOOD, PEOPLE, VOTE, Outcome, Run
from tests.helpers import write_csv


def test_rank_prints_a_table_with_the_promise(run: Run, votes: Path) -> None:
    """The default output is for people."""
    result = run("rank", votes, *VOTE, "--items", "x,y,z")
    assert result.code == 0
    assert "rank" in result.stdout
    assert "No single vote can be read out" in result.stdout


def test_rank_prints_json_and_csv_and_writes_a_file(run: Run, votes: Path, tmp_path: Path) -> None:
    """Machine formats are clean on stdout, and --out holds the same release."""
    out = tmp_path / "release.json"
    result = run("rank", votes, *PEOPLE, "--items", "x,y,z", "--format", "json", "--out", out)
    assert Release.from_dict(json.loads(result.stdout)) == Release.from_json(out)
    result = run("rank", votes, *PEOPLE, "--items-from-votes", "--format", "csv", "--design", "uniform")
    before, certainty = "rank,item,score,win_rate,net_wins", "rank_low,rank_high,score_low,score_high,tier"
    assert result.stdout.splitlines()[0] == f"{before},{certainty},probability_first,probability_top"
    assert len(result.stdout.splitlines()) == 4


@pytest.mark.parametrize("method", ["net-wins", "wins", "win-rate", "bradley-terry"])
def test_every_method_is_reachable(run: Run, votes: Path, method: str) -> None:
    """--method names what the release was ranked by."""
    result = run("rank", votes, *VOTE, "--items", "x,y,z", "--method", method, "--format", "json")
    assert json.loads(result.stdout)["method"] == method


@pytest.mark.parametrize("calibration", ["tight", "published"])
@pytest.mark.parametrize("unit", [VOTE, (*PEOPLE, "--comparisons-per-item", 3), (*PEOPLE, "--gamma", 60)])
@pytest.mark.few(3)
def test_the_perturbed_mle_is_reachable(run: Run, votes: Path, unit: tuple[object, ...], calibration: str) -> None:
    """Scores from inside the likelihood; the release tells how the noise was made and nothing of the solver."""
    words = ("--items", "x,y,z", "--mechanism", "perturbed-mle", "--calibration", calibration, "--format", "json")
    release = json.loads(run("rank", votes, *unit, *words).stdout)
    assert release["method"] == "bradley-terry"
    assert release["mechanism"]["calibration"] == calibration
    assert release["mechanism"]["epsilon_seal"] <= 0.01 * release["privacy"]["epsilon"]
    assert not {"converged", "gradient_norm", "components", "iterations"} & set(release["mechanism"])
    assert Release.from_dict(release).to_dict() == release


def test_items_can_come_from_a_file(run: Run, votes: Path, tmp_path: Path) -> None:
    """One item per line; blank lines do not count."""
    (tmp_path / "items.txt").write_text("x\ny\n\nz\nnever compared\n")
    result = run("rank", votes, *VOTE, "--items", tmp_path / "items.txt", "--format", "csv")
    assert len(result.stdout.splitlines()) == 5


BROKEN_ROWS = {
    "undeclared item": (("1", "x", "w"), "not on the declared list: 1 row (such as row 5: 'x' against 'w'"),
    "item against itself": (("1", "x", "x"), "compared with itself: 1 row (such as row 5"),
    "missing item": (("1", "x", ""), "cell is empty: 1 row (such as row 5"),
    "missing person": (("", "x", "y"), "no person is named: 1 row (such as row 5"),
}


@pytest.mark.parametrize("flaw", BROKEN_ROWS)
@pytest.mark.few(1)
def test_bad_rows_are_refused_or_skipped(run: Run, tmp_path: Path, flaw: str) -> None:
    """How many rows, which, and the remedy; --skip-invalid then goes through."""
    row, message = BROKEN_ROWS[flaw]
    path = write_csv(tmp_path / "bad.csv", [*GOOD, row], COLUMNS)
    out = tmp_path / "out.json"
    result = run("rank", path, *PEOPLE, "--items", "x,y,z", "--out", out)
    assert result.code == 1
    assert message in result.stderr
    assert "--skip-invalid" in result.stderr
    _nothing_but_a_reason(result, out)
    skipped = run("rank", path, *PEOPLE, "--items", "x,y,z", "--skip-invalid", "--out", out)
    assert skipped.code == 0
    assert f"For you only: 1 row skipped ({flaw}: 1)." in skipped.stderr
    assert "1 row" not in skipped.stdout + out.read_text()
    checked = run("check", path, "--items", "x,y,z", "--unit", "person")
    assert checked.code == 1
    assert f"invalid: {flaw}" in checked.stdout


def test_rank_says_how_many_rows_were_skipped_to_the_data_holder_alone(run: Run, tmp_path: Path) -> None:
    """None, or ties under a public design; a missing answer is not among them. What is released does not say."""
    rows = [("x", "y", "a"), ("x", "y", ""), ("x", "y", "?")]
    good = write_csv(tmp_path / "good.csv", rows[:2], ("a", "b", "outcome"))
    bad = write_csv(tmp_path / "bad.csv", rows, ("a", "b", "outcome"))
    design = ("--neighbours", "outcome", "--design", "public")
    skipping = (*VOTE, "--items", "x,y", "--skip-invalid")
    assert "For you only: no rows skipped.\n" in run("rank", good, *skipping).stderr
    assert "For you only" not in run("rank", good, *VOTE, "--items", "x,y").stderr
    assert "For you only: 1 row skipped (unknown outcome: 1).\n" in run("rank", bad, *skipping).stderr
    tied = run("rank", bad, *skipping, *design)
    assert "no rows skipped; 1 with an outcome that cannot be read counted as ties.\n" in tied.stderr
    assert "skipped" not in run("rank", bad, *skipping, "--format", "csv").stdout


def test_an_unknown_outcome_is_refused(run: Run, tmp_path: Path) -> None:
    """Not turned into a tie."""
    path = write_csv(tmp_path / "bad.csv", [("x", "y", "a"), ("x", "y", "maybe")], ("a", "b", "outcome"))
    result = run("rank", path, *VOTE, "--items", "x,y")
    assert result.code == 1
    assert "the outcome cannot be read" in result.stderr
    assert "row 2" in result.stderr


def _nothing_but_a_reason(result: Outcome, out: Path) -> None:
    assert result.stdout == ""
    assert result.stderr.startswith("quietrank: ")
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def _gzipped(text: bytes) -> bytes:
    return gzip.compress(text, compresslevel=0)


BROKEN_FILES: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "is empty"),
    "blank-first.csv": (b"\nwinner,loser\nx,y\n", "begins with an empty line"),
    "newlines.csv": (b"winner,loser\r\nx,y\nx,y\r\n", "cannot be read"),
    "giant-header.csv": (b"winner," + b"l" * 200_000 + b"\nx,y\n", "header"),
    "cut.csv.gz": (_gzipped(b"winner,loser\n" + b"x,y\n" * 500_000)[:1_500_000], "cannot be read"),
    "case.jsonl": (b'{"winner": "x", "Winner": "y", "loser": "z"}\n', "appears twice"),
    "nothing.jsonl": (b"{}\n", "one JSON object per line"),
    "keys.jsonl": (b'{"winner": "x", "loser": "y"}\n{"winner": "x", "loser": "y", "tie": true}\n', "every key"),
    "blank.csv": (b"\n\n", "is empty"),
    "header-only.csv": (b"winner,loser\n", "has no votes"),
    "one-column.csv": (b"winner:loser\nx:y\n", "--delimiter"),
    "latin1.csv": ("winner,loser\nx,y\ncafé,y\n".encode("latin-1"), "not UTF-8"),
    "latin1-late.csv": (b"winner,loser\n" + b"x,y\n" * 400_000 + b"caf\xe9,y\n", "not UTF-8"),
    "utf16.csv": ("winner,loser\nx,y\n".encode("utf-16"), "UTF-8"),
    "ragged.csv": (b"winner,loser\nx,y\nx,y,z\n", "line 3"),
    "twice.csv": (b"winner,loser,Winner\nx,y,x\n", "appears twice"),
    "nameless.csv": (b"winner,loser,\nx,y,1\n", "no name in the header"),
    "columns.csv": (b"good,bad\nx,y\n", "the columns good, bad"),
    "not.parquet": (b"winner,loser\nx,y\n", "not a Parquet file"),
    "array.jsonl": (b'[{"winner": "x", "loser": "y"}]', "one JSON object per line"),
    "broken.jsonl": (b'{"winner": "x", "loser": "y"}\n{"winner": \n', "cannot be read"),
    "votes.xlsx": (b"PK", "not an Excel workbook"),
    "truncated.csv.gz": (b"\x1f\x8b\x08\x00", "cannot read"),
}


@pytest.mark.parametrize("name", BROKEN_FILES)
@pytest.mark.few(5)
def test_a_broken_file_gets_one_line_and_no_output(run: Run, tmp_path: Path, name: str) -> None:
    """Every way a file can be wrong ends with exit code 1, one line, and nothing written."""
    content, message = BROKEN_FILES[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.json"
    result = run("rank", tmp_path / name, *VOTE, "--items", "x,y,z", "--out", out)
    assert result.code == 1
    assert message in result.stderr
    _nothing_but_a_reason(result, out)


REFUSED: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no unit": (("--epsilon", "1", "--items", "x,y,z"), 2, "--unit comparison"),
    "no epsilon": (("--unit", "comparison", "--items", "x,y,z"), 2, "--epsilon"),
    "unknown unit": (("--unit", "votes", "--epsilon", "1", "--items", "x,y,z"), 2, "comparison, person"),
    "epsilon 0": (("--unit", "comparison", "--epsilon", "0", "--items", "x,y,z"), 2, "--epsilon 0"),
    "epsilon -1": (("--unit", "comparison", "--epsilon", "-1", "--items", "x,y,z"), 2, "--epsilon -1"),
    "epsilon nan": (("--unit", "comparison", "--epsilon", "nan", "--items", "x,y,z"), 2, "--epsilon nan"),
    "epsilon inf": (("--unit", "comparison", "--epsilon", "inf", "--items", "x,y,z"), 2, "--epsilon inf"),
    "L 0": ((*PEOPLE[:4], "--max-per-person", "0", "--items", "x,y,z"), 2, "--max-per-person 0"),
    "no L": (("--unit", "person", "--epsilon", "1", "--items", "x,y,z"), 2, "needs --max-per-person"),
    "no items": (VOTE, 2, "--items-from-votes"),
    "both items": ((*VOTE, "--items", "x,y", "--items-from-votes"), 2, "one of the two"),
    "items twice": ((*VOTE, "--items", "x,y,z,x"), 1, "declared twice"),
    "one item": ((*VOTE, "--items", "x,"), 1, "empty name"),
    "no items file": ((*VOTE, "--items", "nowhere.txt"), 1, "there is no file nowhere.txt"),
    "unknown column": ((*VOTE, "--items", "x,y,z", "--winner", "best", "--loser", "loser"), 1, "person, winner, loser"),
    "wrong column": ((*VOTE, "--items", "x,y,z", "--winner", "person", "--loser", "loser"), 1, "not on the declared"),
    "wrong delimiter": ((*VOTE, "--items", "x,y,z", "--delimiter", ";"), 1, "split at ';'"),
    "unknown method": ((*VOTE, "--items", "x,y,z", "--method", "elo"), 2, "method must be one of"),
    "unknown mechanism": ((*VOTE, "--items", "x,y,z", "--mechanism", "magic"), 2, "mechanism must be one of"),
    "wrong gamma": ((*VOTE, "--items", "x,y,z", "--method", "bradley-terry", "--gamma", "much"), 2, "number or auto"),
    "gamma for nothing": ((*VOTE, "--items", "x,y,z", "--gamma", "1"), 2, "belongs to --method bradley-terry"),
    "link for nothing": ((*VOTE, "--items", "x,y,z", "--link", "logit"), 2, "belong to --mechanism perturbed-mle"),
    "long items": ((*VOTE, "--items", ",".join(f"item {k}" for k in range(100))), 1, "not on the declared list"),
    "odd bytes": ((*VOTE, "--items", "x,y,z\udce9"), 1, "not UTF-8"),
    "tie with outcome": ((*VOTE, "--items", "x,y,z", "--tie", "person", "--a", "winner"), 1, "together"),
    "gamma -1": ((*VOTE, "--items", "x,y,z", "--method", "bradley-terry", "--gamma", "-1"), 2, "--gamma -1"),
    "probit": ((*VOTE, "--items", "x,y,z", "--mechanism", "perturbed-mle", "--link", "probit"), 2, "probit"),
    "wins in the mle": ((*VOTE, "--items", "x,y,z", "--mechanism", "perturbed-mle", "--method", "wins"), 2, "leave"),
    "unpaid gamma": ((*PEOPLE, "--items", "x,y,z", "--mechanism", "perturbed-mle"), 1, "--comparisons-per-item"),
    "small gamma": ((*VOTE, "--items", "x,y,z", "--mechanism", "perturbed-mle", "--gamma", "0.1"), 1, "smallest gamma"),
    "calibration": ((*VOTE, "--items", "x,y,z", "--mechanism", "perturbed-mle", "--calibration", "x"), 2, "published"),
    "no folder": ((*VOTE, "--items", "x,y,z", "--out", "no/such/folder/r.json"), 1, "there is no folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.few(8)
def test_a_wrong_call_gets_one_line_with_a_remedy(run: Run, votes: Path, tmp_path: Path, case: str) -> None:
    """Exit code 2 for what is wrong in the command line alone, else 1; one line; nothing written."""
    words, code, message = REFUSED[case]
    out = tmp_path / "out.json"
    extra = () if "--out" in words else ("--out", out)
    result = run("rank", votes, *words, *extra)
    assert message in result.stderr
    assert result.code == code
    _nothing_but_a_reason(result, out)


def test_a_single_item_is_refused(run: Run, votes: Path, tmp_path: Path) -> None:
    """A ranking of one is none."""
    (tmp_path / "items.txt").write_text("x\n")
    result = run("rank", votes, *VOTE, "--items", tmp_path / "items.txt")
    assert result.code == 1
    assert "at least two items" in result.stderr


def test_no_person_column_is_refused_for_people(run: Run, tmp_path: Path) -> None:
    """The columns there are, and the option to use."""
    path = write_csv(tmp_path / "v.csv", [("x", "y")], ("winner", "loser"))
    result = run("rank", path, *PEOPLE, "--items", "x,y")
    assert result.code == 1
    assert "--person (the columns are winner, loser)" in result.stderr


def test_the_votes_are_never_overwritten(run: Run, votes: Path, tmp_path: Path) -> None:
    """--out on the votes themselves, or on a folder, is refused before anything is drawn."""
    before = votes.read_bytes()
    (tmp_path / "folder.json").mkdir()
    for out in (votes, tmp_path / "folder.json"):
        assert run("rank", votes, *VOTE, "--items", "x,y,z", "--out", out).code == 1
    assert votes.read_bytes() == before


def test_a_missing_file_is_named(run: Run) -> None:
    """The path is in the message."""
    result = run("rank", "nowhere.csv", *VOTE, "--items", "x,y")
    assert result.code == 1
    assert "nowhere.csv" in result.stderr


def test_rank_by_group_prints_every_group(run: Run, lands: Path, tmp_path: Path) -> None:
    """A group column in table and CSV, one release per group in JSON; groups may come from a file."""
    (tmp_path / "groups.txt").write_text("n\ns\nempty\n")
    words = ("rank", lands, *PEOPLE, "--items", "x,y,z", "--by", "land", "--groups")
    table = run(*words, tmp_path / "groups.txt")
    assert table.code == 0
    assert "3 groups by land" in table.stdout
    csv = run(*words, "n,s", "--format", "csv", "--out", tmp_path / "out.json").stdout.splitlines()
    assert csv[0].startswith("group,rank,item")
    assert [line[0] for line in csv[1:]] == ["n"] * 3 + ["s"] * 3
    assert list(json.loads((tmp_path / "out.json").read_text())["groups"]) == ["n", "s"]


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--by", "land"), 2, "--groups"),
        (("--groups", "n,s"), 2, "--by"),
        (("--by", "land", "--groups", "n,w"), 1, "declare every group with --groups"),
        (("--by", "winner", "--groups", "x,y,z", "--by-person"), 1, "more than one group"),
        (("--by", "land", "--groups", "nowhere.txt"), 1, "one group per line"),
    ],
)
@pytest.mark.few(2)
def test_groups_that_cannot_be_are_refused(
    run: Run, lands: Path, words: tuple[str, ...], code: int, reason: str
) -> None:
    """One line with the remedy."""
    result = run("rank", lands, *PEOPLE, "--items", "x,y,z", *words)
    assert result.code == code
    assert reason in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--mechanism", "perturbed-mle", "--gamma", "60"), 2, "no tally to save"),
        (("--link", "hyperbolic-secant"), 2, "perturbed-mle"),
        (("--save-tally", "no/such/folder.json"), 1, "there is no folder"),
    ],
)
def test_a_tally_that_cannot_be_saved_is_refused_before_anything_is_drawn(
    run: Run, lands: Path, tmp_path: Path, words: tuple[str, ...], code: int, reason: str
) -> None:
    """Nothing is printed and no file is written."""
    result = run("rank", lands, *PEOPLE, "--items", "x,y,z", "--save-tally", tmp_path / "t.json", *words)
    assert (result.code, result.stdout) == (code, "")
    assert reason in result.stderr
    assert not (tmp_path / "t.json").exists()


def test_what_was_paid_for_is_printed_when_the_tally_cannot_be_written(
    run: Run, lands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk loses the file, not the release."""

    def full(path: Path, text: str, kind: object, *, overwrite: bool) -> None:
        raise ReleaseError(f"cannot write {path}: no space left; choose another place")

    monkeypatch.setattr("quietrank.cli.deliver.write_text", full)
    result = run("rank", lands, *PEOPLE, "--items", "x,y,z", "--save-tally", tmp_path / "t.json", "--format", "csv")
    assert result.code == 1
    assert "no space left" in result.stderr
    assert len(result.stdout.splitlines()) == 4


@pytest.mark.parametrize("by", [(), BY_GROUP])
def test_a_ledger_pays_once_for_all_groups_and_all_rankings(
    run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...]
) -> None:
    """One entry of ε, whose id is in the release, in the tally and in what is made from it later."""
    budget, tally = tmp_path / "budget.db", tmp_path / "tally.json"
    run("ledger", "new", budget, "--epsilon", 2, "--data", "votes", "--unit", "person")
    words = ("--items", "x,y,z", *by, "--ledger", budget, "--save-tally", tally, "--format", "json")
    release = json.loads(run("rank", lands, *PEOPLE, *words).stdout)
    again = json.loads(run("rerank", tally, "--method", "net-wins", "--format", "json").stdout)
    shown = json.loads(run("ledger", "show", budget, "--format", "json").stdout)
    (entry,) = shown["entries"]
    for made in (release, again):
        releases = made["groups"].values() if by else [made]
        assert {one["ledger_entry"] for one in releases} == {entry["entry"]}


def test_two_outputs_are_two_files(run: Run, lands: Path, tmp_path: Path) -> None:
    """The release must not overwrite the tally."""
    same = tmp_path / "same.json"
    result = run("rank", lands, *PEOPLE, "--items", "x,y,z", "--out", same, "--save-tally", same)
    assert result.code == 2
    assert not same.exists()


@pytest.mark.parametrize("name", ["r.html", "r", "r.json.txt", "r.tsv", "r.db"])
@pytest.mark.few(2)
def test_a_release_is_not_written_under_a_misleading_name(run: Run, votes: Path, tmp_path: Path, name: str) -> None:
    """The ending says the format; another one is refused before anything is spent."""
    result = run("rank", votes, *VOTE, "--items", "x,y,z", "--out", tmp_path / name)
    assert result.code == 2
    assert "name it .json or .csv" in result.stderr
    assert run("rank", votes, *VOTE, "--items", "x,y,z", "--out", tmp_path / "r.csv").code == 0
    assert (tmp_path / "r.csv").read_text().startswith("rank,item,score")


def test_a_payment_is_told(run: Run, votes: Path, tmp_path: Path) -> None:
    """Which entry, and what is left: on stderr, beside the table."""
    ledger = tmp_path / "budget.db"
    assert run("ledger", "new", ledger, "--epsilon", 3, "--data", "votes", "--unit", "comparison").code == 0
    paid = run("rank", votes, *VOTE, "--items", "x,y,z", "--ledger", ledger)
    assert paid.code == 0
    assert re.search(r"Paid from .*, entry 1-\w+; .*ε up to 2\.", " ".join(paid.stderr.split()))


def test_protecting_votes_that_name_people_says_what_that_means(run: Run, votes: Path, tmp_path: Path) -> None:
    """One line for the data holder: the most votes of a person, and how to protect people; never in the release."""
    said = run("rank", votes, *VOTE, "--items", "x,y,z", "--out", tmp_path / "r.json")
    (line,) = [line for line in said.stderr.splitlines() if "name people" in line]
    assert "some have up to 2" in line
    assert "--unit person" in line
    assert "name people" not in said.stdout + (tmp_path / "r.json").read_text()
    capped = run("rank", votes, *VOTE, "--items", "x,y,z", "--neighbours", "add-remove", "--max-per-person", 7)
    assert "some have up to 7" in capped.stderr
    assert "name people" not in run("rank", votes, *PEOPLE, "--items", "x,y,z").stderr
    nobody = write_csv(tmp_path / "nobody.csv", [row[1:] for row in GOOD], COLUMNS[1:])
    assert "name people" not in run("rank", nobody, *VOTE, "--items", "x,y,z").stderr


# ---- figures -----------------------------------------------------------------------------------------------------

ENDINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("by", [(), BY_GROUP])
@pytest.mark.few(2)
def test_the_ranking_is_drawn(run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...], ending: str) -> None:
    """--plot writes the kind of file that its ending says, beside the release."""
    figure = tmp_path / f"figure{ending}"
    result = run("rank", lands, *PEOPLE, "--items", "x,y,z", *by, "--plot", figure, "--out", tmp_path / "r.json")
    assert result.code == 0, result.stderr
    assert figure.read_bytes().startswith(ENDINGS[ending])
    assert "CONFIDENTIAL" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [figure.name, "lands.csv", "r.json"]


def test_a_figure_that_cannot_be_written_costs_nothing(run: Run, votes: Path, tmp_path: Path) -> None:
    """It is refused before the ledger pays."""
    ledger, mine = tmp_path / "budget.db", tmp_path / "mine.png"
    mine.write_bytes(b"my holidays")
    run("ledger", "new", ledger, "--epsilon", 1, "--data", "votes", "--unit", "comparison")
    for option in ("--plot", "--compare-exact"):
        result = run("rank", votes, *VOTE, "--items", "x,y,z", option, mine, "--ledger", ledger, "--overwrite")
        assert result.code == 1
        assert "not a picture by quietrank" in result.stderr
    assert run("rank", votes, *VOTE, "--items", "x,y,z", "--ledger", ledger).code == 0
    assert mine.read_bytes() == b"my holidays"


def test_a_release_survives_a_figure_that_fails(
    run: Run, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release is written and printed all the same, the reason comes last, and no half figure is left."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    out, figure = tmp_path / "r.json", tmp_path / "f.png"
    result = run("rank", votes, *VOTE, "--items", "x,y,z", "--plot", figure, "--out", out, "--format", "json")
    assert result.code == 1
    assert "No space left" in result.stderr
    assert Release.from_dict(json.loads(result.stdout)) == Release.from_json(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "votes.csv"]


METHODS = ("net-wins", "wins", "win-rate", "bradley-terry")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", [(), BY_GROUP])
@pytest.mark.few(2)
def test_exact_values_are_for_the_data_holder(
    run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...], method: str
) -> None:
    """--compare-exact marks its figure and says so; release and figure are those of a run without it."""
    figure, exact, out = tmp_path / "figure.svg", tmp_path / "exact.svg", tmp_path / "r.json"
    words = ("--items", "x,y,z", *by, "--method", method)
    result = run("rank", lands, *PEOPLE, *words, "--plot", figure, "--compare-exact", exact, "--out", out)
    assert result.code == 0, result.stderr
    assert "CONFIDENTIAL" in result.stderr
    assert "CONFIDENTIAL" in exact.read_text(encoding="utf-8")
    public = (result.stdout, figure.read_text(encoding="utf-8"), out.read_text(encoding="utf-8"))
    assert not any("CONFIDENTIAL" in text or "exact" in text.lower() for text in public)
    assert figure.read_text(encoding="utf-8") != exact.read_text(encoding="utf-8")


def _ledger(run: Run, path: Path) -> Path:
    run("ledger", "new", path, "--epsilon", 3, "--data", "votes", "--unit", "comparison")
    return path


def _payments(run: Run, ledger: Path) -> int:
    return len(json.loads(run("ledger", "show", ledger, "--format", "json").stdout)["entries"])


@pytest.mark.parametrize("option", ["--out", "--save-tally", "--report"])
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["once", "overwrite"])
def test_of_two_runs_with_one_output_only_one_pays(
    run: Run, votes: Path, tmp_path: Path, option: str, overwrite: tuple[str, ...]
) -> None:
    """The other is refused before its payment, while the first is at it; no lock stays behind."""
    ledger, out = _ledger(run, tmp_path / "budget.db"), tmp_path / ("r.html" if option == "--report" else "r.json")
    words = ("rank", votes, *VOTE, "--items", "x,y,z", "--ledger", ledger, option, out, *overwrite)
    with reserved(out):
        refused = run(*words)
    assert (refused.code, refused.stdout) == (1, "")
    assert f"another run is about to write {out}; wait for it" in refused.stderr
    assert (_payments(run, ledger), out.exists()) == (0, False)
    assert run(*words).code == 0
    assert _payments(run, ledger) == 1
    assert not list(tmp_path.glob(".quietrank-*"))


def test_an_output_that_came_meanwhile_is_seen_before_the_payment(
    run: Run, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run was done between the first look and the reservation."""
    ledger, out = _ledger(run, tmp_path / "budget.db"), tmp_path / "r.json"

    @contextmanager
    def late(*paths: Path | None) -> Iterator[None]:
        out.write_text('{"format": "quietrank/release/1"}')
        with reserved(*paths):
            yield

    monkeypatch.setattr("quietrank.cli.rank.reserved", late)
    refused = run("rank", votes, *VOTE, "--items", "x,y,z", "--ledger", ledger, "--out", out)
    assert refused.code == 1
    assert "exists already" in refused.stderr
    assert _payments(run, ledger) == 0


RESERVES = """
import os, signal, sys
from pathlib import Path
from quietrank.publish.files import reserved
with reserved(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_what_a_crash_leaves_stops_nobody(run: Run, votes: Path, tmp_path: Path) -> None:
    """The lock goes with the process; the file that had it is used again, and removed."""
    out = tmp_path / "r.json"
    subprocess.run([sys.executable, "-c", RESERVES, str(out)], check=False, timeout=60)
    assert list(tmp_path.glob(".quietrank-*.lock"))
    assert run("rank", votes, *VOTE, "--items", "x,y,z", "--out", out).code == 0
    assert not list(tmp_path.glob(".quietrank-*"))


def test_parts_that_were_delivered_twice_are_mentioned(run: Run, votes: Path, tmp_path: Path) -> None:
    """For the data holder only, and not where that would take long."""
    again = tmp_path / "again.csv"
    again.write_bytes(votes.read_bytes())
    result = run("rank", votes, again, *VOTE, "--items", "x,y,z")
    assert f"For you only: {votes} has the same content as {again}: votes in both count twice." in result.stderr
    assert "same content" not in result.stdout
    assert "same content" not in run("rank", votes, *VOTE, "--items", "x,y,z").stderr
    two = read_votes([votes, again], ["x", "y", "z"])
    assert len(same_content(two)) == len(same_content(two, most=2 * again.stat().st_size)) == 1
    assert same_content(two, most=2 * again.stat().st_size - 1) == ()


def test_a_history_of_long_names_fits_into_a_log_file(
    run: Run, lands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line of more than 120 letters, and no column left out."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ledger = tmp_path / "budget.db"
    run("ledger", "new", ledger, "--epsilon", 4, "--delta", 1e-6, "--data", "votes", "--unit", "person")
    words = ("--unit", "person", "--epsilon", 0.5, "--delta", 1e-7, "--max-per-person", 20, "--ties", "davidson")
    made = run("rank", lands, "--items", "x,y,z", *words, *BY_GROUP, "--method", "bradley-terry", "--mechanism",
               "gaussian", "--ledger", ledger)  # fmt: skip
    assert made.code == 0, made.stderr
    shown = run("ledger", "show", ledger).stdout
    assert max(map(len, shown.splitlines())) <= 120
    assert "remaining" in shown
    assert "No room for" not in shown
