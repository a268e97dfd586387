"""Votes in a polars data frame, by language: one ranking for each, all of them for one ε."""

from __future__ import annotations

import polars as pl

import quietrank as qr

made_up = pl.from_arrow(qr.simulate(items=4, people=200, per_person=6, seed=1))
assert isinstance(made_up, pl.DataFrame)
judged = made_up.with_columns(
    language=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("de")).otherwise(pl.lit("en"))
)
votes = qr.read_votes(judged, items=[f"item-{k}" for k in range(1, 5)], by="language", groups=["de", "en"])
releases = qr.rank_by_group(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6), overall=True)
for language, release in releases:
    print(language, release.to_polars().select("rank", "item", "win_rate").rows())
