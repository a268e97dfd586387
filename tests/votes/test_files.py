"""Several files, folders, patterns, keys in the names of folders; formats, encodings; standard input."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.promise import EVERY_VOTE
from quietrank.votes import files
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tally import count_votes
from tests.cli.running import PEOPLE, VOTE, Run
from tests.helpers import write_csv

ITEMS = ["x", "y", "z"]
COLUMNS = ("person", "winner", "loser")
FIRST = [("ana", "x", "y"), ("ana", "y", "z"), ("ben", "x", "z")]
SECOND = [("ana", "z", "x"), ("eve", "x", "y")]
ALL = [*FIRST, *SECOND]

Rows = Sequence[tuple[str, ...]]


def counted(votes: Votes) -> list[int]:
    """Wins and losses of each item."""
    (tally,) = count_votes(votes, EVERY_VOTE)
    return [*tally.by_item.wins.tolist(), *tally.by_item.losses.tolist()]


def expected(rows: Rows = ALL) -> list[int]:
    return [2 * sum(row[place] == item for row in rows) for place in (1, 2) for item in ITEMS]


def write_parquet(path: Path, rows: Rows, columns: Sequence[str] = COLUMNS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table({name: [row[c] for row in rows] for c, name in enumerate(columns)}), path)
    return path


def write_objects(path: Path, rows: Rows) -> Path:
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    array = path.suffix == ".json"
    path.write_text(json.dumps(records, indent=1) if array else "".join(json.dumps(one) + "\n" for one in records))
    return path


def write_zst(path: Path, rows: Rows) -> Path:
    plain = (as_csv if ".csv" in path.name else write_objects)(path.with_suffix(""), rows)
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(plain.read_bytes())
    plain.unlink()
    return path


def write_sheet(path: Path, rows: Sequence[Sequence[object]], columns: Sequence[str] = COLUMNS) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (columns, *rows):
        book.active.append(list(row))
    book.save(path)
    return path


def as_csv(path: Path, rows: Rows) -> Path:
    return write_csv(path, rows, COLUMNS)


WRITERS: dict[str, Callable[[Path, Rows], Path]] = {
    "csv": as_csv,
    "jsonl": write_objects,
    "json": write_objects,
    "parquet": write_parquet,
    "csv.zst": write_zst,
    "jsonl.zst": write_zst,
    "xlsx": write_sheet,
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder of two Parquet parts, with what Spark leaves beside them."""
    folder = tmp_path / "parts"
    write_parquet(folder / "part-0.parquet", FIRST)
    write_parquet(folder / "deeper" / "part-1.parquet", SECOND)
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"crc")
    (folder / "part-0.parquet.crc").write_bytes(b"crc")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    return folder


# ---- several files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.few(2)
def test_two_files_are_read_as_one(ending: str, tmp_path: Path) -> None:
    """In every format, given one by one, by their folder, or by a pattern."""
    write = WRITERS[ending]
    one, two = write(tmp_path / f"1.{ending}", FIRST), write(tmp_path / f"2.{ending}", SECOND)
    assert counted(read_votes(one, ITEMS)) == expected(FIRST)
    for source in ([one, str(two)], tmp_path, f"{tmp_path}/*.{ending}", [tmp_path]):
        votes = read_votes(source, ITEMS)
        assert counted(votes) == expected()
        assert votes.shape.columns == ("person", "winner", "loser") or set(votes.shape.columns) == set(COLUMNS)


def test_the_order_of_columns_and_the_delimiter_may_differ(tmp_path: Path) -> None:
    """Columns are matched by name in every format."""
    one = as_csv(tmp_path / "1.csv", FIRST)
    two = tmp_path / "2.csv"
    two.write_text("loser;person;winner\n" + "".join(f"{b};{p};{a}\n" for p, a, b in SECOND))
    assert counted(read_votes([one, two], ITEMS)) == expected()
    turned = [(loser, person, winner) for person, winner, loser in SECOND]
    parquet = [write_parquet(tmp_path / "1.parquet", FIRST)]
    parquet.append(write_parquet(tmp_path / "2.parquet", turned, ("loser", "person", "winner")))
    assert counted(read_votes(parquet, ITEMS)) == expected()


