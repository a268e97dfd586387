"""Votes in a table of a database: they are counted there, and only sums come back. Here it is a DuckDB file; for
PostgreSQL, connect="postgres://user@host/database"."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

import quietrank as qr

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "votes.duckdb")
    made_up = qr.simulate(items=5, people=300, per_person=10, seed=2)
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE votes AS FROM made_up")

    votes = qr.read_votes(
        connect=f"duckdb:///{path}",
        query="SELECT person, winner, loser FROM votes",
        items=[f"item-{k}" for k in range(1, 6)],
    )
    release = qr.rank(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=10), method="bradley-terry")
    print(release)
