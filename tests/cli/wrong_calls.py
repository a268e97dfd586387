"""A table of command lines that must be refused, and the folder of files that they are about.

Each line has the words after `quietrank`, the exit code, and what the message must say. Words are split as a shell
would split them, but nothing is expanded; what a shell could not write is given as a tuple.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quietrank.ledger.book import BudgetLedger
from quietrank.pipeline import noisy_tally, noisy_tally_by_group, rank, rank_by_group
from quietrank.promise.privacy import Privacy
from quietrank.votes.read import Votes, read_votes

REFUSED, USAGE = 1, 2

Words = str | tuple[str, ...]
Line = tuple[Words, int, str]

ROWS = "ana,x,y,n\nana,y,z,n\nben,x,z,s\neve,z,x,s\n"
HEADER = "person,winner,loser,land\n"
ITEMS = ["x", "y", "z"]
BYTE = os.fsdecode(b"\xff")
"""a byte that is not UTF-8, as it arrives in an argument"""
INVALID = "Invalid value for|must be a (whole )?number"
"""how Typer begins; how it goes on differs between its versions. What is no number at all is refused in our words."""
ESCAPE, BIDI, EMOJI, ACCENT = "\x1b[31m", "\u202e", "🦆", "e\u0301"


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.compress(data, codec="zstd", asbytes=True))


# ---- the folder --------------------------------------------------------------------------------------------------

TEXTS: dict[str, str | bytes] = {
    "votes.csv": HEADER + ROWS,
    "plain.csv": "winner,loser\nx,y\ny,z\n",
    "two-people.csv": "user,voter,winner,loser\na,b,x,y\n",
    "empty.csv": "",
    "blank.csv": "\n\n",
    "blank-first.csv": "\nwinner,loser\nx,y\n",
    "header-only.csv": "winner,loser\n",
    "one-column.csv": "winner\nx\n",
    "nameless.csv": "winner,loser,\nx,y,1\n",
    "twice.csv": "winner,loser,Winner\nx,y,x\n",
    "huge-header.csv": "winner," + "l" * 200_000 + "\nx,y\n",
    "ragged.csv": "winner,loser\nx,y\nx,y,z\nx\n",
    "quote.csv": 'winner,loser\nx,"y\nx,z\n',
    "nul.csv": "winner,loser\nx,y\0\n",
    "latin1.csv": "winner,loser\nx,y\ncafé,y\n".encode("latin-1"),
    "utf16.csv": "winner,loser\nx,y\n".encode("utf-16"),
    "escape.csv": f"winner,loser\nx,{ESCAPE}y\n",
    "escape-header.csv": f"good{ESCAPE},bad\nx,y\n",
    "bidi.csv": f"winner,loser\nx,{BIDI}y\n",
    "accent.csv": "winner,loser\nx,\u00e9\n",
    "spaces.csv": "winner,loser\nx, y\n",
    "strangers.csv": "winner,loser\nx,w\n",
    "itself.csv": "winner,loser\nx,x\n",
    "missing.csv": "winner,loser\nx,\n",
    "maybe.csv": "a,b,outcome\nx,y,maybe\n",
    "tie-maybe.csv": "winner,loser,tie\nx,y,perhaps\n",
    "nobody.csv": "person,winner,loser\n,x,y\n",
    "always.csv": "winner,loser\nx,y\nx,z\ny,z\nz,y\n",
    "columns.csv": "good,bad\nx,y\n",
    "ambiguous.csv": "winner,loser,chosen_model,rejected_model\nx,y,x,y\n",
    "answers.csv": "a,b,outcome,tie\nx,y,a,0\n",
    "two-ties.csv": "winner,loser,tie,draw\nx,y,0,0\n",
    "moving.csv": "person,winner,loser,land\na,x,y,n\na,x,y,s\n",
    "zero.csv": "a,b,outcome\nx,y,1\nx,y,0\n",
    "texts.csv": "prompt,chosen,rejected\nhow,like this,like that\n",
    "agree.csv": "voter-id,comment-id,vote\n1,2,-1\n",
    "one-hot.csv": "model_a,model_b,winner_model_a,winner_model_b\nx,y,1,1\n",
    "counts.csv": "person,winner,loser,n\nana,x,y,3\nben,y,z,1.5\n",
    "win1.csv": "player1,player2,win1,win2\nx,y,3,1\ny,z,2,0\n",
    "picture.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(40),
    "not.parquet": "winner,loser\nx,y\n",
    "cut.csv.gz": gzip.compress(b"winner,loser\n" + b"x,y\n" * 9_000)[:40],
    "no.csv.gz": b"winner,loser\nx,y\n",
    "no-array.json": "[1, 2]\n",
    "empty-array.json": "[ ]\n",
    "open-array.json": '[{"winner": "x", "loser": "y"},\n',
    "array-keys.json": '[{"winner": "x", "loser": "y"}, {"winner": "x"}]\n',
    "array.jsonl": '[{"winner": "x", "loser": "y"}]\n',
    "cut.csv.zst": zstd(b"winner,loser\n" + b"x,y\n" * 9_000)[:20],
    "no.csv.zst": b"winner,loser\nx,y\n",
    "unknown-parts/part-0001": "winner,loser\nx,y\n",
    "unknown-parts/part.csv": "winner,loser\nx,y\n",
    "delta/part.csv": "winner,loser\nx,y\n",
    "delta/_delta_log/0.json": "{}\n",
    "hive/winner=x/part.csv": "winner,loser\nx,y\n",
    "odd-hive/part.csv": "winner,loser\nx,y\n",
    "odd-hive/day=1/part.csv": "winner,loser\nx,y\n",
    "number.jsonl": "1\n",
    "no-keys.jsonl": "{}\n",
    "keys.jsonl": '{"winner": "x", "loser": "y"}\n{"winner": "x", "loser": "y", "tie": true}\n',
    "fewer.jsonl": '{"winner": "x", "loser": "y"}\n{"winner": "x"}\n',
    "half.jsonl": '{"winner": "x", "loser": "y"}\n{"winner": \n',
    "list.jsonl": '{"winner": ["x"], "loser": "y"}\n',
    "fraction.jsonl": '{"winner": 0.10, "loser": "y"}\n',
    "nested.jsonl": '{"winner": ' + "[" * 100_000 + "\n",
    "nan.jsonl": '{"winner": NaN, "loser": "y"}\n',
    "book.xlsx": b"PK\x03\x04",
    "noname": HEADER + ROWS,
    "items.txt": "x\ny\nz\n",
    "no-items.txt": "\n\n",
    "one-item.txt": "x\n",
    "items-twice.txt": "x\ny\nx\n",
    "items-latin1.txt": "x\ncafé\n".encode("latin-1"),
    "items-nul.txt": "x\ny\0\n",
    "items-long.txt": "x\n" + "y" * 100_000 + "\n",
    "items-long-twice.txt": ("y" * 100_000 + "\n") * 2,
    "items-escape.txt": f"x\n{ESCAPE}y\n{ESCAPE}y\n",
    "items-picture.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "no-groups.txt": "\n",
    "groups-twice.txt": "n\nn\n",
    "pairs.csv": "x,y\ny,z\n",
    "no-pairs.csv": "\n",
    "pairs-three.csv": "x,y,z\n",
    "pairs-strange.csv": "x,w\n",
    "pairs-itself.csv": "x,x\n",
    "pairs-alone.csv": "x,y\n",
    "pairs-latin1.csv": "x,café\n".encode("latin-1"),
    "pairs-nul.csv": "x,y\0\n",
    "pairs-long.csv": "x," + "y" * 200_000 + "\n",
    "strengths.csv": "item,strength\nx,1\ny,0\n",
    "strengths-nan.csv": "item,strength\nx,nan\ny,0\n",
    "strengths-one.csv": "item,strength\nx,1\n",
    "strengths-words.csv": "item,strength\nx,much\ny,0\n",
    "strengths-columns.csv": "name,theta\nx,1\ny,0\n",
    "strengths-twice.csv": "item,strength\nx,1\nx,0\n",
    "strengths-nameless.csv": "item,strength\n,1\ny,0\n",
    "strengths-long.csv": "item,strength\n" + "x" * 200_000 + ",1\ny,0\n",
    "strengths-short.csv": "item,strength\nx\ny,0\n",
    "strengths-huge.csv": "item,strength\nx,1e308\ny,-1e308\n",
    "mine.json": '{"mine": 1}\n',
    "mine.csv": "a,b\n1,2\n",
    "mine.png": b"\x89PNG\r\n\x1a\n",
    "broken.json": '{"format": ',
    "deep.json": "[" * 100_000,
    "numbers.json": "[1, 2]",
    "nul.json": b"\0",
    "latin1.json": '{"é": 1}'.encode("latin-1"),
    "digits.json": '{"format": ' + "9" * 10_000 + "}",
    "empty.json": "",
    "reference.csv": "experiment,method,metric,n,p,epsilon,mean\n1,ours,topk_error,20,0.5,1,0.5\n",
    "reference-words.csv": "experiment,method,metric,n,p,epsilon,mean\n1,ours,topk_error,many,0.5,1,0.5\n",
    "results/means.csv": "experiment,method,metric,n,p,m,epsilon,data,runs,mean,standard_error\n",
    "odd-results/means.csv": "a,b\n1,2\n",
    "latin1-results/means.csv": "experiment,é\n1,2\n".encode("latin-1"),
    "text.db": "not a database, but long enough to be looked at " * 50,
    "empty.db": "",
}


def furnish(folder: Path) -> None:
    """Make every file that the calls below are about."""
    for name, content in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in ("folder", "folder.csv", "folder.json", "folder.png"):
        (folder / name).mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling.json").symlink_to("nowhere.json")
    votes = read_votes(folder / "votes.csv", ITEMS)
    _make_parquet(folder)
    _make_ledgers(folder)
    _make_results(folder, votes, read_votes(folder / "votes.csv", ITEMS, by="land", groups=["n", "s"]))


def _make_parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"winner": ["x", "y"], "loser": ["y", "z"]})
    pq.write_table(table, folder / "good.parquet")
    whole = (folder / "good.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    lists = pa.table({"winner": [["x"], ["y"]], "loser": ["y", "z"]})
    pq.write_table(lists, folder / "lists.parquet")


def _make_ledgers(folder: Path) -> None:
    make: dict[str, Any] = {"data": "votes", "unit": "comparison"}
    BudgetLedger.create(folder / "rich.db", 9, **make)
    BudgetLedger.create(folder / "poor.db", 0.5, **make)
    BudgetLedger.create(folder / "people.db", 9, data="votes", unit="person")
    BudgetLedger.create(folder / "outcome.db", 9, data="votes", unit="comparison", neighbours="outcome")
    whole = BudgetLedger.create(folder / "edited.db", 9, **make).path.read_bytes()
    (folder / "cut.db").write_bytes(whole[: len(whole) // 2])
    (folder / "zeros.db").write_bytes(whole[:100] + bytes(len(whole) - 100))
    with sqlite3.connect(folder / "edited.db") as db:
        db.execute("UPDATE header SET state = '{}'")
    db.close()
    with sqlite3.connect(folder / "other.db") as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    BudgetLedger.create(folder / "read-only.db", 9, **make)


def _make_results(folder: Path, votes: Votes, lands: Votes) -> None:
    """Releases and tallies, whole and broken."""
    person, vote = Privacy(1, "person", max_per_person=2), Privacy(1, "comparison")
    rank(votes, vote).to_json(folder / "release.json")
    rank(votes, vote).to_csv(folder / "release.csv")
    rank(votes, vote, method="bradley-terry").to_json(folder / "scores.json")
    rank_by_group(lands, person).to_json(folder / "grouped-release.json")
    good = json.loads(noisy_tally(votes, vote).to_json(folder / "tally.json"))
    grouped = json.loads(noisy_tally_by_group(lands, person).to_json(folder / "grouped.json"))
    for name, edit in BROKEN_TALLIES.items():
        values = json.loads(json.dumps(good))
        edit(values)
        (folder / f"tally-{name}.json").write_text(json.dumps(values), encoding="utf-8")
    other = json.dumps(good | {"format": "quietrank/noisy-tally/2"})
    (folder / "tally-of-tomorrow.json").write_text(other, encoding="utf-8")
    for name, edit in BROKEN_GROUPS.items():
        values = json.loads(json.dumps(grouped))
        edit(values)
        (folder / f"grouped-{name}.json").write_text(json.dumps(values), encoding="utf-8")


Edit = Callable[[dict[str, Any]], object]
BROKEN_TALLIES: dict[str, Edit] = {
    "epsilon": lambda v: v["privacy"].update(epsilon=0.1),
    "unit": lambda v: v["privacy"].update(unit="person", max_per_person=1),
    "negative": lambda v: v["privacy"].update(epsilon=-1),
    "unknown-unit": lambda v: v["privacy"].update(unit="votes"),
    "extra-promise": lambda v: v["privacy"].update(sigma=3),
    "no-privacy": lambda v: v.pop("privacy"),
    "privacy-list": lambda v: v.update(privacy=[1]),
    "law": lambda v: v["law"].update(scale=1e-9),
    "law-kind": lambda v: v["law"].update(kind="none"),
    "law-kind-list": lambda v: v["law"].update(kind=[]),
    "law-huge": lambda v: v["law"].update(scale=10**400),
    "no-law": lambda v: v.update(law=None),
    "values-nan": lambda v: v["values"].__setitem__(0, float("nan")),
    "values-text": lambda v: v["values"].__setitem__(0, "1"),
    "values-huge": lambda v: v["values"].__setitem__(0, 2**64),
    "values-short": lambda v: v["values"].pop(),
    "values-number": lambda v: v.update(values=1),
    "values-bool": lambda v: v["values"].__setitem__(0, True),
    "no-values": lambda v: v.pop("values"),
    "step-zero": lambda v: v.update(step="0"),
    "step-words": lambda v: v.update(step="one half"),
    "step-ratio": lambda v: v.update(step="1/0"),
    "step-list": lambda v: v.update(step=[]),
    "step-huge": lambda v: v.update(step="1e999999"),
    "share": lambda v: v.update(share="-1"),
    "statistic": lambda v: v.update(statistic="guesses"),
    "statistic-list": lambda v: v.update(statistic=["wins"]),
    "items-twice": lambda v: v["items"].update(names=["x", "x", "z"]),
    "items-numbers": lambda v: v["items"].update(names=[1, 2, 3]),
    "items-text": lambda v: v["items"].update(names="xyz"),
    "items-null": lambda v: v.update(items=None),
    "items-one": lambda v: v["items"].update(names=["x"]),
    "items-flag": lambda v: v["items"].update(from_votes="no"),
    "items-escape": lambda v: v["items"].update(names=[f"x{ESCAPE}", f"x{ESCAPE}", "z"]),
    "items-surrogate": lambda v: v["items"].update(names=["x", "y", "\ud800"]),
    "pairs": lambda v: v["items"].update(pairs=[[0, 9]]),
    "pairs-text": lambda v: v["items"].update(pairs="xy"),
    "pairs-wide": lambda v: v["items"].update(pairs=[[0, 1, 2]]),
    "mechanism": lambda v: v["mechanism"].update(name="magic"),
    "mechanism-auto": lambda v: v["mechanism"].update(name="auto"),
    "mechanism-mle": lambda v: v["mechanism"].update(name="perturbed-mle"),
    "mechanism-list": lambda v: v.update(mechanism=[]),
    "alternatives": lambda v: v["mechanism"].update(alternatives={"laplace": "much"}),
    "public": lambda v: v.update(public=None),
    "exposure": lambda v: v["public"].update(exposure=[1, 2]),
    "exposure-text": lambda v: v["public"].update(exposure=["a", "b", "c"]),
    "total-nan": lambda v: v["public"].update(total=float("nan")),
    "total-negative": lambda v: v["public"].update(total=-4),
    "total-text": lambda v: v["public"].update(total="four"),
    "skipped": lambda v: v.update(rows_skipped=0),
    "entry": lambda v: v.update(ledger_entry=7),
}
BROKEN_GROUPS: dict[str, Edit] = {
    "none": lambda v: v.update(groups={}),
    "list": lambda v: v.update(groups=[]),
    "by": lambda v: v.update(by=1),
    "epsilon": lambda v: v["groups"]["n"]["privacy"].update(epsilon=2),
    "entry": lambda v: v["groups"]["n"].update(ledger_entry="1-a"),
    "items": lambda v: v["groups"]["n"]["items"].update(names=["x", "y", "w"]),
    "one-broken": lambda v: v["groups"].update(n=None),
    "blank": lambda v: v["groups"].update({" ": v["groups"]["n"]}),
}

# ---- the calls ---------------------------------------------------------------------------------------------------

PROMISE = "--unit comparison --epsilon 1"
RANK = f"rank votes.csv --items x,y,z {PROMISE}"
PEOPLE = "rank votes.csv --items x,y,z --unit person --epsilon 1"


def _words(text: Words) -> tuple[str, ...]:
    import shlex

    return text if isinstance(text, tuple) else tuple(shlex.split(text))


def _rank(*more: str) -> tuple[str, ...]:
    return (*_words(RANK), *more)


GENERAL: list[Line] = [
    ("nothing-like-it", USAGE, r"No such command 'nothing-like-it'; see quietrank --help"),
    ("rnk", USAGE, r"No such command 'rnk'. Did you mean 'rank', 'rerank'\?; see quietrank --help"),
    ("--no-such-flag", USAGE, "No such option"),
    ("'' x", USAGE, "No such command"),
    ((EMOJI,), USAGE, "No such command"),
    ((BYTE,), USAGE, "No such command"),
    ((f"--{ESCAPE}",), USAGE, "No such option"),
    ((ESCAPE,), USAGE, "No such command"),
    ("rank", USAGE, "say what is protected"),
    ("rank votes.csv --no-such-flag", USAGE, r"No such option: --no-such-flag.*; see quietrank rank --help"),
    ("ledger shw", USAGE, r"Did you mean 'show'\?; see quietrank ledger --help"),
    ("rank votes.csv --epsilon", USAGE, "requires an argument"),
    ("rerank", USAGE, "Missing argument"),
    ("check", USAGE, "give VOTES, or --connect and --table"),
    ("fit", USAGE, "give VOTES, or --connect and --table"),
    ("plan", USAGE, "Missing option"),
    ("ledger nothing-like-it", USAGE, "No such command"),
    ("ledger new", USAGE, "Missing argument"),
    ("ledger new b.db", USAGE, "Missing option"),
    ("ledger show", USAGE, "Missing argument"),
    ("ledger verify", USAGE, "Missing argument"),
    ("paper check", USAGE, "Missing option"),
    ("paper nothing-like-it", USAGE, "No such command"),
    ("demo votes.csv", USAGE, "unexpected extra argument"),
    ("audit votes.csv", USAGE, "unexpected extra argument"),
]

NUMBERS: list[Line] = [
    (f"rank votes.csv --items x,y,z --unit comparison --epsilon {value}", code, message)
    for value, code, message in [
        ("0", USAGE, r"--epsilon must be a number > 0"),
        ("-1", USAGE, r"--epsilon -1\.0"),
        ("nan", USAGE, "--epsilon nan"),
        ("inf", USAGE, "--epsilon inf"),
        ("-inf", USAGE, "--epsilon -inf"),
        ("1e308", USAGE, r"--epsilon 1e\+308"),
        ("1e-400", USAGE, r"--epsilon 0\.0"),
        ("9" * 400, USAGE, "--epsilon inf"),
        ("one", USAGE, INVALID),
        ("1,5", USAGE, INVALID),
        ("''", USAGE, INVALID),
        ("True", USAGE, INVALID),
        ("1/2", USAGE, INVALID),
        (EMOJI, USAGE, INVALID),
        ("0x10", USAGE, INVALID),
    ]
]
NUMBERS += [
    (_rank("--delta", value), code, message)
    for value, code, message in [
        ("-1e-6", USAGE, "--delta must be 0, or a small number"),
        ("0.5", USAGE, "--delta"),
        ("nan", USAGE, "--delta nan"),
        ("inf", USAGE, "--delta inf"),
        ("", USAGE, INVALID),
        ("tiny", USAGE, INVALID),
    ]
]
NUMBERS += [
    (f"{PEOPLE} --max-per-person {value}", code, message)
    for value, code, message in [
        ("0", USAGE, "--max-per-person must be a whole number"),
        ("-3", USAGE, "--max-per-person -3"),
        ("1.5", USAGE, "--max-per-person 1.5"),
        ("nan", USAGE, "--max-per-person nan"),
        ("inf", USAGE, "--max-per-person inf"),
        ("1e308", USAGE, "--max-per-person 1e"),
        ("four", USAGE, "--max-per-person must be a number or auto"),
        ("''", USAGE, "--max-per-person must be a number or auto"),
        ("auto --delta 1e-6 --clip 2", USAGE, "leave --clip out"),
        ("auto --unit comparison", USAGE, "--max-per-person auto is for --unit person"),
    ]
]
NUMBERS += [
    (f"{PEOPLE} --max-per-person 2 --delta 1e-6 --clip {value}", code, message)
    for value, code, message in [
        ("0", USAGE, "--clip must be a number from"),
        ("-1", USAGE, "--clip -1"),
        ("nan", USAGE, "--clip nan"),
        ("1e308", USAGE, "--clip 1e"),
        ("1e-400", USAGE, "--clip 0"),
        ("wide", USAGE, INVALID),
        ("''", USAGE, INVALID),
    ]
]
NUMBERS += [
    (_rank("--method", "bradley-terry", "--gamma", value), code, message)
    for value, code, message in [
        ("0", USAGE, "--gamma must be a finite number"),
        ("-1", USAGE, "--gamma -1"),
        ("nan", USAGE, "--gamma nan"),
        ("inf", USAGE, "--gamma inf"),
        ("1e400", USAGE, "--gamma inf"),
        ("much", USAGE, "number or auto"),
        ("", USAGE, "number or auto"),
        (BYTE, USAGE, "number or auto"),
    ]
]
NUMBERS += [
    (_rank("--mechanism", "perturbed-mle", "--comparisons-per-item", value), code, message)
    for value, code, message in [
        ("0", USAGE, "--comparisons-per-item must be"),
        ("-1", USAGE, "--comparisons-per-item -1"),
        ("nan", USAGE, "--comparisons-per-item nan"),
        ("inf", USAGE, "--comparisons-per-item inf"),
        ("few", USAGE, INVALID),
    ]
]

WORDS: list[Line] = [
    (RANK.replace("--unit comparison", "--unit votes"), USAGE, "--unit must be one of comparison, person"),
    (RANK.replace("--unit comparison", "--unit ''"), USAGE, "--unit must be one of"),
    (RANK.replace("--unit comparison", ""), USAGE, "say what is protected: --unit"),
    (RANK.replace("--epsilon 1", ""), USAGE, "say how strong the promise is: --epsilon"),
    (_rank("--neighbours", "next-door"), USAGE, "--neighbours must be one of"),
    (_rank("--neighbours", ""), USAGE, "--neighbours must be one of"),
    (_rank("--design", "secret"), USAGE, "--design must be one of"),
    (_rank("--design", ""), USAGE, "--design must be one of"),
    (_rank("--mechanism", "magic"), USAGE, "--mechanism must be one of"),
    (_rank("--mechanism", ""), USAGE, "--mechanism must be one of"),
    (_rank("--method", "elo"), USAGE, "--method must be one of"),
    (_rank("--method", ""), USAGE, "--method must be one of"),
    (_rank("--method", ESCAPE), USAGE, "--method must be one of"),
    (_rank("--method", BYTE), USAGE, "--method must be one of"),
    (_rank("--format", "xml"), USAGE, "is not one of"),
    (_rank("--format", ""), USAGE, "is not one of"),
    (_rank("--format", "JSON "), USAGE, "is not one of"),
    (_rank("--mechanism", "perturbed-mle", "--calibration", ""), USAGE, "--calibration must be one of"),
    (_rank("--mechanism", "perturbed-mle", "--link", "probit"), USAGE, "probit link is refused"),
    (_rank("--mechanism", "perturbed-mle", "--link", ""), USAGE, "unknown --link"),
    (_rank("--mechanism", "perturbed-mle", "--link", BIDI), USAGE, "unknown --link"),
]

READERS: list[Line] = [
    (f"{PEOPLE} --max-per-person 2 {words}", code, message)
    for words, code, message in [
        ("--level 90", USAGE, "--level must be a number from 0.5 to 0.999, such as 0.9; got --level 90"),
        ("--level 0", USAGE, "--level must be"),
        ("--level 1", USAGE, "--level must be"),
        ("--level nan", USAGE, "--level nan"),
        ("--level high", USAGE, INVALID),
        ("--level ''", USAGE, INVALID),
        ("--simultaneous=yes", USAGE, "does not take a value"),
        ("--scale odds", USAGE, "--scale must be one of log-odds, elo, probability"),
        ("--scale ''", USAGE, "--scale must be one of"),
        ("--scale elo --method net-wins", USAGE, "--scale elo is for Bradley-Terry scores; use --method"),
        ("--scale probability --method wins", USAGE, "--scale probability is for Bradley-Terry scores"),
        ("--anchor x=1000", USAGE, "--anchor belongs to --scale elo; add it, or leave the anchor out"),
        ("--anchor x=1000 --scale probability", USAGE, "--anchor belongs to --scale elo"),
        ("--sampling-share 2", USAGE, "--sampling-share must be a number from 0, which buys nothing, to 0.5"),
        ("--sampling-share -1", USAGE, "--sampling-share -1"),
        ("--sampling-share nan", USAGE, "--sampling-share nan"),
        ("--sampling-share half", USAGE, "--sampling-share must be a number or auto"),
        ("--sampling-share ''", USAGE, "number or auto"),
    ]
]
READERS += [
    (f"{PEOPLE} --max-per-person 2 --method bradley-terry --scale elo --anchor {words}", USAGE, message)
    for words, message in [
        ("x", "--anchor must be an item and its score, such as item=1000; got --anchor 'x'"),
        ("x=", "--anchor must be an item and its score"),
        ("x=high", "--anchor must be"),
        ("x=inf", "--anchor must be"),
        ("=1000", "--anchor must be"),
        ("''", "--anchor must be"),
    ]
]
READERS += [
    (f"{PEOPLE} --max-per-person 2 --scale elo --anchor w=1000", REFUSED, "--anchor names 'w', which is not an")
]
"""how the release is to be read"""

CONTRADICTIONS: list[Line] = [
    (f"{RANK} --items-from-votes", USAGE, "one of the two"),
    (f"rank votes.csv {PROMISE}", USAGE, "declare the items with --items"),
    (f"{RANK} --max-per-person 2", USAGE, "--max-per-person has no meaning for --unit comparison"),
    (f"{RANK} --one-per-pair", USAGE, "--one-per-pair and --clip bound what one person"),
    (f"{RANK} --clip 2", USAGE, "--clip bound what one person"),
    (PEOPLE, USAGE, "--unit person needs --max-per-person"),
    (f"{PEOPLE} --clip 2 --mechanism laplace", REFUSED, "needs --max-per-person"),
    (f"{PEOPLE} --clip 2 --mechanism zonotope", REFUSED, "or --one-per-pair if nobody is asked"),
    (f"{PEOPLE} --clip 2 --mechanism gaussian", REFUSED, "needs --delta above 0"),
    (f"{RANK} --mechanism ball", REFUSED, "of single votes the ball mechanism releases net wins or wins alone"),
    (f"{PEOPLE} --clip 2 --delta 1e-6 --mechanism laplace", REFUSED, "needs --max-per-person"),
    (f"{RANK} --design public", USAGE, "--design public"),
    (f"{RANK} --neighbours outcome", USAGE, "--neighbours outcome does not go with --design private"),
    (f"{RANK} --gamma 1", USAGE, "--gamma belongs to --method bradley-terry"),
    (f"{RANK} --link logit", USAGE, "belong to --mechanism perturbed-mle"),
    (f"{RANK} --calibration published", USAGE, "belong to --mechanism perturbed-mle"),
    (f"{RANK} --comparisons-per-item 3", USAGE, "belong to --mechanism perturbed-mle"),
    (f"{RANK} --mechanism perturbed-mle --method wins", USAGE, "leave --method wins out"),
    (f"{RANK} --mechanism perturbed-mle --save-tally t.json", USAGE, "leave --save-tally out"),
    (f"{RANK} --mechanism perturbed-mle --neighbours outcome --design public", REFUSED, "designs that are not public"),
    (f"{RANK} --mechanism perturbed-mle --gamma 1e-9", REFUSED, "gamma"),
    (f"{PEOPLE} --max-per-person 2 --mechanism perturbed-mle", REFUSED, "--comparisons-per-item"),
    (f"{RANK} --mechanism gaussian", REFUSED, "needs --delta"),
    (f"{RANK} --mechanism zonotope", REFUSED, "needs --unit person"),
    (f"{PEOPLE} --one-per-pair --mechanism zonotope --method wins", REFUSED, "--method net-wins"),
    (f"{RANK} --by land", USAGE, "say both: --by"),
    (f"{RANK} --groups n,s", USAGE, "say both: --by"),
    (f"{RANK} --winner winner", REFUSED, "give --winner and --loser together"),
    (f"{RANK} --a winner --b loser", REFUSED, "give --a, --b and --outcome together"),
    (f"{RANK} --winner winner --loser loser --outcome land", REFUSED, "together"),
    (f"{RANK} --a winner --b loser --outcome land --tie land", REFUSED, "--tie goes with"),
    (f"{RANK} --out r.json --save-tally r.json", USAGE, "--out and --save-tally are both"),
    (f"{RANK} --out ./r.json --save-tally folder/../r.json", USAGE, "give each its own file"),
    (f"{RANK} --overwrite=yes", USAGE, "does not take a value"),
    (f"{RANK} --winner winner --loser winner", REFUSED, "compared with itself|same column"),
]

TOP: list[Line] = [
    *(
        (f"{RANK} --only-top {k}", code, message)
        for k, code, message in [
            ("0", USAGE, "--only-top must be a whole number, 1 or more"),
            ("-1", USAGE, "--only-top must be a whole number, 1 or more"),
            ("3", REFUSED, "--only-top must be below the number of items, 3"),
            ("99", REFUSED, "--only-top must be below the number of items, 3"),
        ]
    ),
    (f"{RANK} --only-top two", USAGE, INVALID),
    (f"{RANK} --only-top 1.5", USAGE, INVALID),
    *(
        (f"{RANK} --only-top 1 {more}", USAGE, "publishes names and no counts, so")
        for more in (
            "--level 0.95", "--simultaneous", "--scale elo", "--save-tally t.json", "--plot p.png", "--ties davidson",
            "--gamma 1", "--sampling-share 0.01", "--overall", "--compare-exact c.png", "--calibration published",
        )
    ),
    (f"{RANK} --only-top 1 --method bradley-terry", USAGE, "by net wins or by wins"),
    (f"{RANK} --only-top 1 --mechanism perturbed-mle", REFUSED, "publishes the scores of all items"),
    (f"{RANK} --only-top 1 --mechanism exponential", REFUSED, "needs --delta above 0"),
    (f"{RANK} --mechanism permute-and-flip", USAGE, "add --only-top K"),
    (f"{RANK} --mechanism exponential --delta 1e-6", USAGE, "add --only-top K"),
    (f"{PEOPLE} --only-top 1", USAGE, "needs --max-per-person"),
]  # fmt: skip

VOTES: list[Line] = [
    (f"rank {name} --items x,y,z {PROMISE}", REFUSED, message)
    for name, message in [
        ("nowhere.csv", "there is no file nowhere.csv"),
        ("''", "the path of the votes is empty"),
        ("folder", "there is no file of votes in the folder folder"),
        ("folder.csv", "there is no file of votes in the folder folder.csv"),
        ("'nothing-*.csv'", r"there is no file nothing-\*.csv, and as a pattern it matches none"),
        ("votes.csv plain.csv", "plain.csv does not have the columns of votes.csv: it lacks land, person"),
        ("plain.csv votes.csv", "it also has land, person; give files with the same columns"),
        ("votes.csv ./votes.csv", "votes.csv is given twice"),
        ("votes.csv folder/../votes.csv", "is the same file as votes.csv"),
        ("votes.csv keys.jsonl", "give files of one format"),
        ("results", "do not say which column"),
        ("unknown-parts", "cannot tell the format of part-0001.*or leave it out"),
        ("delta", "is a Delta table"),
        ("odd-hive", "give the columns none, but those of .* day"),
        ("hive", "in the name of its folder"),
        ("loop.csv", "there is no file"),
        ("empty.csv", "is empty"),
        ("blank.csv", "is empty"),
        ("blank-first.csv", "begins with an empty line"),
        ("header-only.csv", "has no votes"),
        ("one-column.csv", "single column 'winner'"),
        ("nameless.csv", "no name in the header"),
        ("twice.csv", "appears twice"),
        ("huge-header.csv", "the header"),
        ("ragged.csv", "line 3"),
        ("quote.csv", "cannot be read|do not fit"),
        ("nul.csv", "NUL bytes"),
        ("latin1.csv", r"not UTF-8 text \(line 3\); it looks like cp1252: add --encoding cp1252"),
        ("utf16.csv", "it looks like utf-16: add --encoding utf-16"),
        ("latin1.csv --encoding ascii", "latin1.csv is not ascii text"),
        ("votes.csv --encoding klingon", "--encoding must name an encoding of text"),
        ("votes.csv --encoding base64", "--encoding must name an encoding of text"),
        ("lists.parquet --encoding cp1252", "--encoding is for text files"),
        ("votes.csv --sheet votes", "--sheet is for Excel workbooks"),
        ("votes.csv --input-format pdf", "--input-format must be one of csv"),
        ("votes.csv --input-format parquet", "not a Parquet file"),
        ("cut.csv.zst", "cannot read cut.csv.zst"),
        ("no.csv.zst", "cannot read no.csv.zst"),
        ("escape.csv", r"'\\x1b\[31my'"),
        ("escape-header.csv", "the columns good"),
        ("bidi.csv", r"\\u202ey"),
        ("accent.csv", "not on the declared list"),
        ("spaces.csv", "only by spaces, case"),
        ("strangers.csv", "declare every item with --items"),
        ("itself.csv", "compared with itself"),
        ("missing.csv", "cell is empty"),
        ("maybe.csv", "outcome cannot be read"),
        ("tie-maybe.csv", "outcome cannot be read"),
        ("columns.csv", "give --winner and --loser"),
        ("ambiguous.csv", "more than one way"),
        ("two-ties.csv", "choose one with --tie"),
        ("zero.csv", r"--outcomes 1/-1/0 \(0 is a tie\) or --outcomes 1/0.5/0"),
        ("texts.csv", "chosen and rejected usually hold texts.*--winner"),
        ("agree.csv", "comment-id and vote.*compare nothing"),
        ("one-hot.csv", "outcome '1, 1'"),
        ("counts.csv --count n", "2\\^40: 1 row .such as row 2.*write whole numbers"),
        ("counts.csv --count n --skip-invalid", "never dropped"),
        ("counts.csv --count m", "no column 'm' for --count"),
        ("win1.csv --wins-a win1", "give --a, --b, --wins-a and --wins-b together"),
        ("win1.csv --wins-a win1 --wins-b win2 --count win1", "leave --count out"),
        ("win1.csv --missing no", "leave it out, and write 0"),
        ("votes.csv --outcomes 1/0", "--outcomes is about a column of outcomes"),
        ("votes.csv --bothbad drop", "--bothbad drop is about a column of outcomes"),
        ("maybe.csv --bothbad drop --neighbours outcome --design public", "--bothbad drop leaves votes out"),
        ("votes.csv --missing no --neighbours outcome --design public", "--missing beside a winner and a loser"),
        ("picture.csv", "not text|not UTF-8"),
        ("not.parquet", "not a Parquet file"),
        ("cut.parquet", "not a Parquet file"),
        ("lists.parquet", "convert it to text"),
        ("cut.csv.gz", "cannot read cut.csv.gz"),
        ("no.csv.gz", "cannot read no.csv.gz"),
        ("no-array.json", "an array of JSON objects"),
        ("empty-array.json", "holds an empty array"),
        ("open-array.json", "its array does not end"),
        ("array-keys.json", "every key in every object"),
        ("array.jsonl", "one JSON object per line"),
        ("number.jsonl", "one JSON object per line"),
        ("no-keys.jsonl", "one JSON object per line"),
        ("keys.jsonl", "every key in every line"),
        ("fewer.jsonl", "every key in every line"),
        ("half.jsonl", "cannot be read"),
        ("list.jsonl", "in quotes"),
        ("fraction.jsonl", "0.10?; write them as text"),
        ("nested.jsonl", "one JSON object per line"),
        ("nan.jsonl", "."),
        ("book.xlsx", "not an Excel workbook that can be read"),
        ("noname", "cannot tell the format"),
        ("release.json", "one JSON object per line"),
        ("release.csv", "do not say which column"),
        ("rich.db", "cannot tell the format"),
        ("tally.json", "one JSON object per line"),
        ("mine.png", "cannot tell the format"),
        ("/dev/null", "there is no file /dev/null"),
    ]
]
VOTES += [
    (f"rank maybe.csv {words} --items x,y,z {PROMISE}", USAGE, message)
    for words, message in [
        ("--outcomes 1:a", "such as 1=a,2=b,0=tie, or one of 1/-1/0"),
        ("--outcomes maybe=x", "the meanings are a, b, tie, missing"),
        ("--outcomes maybe=tie --missing maybe", "give it one meaning"),
        ("--bothbad win", "--bothbad must be one of tie, drop"),
    ]
]
VOTES += [
    (("rank", f"{BYTE}.csv", *_words(PROMISE)), REFUSED, r"there is no file \\udcff\.csv"),
    (("rank", f"{ESCAPE}.csv", *_words(PROMISE)), REFUSED, r"there is no file \\x1b"),
    (("rank", f"{BIDI}{EMOJI}{ACCENT}.csv", *_words(PROMISE)), REFUSED, "there is no file"),
    (("rank", "v" * 5000 + ".csv", *_words(PROMISE)), REFUSED, "there is no file"),
    (_rank("--delimiter", ""), USAGE, "--delimiter must be a single character"),
    (_rank("--delimiter", ";;"), USAGE, "--delimiter must be a single character"),
    (_rank("--delimiter", '"'), USAGE, "--delimiter must be a single character"),
    (_rank("--delimiter", ";"), REFUSED, "split at ';'"),
    (_rank("--delimiter", BYTE), REFUSED, "--delimiter"),
    (_rank("--delimiter", EMOJI), REFUSED, "--delimiter"),
    (_rank("--winner", "best", "--loser", "loser"), REFUSED, "no column 'best' for --winner"),
    (_rank("--winner", "", "--loser", "loser"), REFUSED, "no column '' for --winner"),
    (_rank("--loser", ""), REFUSED, "no column '' for --loser"),
    (_rank("--tie", ""), REFUSED, "no column '' for --tie"),
    (_rank("--a", ""), REFUSED, "no column '' for --a"),
    (_rank("--b", ""), REFUSED, "no column '' for --b"),
    (_rank("--outcome", ""), REFUSED, "no column '' for --outcome"),
    (_rank("--person", ""), REFUSED, "no column '' for --person"),
    (_rank("--person", BYTE), REFUSED, "no column '.*' for --person"),
    (_rank("--person", ESCAPE), REFUSED, "no column '.*' for --person"),
    (_rank("--by", "", "--groups", "n,s"), REFUSED, "no column '' for --by"),
    ("rank plain.csv --items x,y,z --unit person --epsilon 1 --max-per-person 2", REFUSED, "say which with --person"),
    (
        "rank two-people.csv --items x,y --unit person --epsilon 1 --max-per-person 2",
        REFUSED,
        "choose one with --person",
    ),
    ("rank counts.csv --items x,y,z --count n --unit person --epsilon 1 --max-per-person 2", REFUSED, "whose they are"),
    ("fit win1.csv --cluster --ridge 1", REFUSED, "no column names the person"),
    ("rank nobody.csv --items x,y --unit person --epsilon 1 --max-per-person 2", REFUSED, "no person is named"),
]

WHERE: list[Line] = [
    ((*_words(f"rank votes.csv --items x,y,z {PROMISE}"), "--where", condition), REFUSED, message)
    for condition, message in [
        ("", "--where: it is empty"),
        ("land", "land is a text, not a condition"),
        ("land =", "it cannot be read"),
        ("land = 'n'; drop table votes", "it cannot be read"),
        ("land = 'n' group by land", "it cannot be read"),
        ("country = 'n'", "there is no column 'country'.*the columns are person, winner, loser, land"),
        ('land = "n"', "text is written in single quotes: 'n'"),
        ("votes.land = 'n'", "votes.land is not allowed"),
        ("land = 5", "a text and 5 a number, which cannot be compared; write CAST"),
        ("land + 1 > 2", "land is a text, not a number; write CAST"),
        ("length(land)", "is a number, not a condition"),
        ("land in (select land from votes)", "is not allowed"),
        ("exists (select 1)", "is not allowed"),
        ("count(*) > 1", "is not allowed"),
        ("sum(1) over () > 1", "is not allowed"),
        ("row_number() over () < 5", "is not allowed"),
        ("random() < 0.5", "is not allowed"),
        ("now() > '2026-01-01'", "is not allowed"),
        ("current_date > '2026-01-01'", "is not allowed"),
        ("try_cast(land as double) > 5", "is not allowed"),
        ("getenv('HOME') = land", "is not allowed"),
        ("regexp_matches(land, 'n')", "is not allowed"),
        ("land similar to 'n'", "is not allowed"),
        ("cast(land as json) = 1", "is not allowed"),
        ("land is true", "IS is for NULL"),
        ("land in ('n', null)", "is not allowed"),
        ("land like person", "must be text in single quotes"),
        ("land = 'n' or 1e999 > 1", "too large"),
        ("cast(land as double) > 5", "cannot be read .*[Cc]ould not convert"),
        ("(" * 3000 + "land = 'n'" + ")" * 3000, "it cannot be read"),
        ("land = 'n' and " * 1000 + "land = 'n'", "longer than"),
    ]
]
WHERE += [
    (
        f"rank {file} --items x,y,z {PROMISE} --neighbours outcome --design public --where \"{on} = 'x'\"",
        REFUSED,
        f"looks at the column '{on}', which tells the answer",
    )
    for file, on in (
        ("plain.csv", "winner"),
        ("plain.csv", "loser"),
        ("answers.csv", "outcome"),
        ("answers.csv", "tie"),
    )
]

LISTS: list[Line] = [
    (f"rank votes.csv --items {value} {PROMISE}", REFUSED, message)
    for value, message in [
        ("''", "--items"),
        ("nowhere.txt", "there is no file nowhere.txt"),
        ("folder", "is a folder"),
        ("no-items.txt", "at least two items"),
        ("one-item.txt", "at least two items"),
        ("items-twice.txt", "'x' is declared twice"),
        ("items-latin1.txt", "not UTF-8"),
        ("items-nul.txt", "control character|not on the declared"),
        ("items-long.txt", "not on the declared"),
        ("items-long-twice.txt", "declared twice"),
        ("items-escape.txt", r"\\x1b\[31my' is declared twice"),
        ("items-picture.txt", "not UTF-8"),
        ("x,", "empty name"),
        (",", "empty name"),
        ("x,y,x", "declared twice"),
        ("x,y", "not on the declared list"),
        ("votes.csv", "not on the declared list"),
        ("rich.db", "not UTF-8|."),
    ]
]
LISTS += [
    (("rank", "votes.csv", *_words(PROMISE), "--items", f"x,y,z{BYTE}"), REFUSED, "not UTF-8"),
    (("rank", "votes.csv", *_words(PROMISE), "--items", BYTE), REFUSED, "there is no file"),
    (("rank", "votes.csv", *_words(PROMISE), "--items", "i" * 5000), REFUSED, "there is no file"),
    (("rank", "votes.csv", *_words(PROMISE), "--items", f"x,{BIDI}y,{EMOJI},{ACCENT}"), REFUSED, "not on the declared"),
    (("rank", "votes.csv", *_words(PROMISE), "--items", f"x,{ESCAPE},{ESCAPE}"), REFUSED, "declared twice"),
]
LISTS += [
    (f"{RANK} --by land --groups {value}", REFUSED, message)
    for value, message in [
        ("''", "--groups"),
        ("nowhere.txt", "one group per line"),
        ("folder", "is a folder"),
        ("no-groups.txt", "list of groups is empty"),
        ("groups-twice.txt", "'n' is declared twice"),
        ("n,", "empty name"),
        ("n,w", "declare every group with --groups"),
        ("items-latin1.txt", "not UTF-8"),
        ("items-picture.txt", "not UTF-8"),
    ]
]
LISTS += [
    (
        "rank moving.csv --items x,y --unit person --epsilon 1 --max-per-person 2 --by land --groups n,s --by-person",
        REFUSED,
        "one group",
    ),
    (_rank("--by", "land", "--groups", f"n,s{BYTE}"), REFUSED, "not UTF-8"),
    (_rank("--by", "nowhere", "--groups", "n,s"), REFUSED, "no column 'nowhere' for --by"),
]
LISTS += [
    (f"{RANK} --pairs {value}", REFUSED, message)
    for value, message in [
        ("''", "--pairs|there is no file|is a folder"),
        ("nowhere.csv", "one pair per line"),
        ("folder", "is a folder"),
        ("no-pairs.csv", "pairs is empty"),
        ("pairs-three.csv", "3 cells"),
        ("pairs-strange.csv", "'w' is not declared"),
        ("pairs-itself.csv", "against itself"),
        ("pairs-alone.csv", "take it off --items"),
        ("pairs-latin1.csv", "not UTF-8"),
        ("pairs-nul.csv", "is not declared|NUL"),
        ("pairs-long.csv", "pairs-long.csv"),
        ("pairs.csv", "not askable|askable"),
        ("items-picture.txt", "not UTF-8"),
    ]
]

OUTPUTS: list[Line] = [
    (f"{RANK} {words}", code, message)
    for words, code, message in [
        ("--out no/such/r.json", REFUSED, "there is no folder no/such"),
        ("--out folder.json", REFUSED, "is a folder"),
        ("--out r.txt", USAGE, "--out writes a release: name it .json or .csv"),
        ("--out r", USAGE, "name it .json or .csv"),
        ("--out ''", USAGE, "--out writes a release"),
        ("--out folder", USAGE, "--out writes a release"),
        ("--out votes.csv", REFUSED, "would overwrite votes.csv, which this command reads"),
        ("--out votes.csv --overwrite", REFUSED, "would overwrite votes.csv"),
        ("--out mine.csv --overwrite", REFUSED, "not a release by quietrank"),
        ("--out mine.json", REFUSED, "not a release"),
        ("--out tally.json --overwrite", REFUSED, "not a release by quietrank"),
        ("--out release.json", REFUSED, "--overwrite"),
        ("--out release.csv", REFUSED, "--overwrite"),
        ("--out dangling.json", REFUSED, "not replaced"),
        ("--out dangling.json --overwrite", REFUSED, "not replaced"),
        ("--out items.txt/r.json", REFUSED, "no folder"),
        ("--report r.txt", USAGE, "--report writes a report: name it .html"),
        ("--report ''", USAGE, "--report writes a report"),
        ("--report no/r.html", REFUSED, "no folder"),
        ("--show-budget", USAGE, "add --ledger FILE and --report FILE.html"),
        ("--plot p.jpg", USAGE, "--plot writes a picture: name it .png, .svg or .pdf"),
        ("--plot ''", USAGE, "--plot writes a picture"),
        ("--plot no/p.png", REFUSED, "no folder"),
        ("--plot folder.png", REFUSED, "is a folder"),
        ("--plot mine.png --overwrite", REFUSED, "not a picture by quietrank"),
        ("--plot p.png --plot-theme blue", USAGE, "--plot-theme must be one of light, dark"),
        ("--plot p.png --plot-theme ''", USAGE, "--plot-theme must be one of"),
        ("--plot-theme dark", USAGE, "add --plot FILE"),
        ("--compare-exact p.gif", USAGE, "--compare-exact writes a picture"),
        ("--compare-exact no/p.png", REFUSED, "no folder"),
        ("--compare-exact mine.png --overwrite", REFUSED, "not a picture by quietrank"),
        ("--plot p.png --compare-exact ./p.png", USAGE, "--plot and --compare-exact are both"),
        ("--save-tally t.csv", USAGE, "--save-tally writes a noisy tally"),
        ("--save-tally ''", USAGE, "--save-tally"),
        ("--save-tally no/t.json", REFUSED, "there is no folder"),
        ("--save-tally folder.json", REFUSED, "is a folder"),
        ("--save-tally release.json --overwrite", REFUSED, "not a noisy tally by quietrank"),
        ("--save-tally tally.json", REFUSED, "--overwrite"),
        ("--ledger rich.db --out rich.db --overwrite", USAGE, "--out writes a release"),
    ]
]
OUTPUTS += [
    (_rank("--out", f"no{BYTE}/r.json"), REFUSED, "there is no folder"),
    (_rank("--out", f"{ESCAPE}/r.json"), REFUSED, r"there is no folder \\x1b"),
    (_rank("--out", "r" * 5000 + ".json"), REFUSED, "too long"),
    (_rank("--save-tally", "r" * 5000 + ".json"), REFUSED, "too long"),
    (_rank("--out", f"{BIDI}{EMOJI}"), USAGE, "--out writes a release"),
]

LEDGERS: list[Line] = [
    (f"{RANK} --ledger {value}", REFUSED, message)
    for value, message in [
        ("nowhere.db", "there is no ledger"),
        ("''", "ledger"),
        ("folder", "there is no ledger|is a folder"),
        ("text.db", "is not a ledger"),
        ("empty.db", "is empty"),
        ("other.db", "is a database, but not a ledger"),
        ("cut.db", "broken|damaged"),
        ("zeros.db", "damaged|not a ledger"),
        ("edited.db", "its header is not what was written"),
        ("poor.db", "the budget does not cover"),
        ("votes.csv", "is not a ledger"),
        ("release.json", "is not a ledger"),
        ("outcome.db", "neighbours"),
        ("rich.db --mechanism gaussian --delta 1e-6", "no delta|--delta"),
        ("rich.db --mechanism gaussian", "needs --delta"),
        ("rich.db --out no/r.json", "no folder"),
        ("people.db", "cannot be paid"),
        ("rich.db --pairs pairs.csv", "askable"),
    ]
]
LEDGERS += [
    (f"{RANK} --ledger rich.db --items-from-votes", USAGE, "one of the two"),
    (f"rank strangers.csv --items x,y,z {PROMISE} --ledger rich.db", REFUSED, "not on the declared list"),
    (f"{RANK} --ledger rich.db --method elo", USAGE, "--method must be one of"),
    (f"{PEOPLE} --max-per-person 2 --ledger rich.db", REFUSED, "cannot be paid"),
    (_rank("--ledger", f"{BYTE}.db"), REFUSED, "there is no ledger"),
    (_rank("--ledger", "l" * 5000), REFUSED, "ledger|too long"),
]
LEDGERS += [
    (f"ledger new {words}", code, message)
    for words, code, message in [
        ("rich.db --epsilon 1 --data v --unit person", REFUSED, "exists already"),
        ("votes.csv --epsilon 1 --data v --unit person", REFUSED, "exists already"),
        ("folder --epsilon 1 --data v --unit person", REFUSED, "exists already"),
        ("'' --epsilon 1 --data v --unit person", REFUSED, "exists already|is a folder|name"),
        ("no/b.db --epsilon 1 --data v --unit person", REFUSED, "there is no folder"),
        ("b.db --epsilon 0 --data v --unit person", USAGE, "--epsilon must be"),
        ("b.db --epsilon nan --data v --unit person", USAGE, "--epsilon nan"),
        ("b.db --epsilon 1e308 --data v --unit person", USAGE, "--epsilon 1e"),
        ("b.db --epsilon much --data v --unit person", USAGE, INVALID),
        ("b.db --epsilon '' --data v --unit person", USAGE, INVALID),
        ("b.db --epsilon 1 --data '' --unit person", REFUSED, "which votes the budget is for"),
        ("b.db --epsilon 1 --data ' ' --unit person", REFUSED, "--data NAME"),
        ("b.db --epsilon 1 --data v --unit ''", USAGE, "--unit must be one of"),
        ("b.db --epsilon 1 --data v --unit votes", USAGE, "--unit must be one of"),
        ("b.db --epsilon 1 --data v --unit person --delta 1", USAGE, "--delta must be"),
        ("b.db --epsilon 1 --data v --unit person --delta ''", USAGE, INVALID),
        ("b.db --epsilon 1 --data v --unit person --neighbours ''", USAGE, "--neighbours must be one of"),
        ("b.db --epsilon 1 --data v", USAGE, "Missing option"),
        ("b.db --epsilon 1 --unit person", USAGE, "Missing option"),
    ]
]
LEDGERS += [
    (("ledger", "new", "l" * 5000, "--epsilon", "1", "--data", "v", "--unit", "person"), REFUSED, "too long"),
]
LEDGERS += [
    (f"ledger {command} {value}", REFUSED, message)
    for command in ("show", "verify")
    for value, message in [
        ("nowhere.db", "there is no ledger"),
        ("folder", "no ledger|is a folder"),
        ("text.db", "is not a ledger"),
        ("empty.db", "is empty"),
        ("other.db", "but not a ledger"),
        ("cut.db", "broken|damaged"),
        ("zeros.db", "damaged|not a ledger"),
        ("edited.db", "broken"),
        ("votes.csv", "is not a ledger"),
        ("''", "ledger"),
    ]
]
LEDGERS += [
    ("ledger show rich.db --format xml", USAGE, "is not one of"),
    ("ledger show rich.db --format ''", USAGE, "is not one of"),
    ("ledger verify rich.db poor.db", USAGE, "unexpected extra argument"),
    (("ledger", "show", f"{ESCAPE}.db"), REFUSED, r"there is no ledger .*\\x1b"),
]

DAMAGED = r"this noisy tally is damaged \((?!.*(object|not a valid|unpack|attribute|argument))"
RERANK: list[Line] = [(f"rerank tally-{name}.json", REFUSED, DAMAGED) for name in BROKEN_TALLIES]
RERANK += [(f"rerank grouped-{name}.json", REFUSED, DAMAGED) for name in BROKEN_GROUPS]
RERANK += [
    (f"rerank {words}", code, message)
    for words, code, message in [
        ("nowhere.json", REFUSED, "cannot read nowhere.json"),
        ("folder", REFUSED, "cannot read folder"),
        ("''", REFUSED, "cannot read"),
        ("release.json", REFUSED, "not a noisy tally"),
        ("grouped-release.json", REFUSED, "not a noisy tally"),
        ("mine.json", REFUSED, "not a noisy tally"),
        ("tally-of-tomorrow.json", REFUSED, "noisy-tally/2"),
        ("numbers.json", REFUSED, "not a noisy tally"),
        ("broken.json", REFUSED, "is not JSON"),
        ("deep.json", REFUSED, "is not JSON"),
        ("nul.json", REFUSED, "is not JSON"),
        ("latin1.json", REFUSED, "is not JSON"),
        ("digits.json", REFUSED, "is not JSON"),
        ("empty.json", REFUSED, "is not JSON"),
        ("rich.db", REFUSED, "is not JSON"),
        ("votes.csv", REFUSED, "is not JSON"),
        ("mine.png", REFUSED, "is not JSON"),
        ("tally.json --top 0", REFUSED, "--top must be"),
        ("tally.json --top -1", REFUSED, "--top must be"),
        ("tally.json --top 4", REFUSED, "--top must be a whole number from 1 to the 3 items"),
        ("tally.json --top 1.5", USAGE, INVALID),
        ("tally.json --top ''", USAGE, INVALID),
        (f"tally.json --top {'9' * 400}", REFUSED, "--top must be"),
        ("tally.json --top all", USAGE, INVALID),
        (f"tally.json --top {'9' * 5000}", USAGE, INVALID),
        ("tally.json --method elo", USAGE, "--method must be one of"),
        ("tally.json --method ''", USAGE, "--method"),
        ("tally.json --gamma 1", USAGE, "--gamma belongs to"),
        ("tally.json --gamma ''", USAGE, "number or auto"),
        ("tally.json --method bradley-terry --gamma -1", USAGE, "--gamma -1"),
        ("tally.json --method bradley-terry --gamma nan", USAGE, "--gamma nan"),
        ("tally.json --out tally.json", REFUSED, "would overwrite tally.json"),
        ("tally.json --out r.txt", USAGE, "--out"),
        ("tally.json --out no/r.json", REFUSED, "no folder"),
        ("tally.json --out release.json", REFUSED, "--overwrite"),
        ("tally.json --out grouped.json --overwrite", REFUSED, "not a release by quietrank"),
        ("tally.json --level 90", USAGE, "--level must be a number from 0.5 to 0.999"),
        ("tally.json --scale elo --method net-wins", USAGE, "--scale elo is for Bradley-Terry scores"),
        ("tally.json --anchor x=1000", USAGE, "--anchor belongs to --scale elo"),
        ("tally.json --sampling-share 0.1", USAGE, "No such option"),
        ("tally.json --report r.txt", USAGE, "--report writes a report: name it .html"),
        ("tally.json --plot p.txt", USAGE, "--plot writes a picture"),
        ("tally.json --plot no/p.svg", REFUSED, "no folder"),
        ("tally.json --plot mine.png --overwrite", REFUSED, "not a picture by quietrank"),
        ("tally.json --plot p.svg --plot-theme grey", USAGE, "--plot-theme must be one of"),
        ("tally.json --plot-theme dark", USAGE, "add --plot FILE"),
        ("tally.json --compare-exact p.png", USAGE, "No such option"),
        ("tally.json --format xml", USAGE, "is not one of"),
        ("tally.json grouped.json", USAGE, "unexpected extra"),
    ]
]
RERANK += [
    (("rerank", f"{BYTE}.json"), REFUSED, r"cannot read \\udcff"),
    (("rerank", "t" * 5000), REFUSED, "too long"),
]

OTHERS: list[Line] = [
    ("check nowhere.csv", REFUSED, "there is no file"),
    ("check votes.csv --unit votes", USAGE, "--unit must be comparison or person"),
    ("check votes.csv --unit ''", USAGE, "--unit must be comparison or person"),
    ("check plain.csv --unit person", REFUSED, "--person"),
    ("check votes.csv --by land", USAGE, "say both: --by"),
    ("check votes.csv --groups ''", REFUSED, "--groups"),
    ("check votes.csv --items ''", REFUSED, "--items"),
    ("check header-only.csv", REFUSED, "has no votes"),
    ("check picture.csv", REFUSED, "not text|not UTF-8"),
    ("check itself.csv --items-from-votes --items x,y", USAGE, "one of the two"),
    ("check votes.csv --epsilon 1", USAGE, "No such option"),
    ("fit nowhere.csv", REFUSED, "there is no file"),
    ("fit votes.csv --ridge -1", USAGE, INVALID),
    ("fit votes.csv --ridge nan", USAGE, INVALID),
    ("fit votes.csv --ridge inf", USAGE, "--ridge must be finite"),
    ("fit votes.csv --ridge ''", USAGE, INVALID),
    ("fit votes.csv --ridge much", USAGE, INVALID),
    ("fit votes.csv --link probit", REFUSED, "probit"),
    ("fit votes.csv --link ''", REFUSED, "unknown --link"),
    ("fit votes.csv --level 0", USAGE, "--level must be a number from 0.5 to 0.999"),
    ("fit votes.csv --level 1", USAGE, "--level must be"),
    ("fit votes.csv --level nan", USAGE, "--level nan"),
    ("fit votes.csv --level high", USAGE, INVALID),
    ("fit plain.csv --ridge 1 --cluster", REFUSED, "no column names the person; say which does with --person"),
    ("fit nobody.csv --ridge 1 --cluster", REFUSED, "some votes name no person"),
    ("fit votes.csv --cluster=yes", USAGE, "does not take a value"),
    ("fit always.csv", REFUSED, "--ridge"),
    ("fit strangers.csv --items x,y", REFUSED, "declare every item with --items"),
    ("fit header-only.csv", REFUSED, "has no votes"),
    ("fit votes.csv --format xml", USAGE, "is not one of"),
    ("fit tally.json", REFUSED, "one JSON object per line"),
    ("demo --epsilon 0", USAGE, "--epsilon must be"),
    ("demo --epsilon nan", USAGE, "--epsilon nan"),
    ("demo --epsilon 1e308", USAGE, "--epsilon 1e"),
    ("demo --epsilon ''", USAGE, INVALID),
    ("demo --format xml", USAGE, "is not one of"),
    ("demo --epsilon 0 --folder nowhere", USAGE, "--epsilon must be"),
    ("demo --folder", USAGE, "requires an argument"),
]

SIMULATE: list[Line] = [
    (f"simulate {words}", code, message)
    for words, code, message in [
        ("", USAGE, "say how to compare"),
        ("--items 5", USAGE, "say how to compare"),
        ("--p 0.5", USAGE, "--items N"),
        ("--items 5 --people 3", USAGE, "--per-person"),
        ("--items 1 --p 0.5", USAGE, INVALID),
        ("--items 5 --p 0.5 --people 3 --per-person 2", USAGE, "--people and --per-person, or --p"),
        ("--items 5 --p 0.5 --people 3", USAGE, "--people and --per-person, or --p"),
        ("--items 5 --p 2", USAGE, INVALID),
        ("--items 5 --p -1", USAGE, INVALID),
        ("--items 5 --p nan", USAGE, "--p"),
        ("--items five --p 0.5", USAGE, INVALID),
        ("--items '' --p 0.5", USAGE, INVALID),
        ("--items 5 --p ''", USAGE, INVALID),
        ("--items 5 --people 0 --per-person 2", USAGE, INVALID),
        ("--items 5 --people 2 --per-person 0", USAGE, INVALID),
        ("--items 5 --people 2.5 --per-person 1", USAGE, INVALID),
        ("--items 5 --p 0.5 --seed -1", USAGE, INVALID),
        ("--items 5 --p 0.5 --seed ''", USAGE, INVALID),
        ("--items 99999999999999999999 --p 0.5 --out v.csv", REFUSED, "items"),
        ("--items 5 --people 99999999999999999999 --per-person 99 --out v.csv", REFUSED, "votes"),
        ("--items 5 --strengths strengths.csv --p 0.5", USAGE, "--items N, or --strengths"),
        ("--strengths nowhere.csv --p 0.5", REFUSED, "nowhere.csv"),
        ("--strengths '' --p 0.5", REFUSED, "strengths"),
        ("--strengths folder --p 0.5", REFUSED, "cannot read strengths"),
        ("--strengths strengths-nan.csv --p 0.5", REFUSED, "finite strengths"),
        ("--strengths strengths-one.csv --p 0.5", REFUSED, "at least two items"),
        ("--strengths strengths-words.csv --p 0.5", REFUSED, "strength .a number"),
        ("--strengths strengths-columns.csv --p 0.5", REFUSED, "columns item and strength"),
        ("--strengths strengths-twice.csv --p 0.5", REFUSED, "'x' is declared twice"),
        ("--strengths strengths-nameless.csv --p 0.5", REFUSED, "empty name"),
        ("--strengths strengths-long.csv --p 0.5", REFUSED, "cannot read strengths"),
        ("--strengths strengths-short.csv --p 0.5", REFUSED, "cannot read strengths"),
        ("--strengths strengths-huge.csv --p 0.5", REFUSED, "finite strengths, from -100 to 100"),
        ("--strengths picture.csv --p 0.5", REFUSED, "cannot read strengths"),
        ("--items 5 --p 0.5 --out v.txt", USAGE, "--out writes votes: name it .csv"),
        ("--items 5 --p 0.5 --out ''", USAGE, "--out writes votes"),
        ("--items 5 --p 0.5 --out votes.csv", REFUSED, "not replaced"),
        ("--items 5 --p 0.5 --out folder.csv", REFUSED, "is a folder"),
        ("--items 5 --p 0.5 --out no/v.csv", REFUSED, "no folder"),
        ("--items 5 --p 0.5 --overwrite", USAGE, "No such option"),
    ]
]

SYNTHETIC: list[Line] = [
    (f"synthetic {words}", code, message)
    for words, code, message in [
        ("", USAGE, "Missing"),
        ("scores.json", USAGE, "Missing option"),
        ("nowhere.json --votes 5", REFUSED, "cannot read nowhere.json"),
        ("folder --votes 5", REFUSED, "cannot read folder"),
        ("'' --votes 5", REFUSED, "cannot read"),
        ("mine.json --votes 5", REFUSED, "neither a release nor a noisy tally"),
        ("numbers.json --votes 5", REFUSED, "neither a release nor a noisy tally"),
        ("tally-of-tomorrow.json --votes 5", REFUSED, "neither a release nor a noisy tally"),
        ("broken.json --votes 5", REFUSED, "is not JSON"),
        ("votes.csv --votes 5", REFUSED, "is not JSON"),
        ("tally-values-nan.json --votes 5", REFUSED, "damaged"),
        ("release.json --votes 5", REFUSED, "rank with --method bradley-terry"),
        ("grouped-release.json --votes 5", REFUSED, "say which group: --group must be one of n, s"),
        ("grouped-release.json --votes 5 --group n", REFUSED, "rank with --method bradley-terry"),
        ("grouped.json --votes 5", REFUSED, "--group must be one of n, s"),
        ("grouped.json --votes 5 --group w", REFUSED, "there is no group 'w'"),
        ("grouped.json --votes 5 --group ''", REFUSED, "there is no group ''"),
        ("scores.json --votes 5 --group n", REFUSED, "leave --group out"),
        ("tally.json --votes 5 --group n", REFUSED, "leave --group out"),
        ("scores.json --votes 0", USAGE, INVALID),
        ("scores.json --votes -1", USAGE, INVALID),
        ("scores.json --votes 1.5", USAGE, INVALID),
        ("scores.json --votes ''", USAGE, INVALID),
        ("scores.json --votes many", USAGE, INVALID),
        ("scores.json --votes 99999999999999999999 --out v.csv", REFUSED, "at most .* votes can be drawn"),
        ("scores.json --votes 5 --shape wide", USAGE, "--shape must be one of long, arena"),
        ("scores.json --votes 5 --shape ''", USAGE, "--shape must be one of"),
        ("scores.json --votes 5 --seed -1", USAGE, INVALID),
        ("scores.json --votes 5 --seed ''", USAGE, INVALID),
        ("scores.json --votes 5 --out v.txt", USAGE, "--out writes votes: name it .csv"),
        ("scores.json --votes 5 --out ''", USAGE, "--out writes votes"),
        ("scores.json --votes 5 --out votes.csv", REFUSED, "not replaced"),
        ("scores.json --votes 5 --out folder.csv", REFUSED, "is a folder"),
        ("scores.json --votes 5 --out no/v.csv", REFUSED, "no folder"),
        ("scores.json --votes 5 --overwrite", USAGE, "No such option"),
        ("scores.json tally.json --votes 5", USAGE, "unexpected extra"),
    ]
]
SYNTHETIC += [
    (("synthetic", f"{BYTE}.json", "--votes", "5"), REFUSED, r"cannot read \\udcff"),
    (("synthetic", "grouped.json", "--votes", "5", "--group", ESCAPE), REFUSED, r"no group '\\x1b"),
    (("synthetic", "t" * 5000, "--votes", "5"), REFUSED, "too long"),
]

SURVEY = "plan --items 5 --people 20 --per-person 3 --repetitions 10"
PLAN: list[Line] = [
    (f"{SURVEY} {words}", code, message)
    for words, code, message in [
        ("--epsilon 0", USAGE, "--epsilon must be"),
        ("--epsilon -1", USAGE, "--epsilon -1"),
        ("--epsilon nan", USAGE, "--epsilon nan"),
        ("--epsilon 1,inf", USAGE, "--epsilon inf"),
        ("--epsilon 1e308", USAGE, "--epsilon 1e"),
        ("--epsilon ''", USAGE, "--epsilon must be numbers"),
        ("--epsilon 1,", USAGE, "--epsilon must be numbers"),
        ("--epsilon one", USAGE, "--epsilon must be numbers"),
        ("--target ''", USAGE, "target"),
        ("--target 'be good'", USAGE, "target"),
        ("--target 'winner 2'", USAGE, "winner"),
        ("--target 'winner nan'", USAGE, "target"),
        ("--target 'top-9 error 0.1'", USAGE, "top"),
        ("--target 'winner 0.9' --epsilon 1", USAGE, "leave --epsilon out"),
        ("--solve ''", USAGE, "--solve must be"),
        ("--solve people", USAGE, "needs a --target"),
        ("--solve people --target 'winner 0.9'", USAGE, "one --epsilon"),
        ("--solve people --target 'winner 0.9' --epsilon 1", USAGE, "leave --people"),
        ("--top-k 0", USAGE, INVALID),
        ("--top-k 5", USAGE, "--top-k must be from 1 to 4"),
        ("--top-k ''", USAGE, INVALID),
        ("--spread ''", USAGE, "--spread must be"),
        ("--spread wide", USAGE, "--spread must be"),
        ("--spread nan", USAGE, "--spread must be"),
        ("--spread -1", USAGE, "--spread must be"),
        ("--spread 1e308", USAGE, "--spread must be"),
        ("--unit ''", USAGE, "--unit must be one of"),
        ("--unit votes", USAGE, "--unit must be one of"),
        ("--votes 10", USAGE, "--votes is for --unit comparison"),
        ("--unit comparison --votes 10", USAGE, "--votes is for --unit comparison, instead of"),
        ("--unit comparison --max-per-person 2", USAGE, "does not use --max-per-person"),
        ("--max-per-person 0", USAGE, INVALID),
        ("--max-per-person 1.5", USAGE, INVALID),
        ("--neighbours ''", USAGE, "--neighbours"),
        ("--design ''", USAGE, "--design"),
        ("--design public", USAGE, "--neighbours outcome"),
        ("--delta 1", USAGE, "--delta"),
        ("--delta ''", USAGE, INVALID),
        ("--clip ''", USAGE, INVALID),
        ("--mechanism ''", USAGE, "--mechanism"),
        ("--mechanism gaussian", USAGE, "--delta"),
        ("--mechanism perturbed-mle", USAGE, "perturbed-mle"),
        ("--mechanism zonotope", USAGE, "--one-per-pair"),
        ("--method ''", USAGE, "--method"),
        ("--seed -1", USAGE, INVALID),
        ("--seed ''", USAGE, INVALID),
        ("--repetitions 9", USAGE, INVALID),
        ("--repetitions ''", USAGE, INVALID),
        ("--plot p.jpg", USAGE, "--plot writes a picture"),
        ("--plot ''", USAGE, "--plot writes a picture"),
        ("--plot no/p.png", REFUSED, "no folder"),
        ("--plot folder.png", REFUSED, "is a folder"),
        ("--plot mine.png", REFUSED, "not a picture by quietrank"),
        ("--plot mine.png --overwrite", REFUSED, "not a picture"),
        ("--format xml", USAGE, "is not one of"),
        ("--format ''", USAGE, "is not one of"),
        ("votes.csv", USAGE, "extra"),
        ("--one-per-pair --per-person 11", USAGE, "pairs"),
    ]
]
PLAN += [
    (f"{SURVEY} --only-top 5", USAGE, "--only-top must be a whole number from 1 to 4"),
    (f"{SURVEY} --only-top 0", USAGE, "--only-top must be a whole number from 1 to 4"),
    (f"{SURVEY} --only-top 2 --target 'winner 0.9'", USAGE, "leave --target, --solve, --top-k and --plot out"),
    (f"{SURVEY} --only-top 2 --plot p.png", USAGE, "leave --target, --solve, --top-k and --plot out"),
    (f"{SURVEY} --only-top 2 --method win-rate", USAGE, "by net wins or by wins"),
    (f"{SURVEY} --mechanism permute-and-flip", USAGE, "only-top"),
    ("plan --items 1 --people 20 --per-person 3", USAGE, INVALID),
    ("plan --items 5 --per-person 3", USAGE, "say how large the survey is"),
    ("plan --items 5 --people 20", USAGE, "--per-person 15"),
    ("plan --items 5 --people 0 --per-person 3", USAGE, INVALID),
    ("plan --items 5 --people 20 --per-person 0", USAGE, "--per-person must be"),
    ("plan --items 5 --people 20 --per-person -1", USAGE, "--per-person must be"),
    ("plan --items '' --people 20 --per-person 3", USAGE, INVALID),
    ("plan --items 5 --people '' --per-person 3", USAGE, INVALID),
    ("plan --items 5 --people 20 --per-person ''", USAGE, INVALID),
    ("plan --items 5 --votes '' --unit comparison", USAGE, INVALID),
    ("plan --items 5 --votes 0 --unit comparison", USAGE, INVALID),
    ("plan --items 99999999999999999999 --people 20 --per-person 3", USAGE, "items"),
    ("plan --items 5 --people 99999999999999999999 --per-person 3", USAGE, "people|votes"),
    ("plan --items 5 --people 20 --per-person 99999999999999999999", USAGE, "."),
    ("plan --items 5 --people 20 --per-person 3 --repetitions 99999999999999999999", USAGE, "repetitions"),
]

AUDIT: list[Line] = [
    (f"audit --quick --workers 1 {words}", code, message)
    for words, code, message in [
        ("--mechanism magic", USAGE, "--mechanism must be one of"),
        ("--mechanism ''", USAGE, "--mechanism"),
        ("--unit votes", USAGE, "--unit must be one of"),
        ("--unit ''", USAGE, "--unit"),
        ("--neighbours next", USAGE, "--neighbours must be one of"),
        ("--neighbours ''", USAGE, "--neighbours"),
        ("--epsilon 0", USAGE, "--epsilon must lie between"),
        ("--epsilon nan", USAGE, "--epsilon"),
        ("--epsilon 1e308", USAGE, "--epsilon"),
        ("--epsilon -1", USAGE, "--epsilon"),
        ("--epsilon ''", USAGE, INVALID),
        ("--epsilon all", USAGE, INVALID),
        ("--mechanism zonotope --unit comparison", USAGE, "leave out one of --mechanism"),
        ("--plot p.txt", USAGE, "--plot"),
        ("--plot ''", USAGE, "--plot"),
        ("--plot no/p.png", REFUSED, "no folder"),
        ("--plot mine.png", REFUSED, "not a picture by quietrank"),
        ("--format xml", USAGE, "is not one of"),
        ("--workers 0", USAGE, INVALID),
        ("--workers ''", USAGE, INVALID),
        ("--risk 0.1", USAGE, "No such option"),
    ]
]

PAPER: list[Line] = [
    (f"paper {words}", code, message)
    for words, code, message in [
        ("--figure 9", USAGE, "is not one of"),
        ("--figure ''", USAGE, "is not one of"),
        ("--figure 1,", USAGE, "not one"),
        ("--repetitions 0", USAGE, INVALID),
        ("--repetitions ''", USAGE, INVALID),
        ("--seed -1", USAGE, INVALID),
        ("--seed ''", USAGE, INVALID),
        ("--workers 0", USAGE, INVALID),
        ("--workers many", USAGE, INVALID),
        ("--quick --figure 1 --out votes.csv", REFUSED, "votes.csv"),
        ("--quick --figure 1 --out items.txt/results", REFUSED, "items.txt"),
        ("--quick --figure 1 --out odd-results", REFUSED, "not a table of means by quietrank"),
        ("--quick --figure 1 --out ''", USAGE, "--out"),
        ("check --reference nowhere.csv --out results", REFUSED, "published figures"),
        ("check --reference folder --out results", REFUSED, "published figures"),
        ("check --reference '' --out results", REFUSED, "published figures"),
        ("check --reference latin1.csv --out results", REFUSED, "published figures"),
        ("check --reference picture.csv --out results", REFUSED, "published figures"),
        ("check --reference nul.csv --out results", REFUSED, "published figures"),
        ("check --reference huge-header.csv --out results", REFUSED, "published figures"),
        ("check --reference reference-words.csv --out results", REFUSED, "published figures"),
        ("check --reference votes.csv --out results", REFUSED, "published figures"),
        ("check --reference reference.csv --out results", REFUSED, "no point in common"),
        ("check --reference reference.csv --out nowhere", REFUSED, "no results in nowhere"),
        ("check --reference reference.csv --out ''", REFUSED, "no results"),
        ("check --reference reference.csv --out votes.csv", REFUSED, "no results"),
        ("check --reference reference.csv --out odd-results", REFUSED, "not a table of means"),
        ("check --reference reference.csv --out latin1-results", REFUSED, "not a table of means"),
        ("check --reference reference.csv --strict=yes", USAGE, "does not take a value"),
    ]
]

READ_ONLY: list[Line] = [
    (f"{RANK} --ledger read-only.db", REFUSED, "cannot be written"),
    (f"{RANK} --ledger unreadable.db", USAGE, "is not readable"),
    (f"{RANK} --out folder/r.json", REFUSED, "nothing can be written in folder"),
    (f"rank unreadable.csv --items x,y,z {PROMISE}", USAGE, "is not readable"),
    (f"rank votes.csv --items unreadable.csv {PROMISE}", REFUSED, "unreadable.csv cannot be read"),
    ("rerank unreadable.json", USAGE, "is not readable"),
    ("ledger show unreadable.db", USAGE, "is not readable"),
    ("ledger new folder/b.db --epsilon 1 --data v --unit person", REFUSED, "cannot be"),
    ("simulate --items 5 --p 0.5 --out folder/v.csv", REFUSED, "nothing can be written in folder"),
]
"""for those who are not root, to whom everything is open"""

LINES = [
    *TOP,
    *GENERAL,
    *NUMBERS,
    *WORDS,
    *READERS,
    *CONTRADICTIONS,
    *VOTES,
    *WHERE,
    *LISTS,
    *OUTPUTS,
    *LEDGERS,
    *RERANK,
    *OTHERS,
    *SIMULATE,
    *SYNTHETIC,
    *PLAN,
    *AUDIT,
    *PAPER,
]
CALLS = [(_words(words), code, message) for words, code, message in LINES]
NOT_ROOT = [(_words(words), code, message) for words, code, message in READ_ONLY]
