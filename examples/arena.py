"""The arena, worked: judges compare language models, and every night the rankings are published, each judge protected.

    python examples/arena.py try-out --nights 3             # makes up an arena in try-out, and publishes three nights
    python examples/arena.py my-arena --votes /data/votes   # yours: day=2026-11-16/part-0.parquet and so on

`nightly` is the job; copy it. A night gives one ranking over all votes so far and one per language, with intervals: a
page (NIGHT.html), the release (NIGHT.json) and the noisy counts (NIGHT.tally.json), from which other rankings are made
for free. The folder also holds what is public, models.txt and languages.txt, which you write before the first night,
and the ledger, budget.db. A folder with made-up votes never becomes yours: its ledger has paid for invented judges.

**What it costs.** Nights are separate releases about the same judges, so what they lose adds up. The ledger is all
that any judge ever loses: ε = 4, δ = 1e-6. Gaussian noise adds up slowly: 52 nights at ε = 0.5 fit, where plain
addition allows 8. So be wise and publish weekly, which is what these numbers are for: 365 nights would have to be at
ε = 0.179, with 2.6 times the noise. After the last one nothing more is published from these judges' votes.

**When it crashes.** Nothing is paid twice for one night.

- Before the payment: nothing was spent; run it again.
- Between the payment and NIGHT.tally.json: the payment is gone, and so are the counts it bought, which nobody saw. The
  note NIGHT.paying stays behind, and the night is refused from then on. The next night has all of its votes. Whoever
  wants that night at its price once more deletes the note.
- After NIGHT.tally.json: run it again; the rest is made from the saved counts, and costs nothing.
- NIGHT.json exists: nothing is done.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import quietrank as qr

# ---- the job: copy from here -----------------------------------------------------------------------------------------


EACH_NIGHT = qr.Privacy(epsilon=0.5, delta=1e-7, unit="person", max_per_person=20)


@dataclass(frozen=True)
class Arena:
    """Where things are, and what every judge is promised; fixed before the first night."""

    folder: Path
    votes: Mapping[str, Any]
    """where the votes are, in the words of `read_votes`: {"source": "votes/"}, or {"connect": …, "table": …}"""
    each_night: qr.Privacy = EACH_NIGHT
    epsilon: float = 4.0
    delta: float = 1e-6
    """the budget of all nights together"""
    nights: int = 52
    """how many were planned; the ledger has the last word"""

    def file(self, name: object) -> Path:
        return self.folder / str(name)

    def listed(self, name: str) -> list[str]:
        """A public list, one name per line."""
        if not self.file(name).exists():
            raise qr.QuietrankError(
                f"there is no {self.file(name)}; write all {name.removesuffix('.txt')} in it, one per line, also those "
                "without votes: the list is public, and a vote on anything else is an error"
            )
        lines = self.file(name).read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def ledger(self) -> qr.Ledger:
        return qr.Ledger.open(self.file("budget.db"))


def nightly(arena: Arena, night: date) -> qr.GroupedRelease:
    """Publish the rankings of one night over all votes until then; pays once, however often it is called."""
    done, counts = arena.file(f"{night}.json"), arena.file(f"{night}.tally.json")
    with alone(arena):
        if done.exists():
            return qr.GroupedRelease.from_json(done)
        if not counts.exists():
            pay(arena, night, counts)
        tally = qr.GroupedTally.from_json(counts)
        release = qr.rerank(tally, method="bradley-terry", ties="davidson", scale="elo", overall=True)
        release.report(arena.file(f"{night}.html"), remaining=what_is_left(arena), overwrite=True)
        release.to_json(done)  # last, because it says that the night is done
    return release


def pay(arena: Arena, night: date, counts: Path) -> None:
    """Check the votes, debit the ledger, draw the noise, save the noisy counts: in this order."""
    check_night(arena, night)
    ledger = arena.ledger()
    votes = qr.read_votes(
        **arena.votes, items=arena.listed("models.txt"), person="judge", where=f"day <= '{night}'",
        by="language", groups=arena.listed("languages.txt"),
    )  # fmt: skip
    with noted(arena.file(f"{night}.paying"), ledger, counts):
        tally = qr.noisy_tally_by_group(
            votes, arena.each_night, method="bradley-terry", ties="davidson", ledger=ledger
        )  # fmt: skip
        tally.to_json(counts)


def check_night(arena: Arena, night: date) -> None:
    """Refuse to pay for a night that was not delivered: it would buy the ranking of the night before once more.

    That a day has a folder is the exporter's doing, and says nothing about anybody; how many votes are in it does, and
    is not looked at. In a table nothing but votes could show it: there, --loaded says so.
    """
    source = arena.votes.get("source")
    if source is not None and not (Path(source) / f"day={night}").is_dir():
        raise qr.QuietrankError(
            f"there is no folder day={night} in {source}: its votes have not been delivered; a day on which nobody "
            "voted has an empty folder"
        )


@contextmanager
def noted(note: Path, ledger: qr.Ledger, counts: Path) -> Iterator[None]:
    """Keep a note of where the ledger stood; it stays behind only if a payment was made and its counts were not saved.

    Writing it also shows, before anything is paid, that the folder takes files.
    """
    before = ledger.verify()
    if note.exists() and note.read_text() not in ("", before):
        raise qr.QuietrankError(
            f"the job stopped while it paid for this night, and the ledger was debited since: the counts are lost, and "
            f"the next night has all of its votes; to pay for this one again, delete {note}"
        )
    write_through(note, before)
    try:
        yield
    finally:
        if counts.exists() or ledger.verify() == before:
            note.unlink()


@contextmanager
def alone(arena: Arena) -> Iterator[None]:
    """One job at a time; the lock goes with the process, however that ends."""
    with arena.file("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_through(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk, with its name."""
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def what_is_left(arena: Arena) -> str:
    """The budget in words, for the operator and for readers."""
    ledger = arena.ledger()
    left = max(0, arena.nights - len(ledger.entries()))
    return (
        f"ε = {ledger.spent:.2f} of {arena.epsilon:g} was spent on these judges, all nights together "
        f"(δ = {arena.delta:g}); {left} of {arena.nights} planned nights are left"
    )