def test_a_mix_of_arrays_and_lines_is_json(tmp_path: Path) -> None:
    """A .json file may hold either."""
    (tmp_path / "1.json").write_text(write_objects(tmp_path / "x.jsonl", FIRST).read_text())
    votes = read_votes([tmp_path / "1.json", write_objects(tmp_path / "2.json", SECOND)], ITEMS)
    assert counted(votes) == expected()


def test_ids_are_not_qualified_by_file(tmp_path: Path) -> None:
    """Ana is one person, whichever file she is in: four people in two files are three."""
    paths = [as_csv(tmp_path / "1.csv", FIRST), as_csv(tmp_path / "2.csv", SECOND)]
    report = qr.check(read_votes(paths, ITEMS), unit="person")
    assert (report.people, report.votes_per_person["most"]) == (3, 3)


def test_a_file_with_other_columns_is_refused_by_name(tmp_path: Path) -> None:
    as_csv(tmp_path / "1.csv", FIRST)
    write_csv(tmp_path / "2.csv", [("x", "y")], ("winner", "verlierer"))
    with pytest.raises(VotesError, match=r"2\.csv does not have the columns of .*: it lacks loser, person and also"):
        read_votes(tmp_path, ITEMS)


def test_types_of_names_must_agree(tmp_path: Path) -> None:
    """Ids that are whole numbers in one part and fractions in another would not be read as written."""
    pa.parquet.write_table(pa.table({"person": [1], "winner": ["x"], "loser": ["y"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"person": [2.5], "winner": ["x"], "loser": ["y"]}), tmp_path / "2.parquet")
    with pytest.raises(VotesError, match=r"'person' .* int64 in .*1\.parquet and double in .*2\.parquet"):
        read_votes(tmp_path, ITEMS)


def test_a_damaged_parquet_file_is_named_among_others(tmp_path: Path) -> None:
    """Its ends are those of a Parquet file; the engine names another one."""
    for part in range(4):
        columns = {name: [f"{name} {k * (part + 1)}" for k in range(5000)] for name in COLUMNS}
        pa.parquet.write_table(pa.table(columns), tmp_path / f"part-{part}.parquet")
    damaged = tmp_path / "part-2.parquet"
    data = bytearray(damaged.read_bytes())
    data[10 : len(data) // 2] = b"\xff" * (len(data) // 2 - 10)
    damaged.write_bytes(data)
    with pytest.raises(VotesError, match=r"^\S*part-2\.parquet cannot be read"):
        counted(read_votes(tmp_path, ITEMS, skip_invalid=True))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "csv.zst", "xlsx"])
@pytest.mark.few(2)
def test_a_bad_row_is_found_in_its_file(ending: str, tmp_path: Path) -> None:
    """The message names the file and the row in it, also where the engine read a private copy."""
    write = WRITERS[ending]
    write(tmp_path / f"1.{ending}", FIRST)
    write(tmp_path / f"2.{ending}", [*SECOND, ("eve", "x", "w")])
    with pytest.raises(VotesError, match=rf"/2\.{ending}, row 3: 'x' against 'w'"):
        counted(read_votes(tmp_path, ITEMS))


def test_a_ragged_row_is_found_in_its_file(tmp_path: Path) -> None:
    as_csv(tmp_path / "1.csv", FIRST)
    (tmp_path / "2.csv").write_text("person,winner,loser\na,x,y\nb,x\n")
    with pytest.raises(VotesError, match=r"/2\.csv has rows that do not fit its header, such as line 3"):
        counted(read_votes(tmp_path, ITEMS))


