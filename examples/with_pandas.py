"""Votes in a pandas data frame: check them, rank them, and go on with a data frame of the ranking."""

from __future__ import annotations

import pandas as pd

import quietrank as qr

answers = pd.DataFrame(
    {
        "respondent": ["ana", "ana", "ben", "ben", "eve", "eve"],
        "preferred": ["tea", "tea", "coffee", "tea", "coffee", "tea"],
        "other": ["coffee", "water", "tea", "water", "water", "coffee"],
    }
)
votes = qr.read_votes(answers, items=["tea", "coffee", "water"], winner="preferred", loser="other", person="respondent")
print(qr.check(votes))  # confidential: for you alone

release = qr.rank(votes, qr.Privacy(epsilon=1, unit="person", one_per_pair=True))
ranking = release.to_pandas()
print(ranking[["rank", "item", "rank_low", "rank_high"]])
print(release.statement)