# ---- set up once, then call it every night ---------------------------------------------------------------------------


def set_up(arena: Arena) -> None:
    """Make the ledger, before the first night only: a ledger that went missing later must not come back full."""
    if not arena.file("budget.db").exists() and not list(arena.folder.glob("*.tally.json")):
        qr.Ledger.create(
            arena.file("budget.db"), arena.epsilon, arena.delta, data="votes of the arena",
            unit=arena.each_night.unit, neighbours=arena.each_night.neighbours,
        )  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    options = parsed(words)
    options.folder.mkdir(parents=True, exist_ok=True)
    arena = Arena(options.folder, where_votes_are(options))
    night: date | str = "before the first night"
    try:
        for night in nights_of(options):
            if is_made_up(arena):
                make_up_votes(arena, night)
            for name in ("models.txt", "languages.txt"):
                arena.listed(name)  # refused before there is a ledger
            set_up(arena)
            release = nightly(arena, night)
            print(f"{night}: {headline(release)}\n  {what_is_left(arena)}.")
    except (qr.QuietrankError, OSError) as refusal:
        print(f"{night}: refused: {' '.join(str(refusal).split())}", file=sys.stderr)
        return 1
    return 0


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Publish the rankings of an arena, night by night.")
    parser.add_argument("folder", type=Path, help="the ledger, the public lists, and what is published")
    parser.add_argument("--votes", type=Path, help="a folder of day=2026-11-16/part-0.parquet; else votes are made up")
    parser.add_argument("--engine", help='"spark": the parts are read on a cluster')
    parser.add_argument("--connect", help="a database instead of files: postgres://user@host:port/database")
    parser.add_argument("--table", help="its table of votes, with the columns of the parts and day")
    parser.add_argument("--loaded", action="store_true", help="with --connect: all votes of the night are in the table")
    parser.add_argument("--night", type=date.fromisoformat, help="this night alone; for a table, else yesterday's")
    parser.add_argument("--nights", type=int, default=1, help="the last so many days of the folder, or so many made up")
    return parser.parse_args(words)


def where_votes_are(options: argparse.Namespace) -> dict[str, Any]:
    """In the words of `read_votes`."""
    source = options.votes if options.votes or options.connect else options.folder / MADE_UP
    words = {"source": source, "engine": options.engine, "connect": options.connect, "table": options.table}
    return {name: word for name, word in words.items() if word is not None}


def nights_of(options: argparse.Namespace) -> list[date]:
    """The night that was asked for, or the last ones there are."""
    if options.nights < 1:
        raise qr.QuietrankError(f"--nights must be 1 or more, not {options.nights}")
    if options.connect is not None and not options.loaded:
        raise qr.QuietrankError(
            "a table does not show whether the votes of the night are in it; add --loaded when they are, such as in "
            "the job that loads them"
        )
    if options.night is not None:
        return [options.night]
    if options.connect is not None:
        return [date.today() - timedelta(days=1)]
    if options.votes is None:
        return [FIRST_NIGHT + timedelta(days=k) for k in range(options.nights)]
    days = sorted(path.name.removeprefix("day=") for path in options.votes.glob("day=????-??-??"))
    if not days:
        raise qr.QuietrankError(f"there is no folder such as day={FIRST_NIGHT} in {options.votes}; check --votes")
    return [date.fromisoformat(day) for day in days[-options.nights :]]


