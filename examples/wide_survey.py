"""A survey with one row per person and one column per pair, from the file to the page for readers, with a budget."""

from __future__ import annotations

import csv
import random
import tempfile
from itertools import combinations
from pathlib import Path

import quietrank as qr

FIRMS = ("Acme", "Bolt", "Crux", "Dune")
PAIRS = list(combinations(FIRMS, 2))


def make_up(path: Path) -> None:
    """150 people who like Acme best; some leave an answer out."""
    chance = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["person", *(f"{a}:{b}" for a, b in PAIRS)])
        for number in range(150):
            answers = [chance.choice((a, a, b) if a == "Acme" else (a, b)) for a, b in PAIRS]
            writer.writerow([f"p{number}", *(answer if chance.random() < 0.97 else "" for answer in answers)])


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    make_up(folder / "survey.csv")
    ledger = qr.Ledger.create(folder / "budget.db", epsilon=2, data="employers 2026", unit="person")

    votes = qr.read_votes(folder / "survey.csv", items=FIRMS)
    privacy = qr.Privacy(epsilon=1, unit="person", one_per_pair=True, design="uniform")
    release = qr.rank(votes, privacy, method="bradley-terry", ledger=ledger)

    release.to_json(folder / "release.json")
    release.report(folder / "ranking.html")
    print(release)
    print(f"left in the budget: ε = {ledger.remaining:g}")