@pytest.mark.parametrize("change", ["grows", "vanishes"])
def test_every_file_must_stay_the_same(change: str, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two files changes while votes are read; a new file is not read: the list was fixed before."""
    votes = read_votes(parts, ITEMS)
    write_parquet(parts / "part-9.parquet", SECOND)
    assert counted(votes) == expected()
    second = parts / "deeper" / "part-1.parquet"
    honest = files.Source.require_unchanged

    def changed(source: files.Source) -> None:
        second.unlink()
        if change == "grows":
            write_parquet(second, ALL)
        honest(source)

    monkeypatch.setattr(files.Source, "require_unchanged", changed)
    with pytest.raises(VotesError, match=r"part-1\.parquet was changed after it was opened"):
        counted(votes)


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    """By its path, through a link, or because its folder is given as well."""
    path = as_csv(tmp_path / "1.csv", FIRST)
    os.link(path, tmp_path / "linked.csv")
    for source in ([path, path], [path, tmp_path / "linked.csv"], [tmp_path / "linked.csv", f"{tmp_path}/1*.csv"]):
        with pytest.raises(VotesError, match=r"twice|the same file"):
            read_votes(source, ITEMS)


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    as_csv(tmp_path / "1.csv", FIRST)
    (tmp_path / "again").symlink_to(tmp_path)
    with pytest.raises(VotesError, match="is a link to a folder that it lies in"):
        read_votes(tmp_path, ITEMS)


def test_a_name_with_a_star_is_a_file_if_there_is_one(tmp_path: Path) -> None:
    """A file called v*.csv is read alone, though v2.csv matches its name."""
    as_csv(tmp_path / "v*.csv", FIRST)
    as_csv(tmp_path / "v2.csv", SECOND)
    assert counted(read_votes(tmp_path / "v*.csv", ITEMS)) == expected(FIRST)
    assert counted(read_votes(tmp_path, ITEMS)) == expected()


# ---- keys in the names of folders ------------------------------------------------------------------------------------


def hive(folder: Path) -> Path:
    write_parquet(folder / "language=de" / "day=2026-01-01" / "part.parquet", FIRST)
    write_parquet(folder / "language=fr%20%2F" / "day=2026-01-02" / "part.parquet", SECOND)
    return folder


@pytest.mark.parametrize("how", ["folder", "pattern", "pattern of folders"])
def test_keys_of_folders_are_columns_of_text(how: str, tmp_path: Path) -> None:
    """Their values as they were before they were written into a path; a day stays text."""
    folder = hive(tmp_path / "winner=y" / "votes")
    ends = {"folder": "", "pattern": "/**/*.parquet", "pattern of folders": "/language=*"}
    votes = read_votes(f"{folder}{ends[how]}", ITEMS, by="language", groups=["de", "fr /"])
    assert votes.all_columns == (*COLUMNS, "language", "day")
    tallies = count_votes(votes, EVERY_VOTE)
    assert [tally.by_item.wins.tolist() for tally in tallies] == [expected(FIRST)[:3], expected(SECOND)[:3]]
    one = read_votes(folder, ITEMS, where="day = '2026-01-02'")
    assert counted(one) == expected(SECOND)


def test_only_keys_below_what_was_given_count(tmp_path: Path) -> None:
    """A folder winner=y above must not fill the column `winner`, whatever is given."""
    folder = hive(tmp_path / "winner=y" / "votes")
    file = folder / "language=de" / "day=2026-01-01" / "part.parquet"
    assert read_votes(file, ITEMS).all_columns == COLUMNS
    assert read_votes(file.parent, ITEMS).all_columns == COLUMNS
    assert read_votes(file.parent.parent, ITEMS).all_columns == (*COLUMNS, "day")
    assert read_votes(f"{file.parent.parent}/*/*.parquet", ITEMS).all_columns == (*COLUMNS, "day")
    for source in (file, file.parent, file.parent.parent, f"{file.parent}/*"):
        assert counted(read_votes(source, ITEMS)) == expected(FIRST)


def test_a_missing_key_is_a_missing_cell(tmp_path: Path) -> None:
    """Hive writes __HIVE_DEFAULT_PARTITION__ where there was nothing."""
    write_parquet(tmp_path / "language=__HIVE_DEFAULT_PARTITION__" / "part.parquet", FIRST)
    write_parquet(tmp_path / "language=de" / "part.parquet", SECOND)
    assert counted(read_votes(tmp_path, ITEMS, where="language is null")) == expected(FIRST)
    with pytest.raises(VotesError, match=r"group's cell is empty: 3 rows .*DEFAULT_PARTITION__/part.parquet, row 1"):
        count_votes(read_votes(tmp_path, ITEMS, by="language", groups=["de"]), EVERY_VOTE)


def test_a_key_may_be_called_file(tmp_path: Path) -> None:
    """The name is not special."""
    write_parquet(tmp_path / "file=1" / "part.parquet", FIRST)
    assert counted(read_votes(tmp_path, ITEMS, where="file = '1'")) == expected(FIRST)


def test_a_key_that_is_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "winner=y").mkdir()
    as_csv(tmp_path / "winner=y" / "1.csv", FIRST)
    with pytest.raises(VotesError, match=r"'winner' is in .* and also in the name of its folder, winner=y"):
        read_votes(tmp_path, ITEMS)


# ---- formats ---------------------------------------------------------------------------------------------------------


def test_a_workbook_is_read_as_it_looks(tmp_path: Path) -> None:
    """Whole numbers as such, dates in ISO form, empty rows at the end ignored; one of several sheets by its name."""
    import datetime as dt

    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["no", "votes"])
    sheet = book.create_sheet("votes")
    sheet.append(["person", "winner", "loser", "day", "at", "odd"])
    sheet.append([1.0, 10, 2.5, dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12, 30), True])
    sheet.append([2, 2.5, 10, dt.date(2026, 2, 1), None, 'a "b",\nc'])
    sheet.append([None, None, None])
    book.save(tmp_path / "v.xlsx")
    source = read_votes(tmp_path / "v.xlsx", ["10", "2.5"], sheet="votes").source
    assert source.table.to_pyarrow().to_pylist() == [
        {
            "person": "1", "winner": "10", "loser": "2.5", "day": "2026-01-31", "at": "2026-01-31 12:30:00",
            "odd": "true",
        },
        {"person": "2", "winner": "2.5", "loser": "10", "day": "2026-02-01", "at": None, "odd": 'a "b",\nc'},
    ]  # fmt: skip
    with pytest.raises(VotesError, match=r"has no sheet 'Votes'; .*the sheets are Sheet, votes"):
        read_votes(tmp_path / "v.xlsx", ITEMS, sheet="Votes")


def test_a_cell_outside_the_header_is_refused(tmp_path: Path) -> None:
    write_sheet(tmp_path / "v.xlsx", [("ana", "x", "y"), ("ben", "x", "y", "more")])
    with pytest.raises(VotesError, match="row 2 has a cell in column 4, which has no name"):
        read_votes(tmp_path / "v.xlsx", ITEMS)
    write_sheet(tmp_path / "e.xlsx", [("ana", "x", "y")], ())
    with pytest.raises(VotesError, match="begins with an empty row"):
        read_votes(tmp_path / "e.xlsx", ITEMS)


def test_a_workbook_without_openpyxl_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sheet(tmp_path / "v.xlsx", FIRST)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(VotesError, match=r"pip install 'quietrank\[excel\]'"):
        read_votes(tmp_path / "v.xlsx", ITEMS)


@pytest.mark.parametrize("ending", ["csv.zst", "jsonl.zst"])
def test_a_zst_file_cut_off_between_two_lines_is_refused(ending: str, tmp_path: Path) -> None:
    """DuckDB takes it for a file that ends there."""
    path = WRITERS[ending](tmp_path / f"v.{ending}", FIRST * 20_000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VotesError, match=rf"cannot read .*v\.{ending}: .*[Tt]runcated"):
        counted(read_votes(path, ITEMS))


ENCODINGS = ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-32", "shift_jis", "utf-8", "utf-8-sig"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.few(2)
def test_other_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    """Also where a character lies on the border of two chunks."""
    name = "日本" if encoding == "shift_jis" else "Köln"
    text = "winner,loser\n" + f"{name},x\n" * 200_000
    (tmp_path / "v.csv").write_bytes(text.encode(encoding))
    (tally,) = count_votes(read_votes(tmp_path / "v.csv", [name, "x"], encoding=encoding), EVERY_VOTE)
    assert tally.by_item.wins.tolist() == [400_000, 0]
    (tmp_path / "v.jsonl").write_bytes(f'{{"winner": "{name}", "loser": "x"}}\n'.encode(encoding))
    assert qr.check(read_votes(tmp_path / "v.jsonl", [name, "x"], encoding=encoding)).votes == 1


def test_the_error_guesses_the_encoding(tmp_path: Path) -> None:
    """Within the first megabyte, and behind it, where the engine finds it."""
    for far, encoding, guess in [(1, "cp1252", "cp1252"), (200_000, "cp1252", "cp1252"), (1, "utf-16", "utf-16")]:
        text = "winner,loser\n" + "x,y\n" * far + "x,Köln\n"
        (tmp_path / "v.csv").write_bytes(text.encode(encoding))
        with pytest.raises(VotesError, match=f"it looks like {guess}: add encoding={guess}") as refused:
            counted(read_votes(tmp_path / "v.csv", ["x", "y"]))
        assert f"line {far + 2}" in str(refused.value) or guess == "utf-16"
    (tmp_path / "v.csv").write_bytes(b"winner,loser\nx,K\x81ln\n")
    with pytest.raises(VotesError, match="looks like latin-1"):
        read_votes(tmp_path / "v.csv", ["x", "y"])


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_says_the_separator_is_skipped(mark: str, end: str, tmp_path: Path) -> None:
    """Excel writes sep=; and would not open the file otherwise; it takes precedence over a guess."""
    rows = ["sep=;", "person;winner;loser,or,other", "ana;x;y", "ben;y;x"]
    (tmp_path / "v.csv").write_bytes((mark + end.join(rows) + end).encode())
    votes = read_votes(tmp_path / "v.csv", ["x", "y"], winner="winner", loser="loser,or,other")
    assert counted_items(votes) == [2, 2]


def counted_items(votes: Votes) -> list[int]:
    (tally,) = count_votes(votes, EVERY_VOTE)
    wins: list[int] = tally.by_item.wins.tolist()
    return wins


# ---- standard input, and private copies ------------------------------------------------------------------------------


class Piped(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


def test_votes_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CSV, or what --input-format says; a bad row is found there."""
    text = as_csv(tmp_path / "v.csv", ALL).read_bytes()
    monkeypatch.setattr(sys, "stdin", Piped(text))
    assert "usable votes                           5" in run("check", "-", "--items", "x,y,z").stdout
    monkeypatch.setattr(sys, "stdin", Piped(write_parquet(tmp_path / "v.parquet", ALL).read_bytes()))
    assert run("rank", "-", "--input-format", "parquet", "--items", "x,y,z", *VOTE).code == 0
    monkeypatch.setattr(sys, "stdin", Piped(text))
    assert "row 2: 'y' against 'z'" in run("rank", "-", "--items", "x,y", *VOTE).stderr
    monkeypatch.setattr(sys, "stdin", Piped(b""))
    assert "standard input is empty" in run("rank", "-", "--items", "x,y", *VOTE).stderr


def test_private_copies_are_private_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of this user's alone, deleted with the votes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "v.csv").write_bytes("winner,loser\nKöln,x\n".encode("cp1252"))
    votes = read_votes(tmp_path / "v.csv", ["Köln", "x"], encoding="cp1252")
    (file,) = votes.source.ready
    assert file.path.parent.parent == tmp_path
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file.path, file.path.parent)] == [0o600, 0o700]
    place = file.path.parent
    del votes, file
    import gc

    gc.collect()
    assert not place.exists()