def headline(release: qr.GroupedRelease) -> str:
    """The first sentences of the release."""
    return release.to_markdown().split("\n")[0].strip("*")


# ---- an arena to try it on -------------------------------------------------------------------------------------------

MADE_UP = "made-up-votes"
FIRST_NIGHT = date(2026, 11, 16)
STRENGTHS = {
    "atlas-3": 0.9, "birch-large": 0.8, "cedar-2": 0.5, "delta-mini": 0.1, "ember-1": 0.0, "fjord-small": -0.4,
    "grove-1": -0.7, "heron-2": 0.7,
}  # fmt: skip
ARRIVALS = {"heron-2": FIRST_NIGHT + timedelta(days=1)}
"""models that were not there from the first night on"""
LANGUAGES = {"en": 0.5, "de": 0.3, "zh": 0.2}
"""how many votes each has"""
JUDGES = 20_000


def is_made_up(arena: Arena) -> bool:
    """Whether votes are to be made up: not where somebody forgot --votes; and where they were, they always will be."""
    was_made_up = arena.file(MADE_UP).exists()
    if arena.votes.get("source") != arena.file(MADE_UP):
        if was_made_up:
            raise qr.QuietrankError(
                f"{arena.folder} holds a made-up arena: its lists, its ledger and its nights are not yours; give "
                "another folder, with models.txt and languages.txt in it"
            )
        return False
    if arena.file("models.txt").exists() and not was_made_up:
        raise qr.QuietrankError(
            f"{arena.folder} holds an arena; say where its votes are with --votes or --connect, or give a new folder"
        )
    return True


def make_up_votes(arena: Arena, night: date) -> None:
    """One more day of votes and, if a model has arrived, the longer list; a day that is there is left as it is."""
    if night < FIRST_NIGHT:
        raise qr.QuietrankError(f"the made-up arena opened on {FIRST_NIGHT}; ask for that night or a later one")
    part = arena.file(MADE_UP) / f"day={night}" / "part-0.parquet"
    if part.exists():
        return
    part.parent.mkdir(parents=True, exist_ok=True)
    models = [name for name in STRENGTHS if ARRIVALS.get(name, night) <= night]
    arena.file("models.txt").write_text("\n".join(models) + "\n", encoding="utf-8")
    arena.file("languages.txt").write_text("\n".join(LANGUAGES) + "\n", encoding="utf-8")
    draft = part.with_name("_part-0.parquet")  # not read under this name: a part is there when it is complete
    pq.write_table(day_of_votes(models, (night - FIRST_NIGHT).days), draft)
    draft.rename(part)


def day_of_votes(models: list[str], day: int) -> pa.Table:
    """Judges have tastes, languages have favourites, a few judges vote a hundred times, and a quarter is undecided."""
    always, today = np.random.default_rng(1), np.random.default_rng([1, day])
    taste_of_judge = always.normal(0, 0.5, (JUDGES, len(STRENGTHS)))
    taste_of_language = always.normal(0, 0.2, (len(LANGUAGES), len(STRENGTHS)))
    votes_of_judge = np.minimum(300, always.pareto(1.3, JUDGES) * 2 + 1) * (today.random(JUDGES) < 0.4)
    judge = np.repeat(np.arange(JUDGES), votes_of_judge.astype(int))
    language = today.choice(len(LANGUAGES), len(judge), p=list(LANGUAGES.values()))
    a = today.integers(len(models), size=len(judge))
    b = (a + today.integers(1, len(models), size=len(judge))) % len(models)
    place = np.array([list(STRENGTHS).index(model) for model in models])
    liking = np.array(list(STRENGTHS.values())) + taste_of_judge[judge] + taste_of_language[language]
    row = np.arange(len(judge))
    a_wins = today.random(len(judge)) < 1 / (1 + np.exp(liking[row, place[b]] - liking[row, place[a]]))
    winner = np.where(a_wins, "model_a", "model_b").astype(object)
    winner[today.random(len(judge)) < 0.15] = "tie"
    winner[today.random(len(judge)) < 0.1] = "tie (bothbad)"
    names, tongues = np.array(models), np.array(list(LANGUAGES))
    return pa.table({
        "judge": np.char.add("judge-", judge.astype(str)), "model_a": names[a], "model_b": names[b],
        "winner": winner, "language": tongues[language],
    })  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