# ---- one command -----------------------------------------------------------------------------------------------------


def test_one_command_from_a_folder_of_parts_to_a_release(run: Run, parts: Path, tmp_path: Path) -> None:
    """Parquet parts as Spark writes them, to a release, a saved tally and a report."""
    hive(parts.parent / "by-language")
    out, tally = tmp_path / "release.json", tmp_path / "tally.json"
    words = ("--items", "x,y,z", *PEOPLE, "--out", out, "--save-tally", tally, "--report", tmp_path / "page.html")
    outcome = run("rank", parts, *words)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert sorted(row.item for row in qr.Release.from_json(out)) == ITEMS
    grouped = run(
        "rank", parts.parent / "by-language", "--items", "x,y,z", *PEOPLE, "--by", "language", "--groups", "de,fr /",
        "--overall",
    )  # fmt: skip
    assert grouped.code == 0
    assert "Each vote has its own language" in " ".join(grouped.stdout.split())


def test_no_input_is_overwritten(run: Run, tmp_path: Path) -> None:
    """A release in the folder of votes, or among them by a pattern, is read, and so not replaced."""
    folder = tmp_path / "votes"
    folder.mkdir()
    as_csv(folder / "v.csv", ALL)
    (folder / "r.csv").write_text("rank,item,score\n")
    for votes in (folder, f"{folder}/*.csv", folder / "r.csv"):
        outcome = run("rank", votes, "--items", "x,y,z", *VOTE, "--out", folder / "r.csv", "--overwrite")
        assert outcome.code == 1
        assert "would overwrite" in outcome.stderr
    assert (folder / "r.csv").read_text() == "rank,item,score\n"


def test_lists_of_other_things_are_refused() -> None:
    wrong: list[Any] = [[], [1], ["v.csv", None], ()]
    for source in wrong:
        with pytest.raises(VotesError, match="cannot read votes from a"):
            read_votes(source, ITEMS)
