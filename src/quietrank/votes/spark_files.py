"""Files of votes, or the name of a table, in; a table in a Spark session out: Spark reads them, also on a cluster.

The session is Spark's own: its master and all settings come from the environment (spark-defaults.conf,
PYSPARK_SUBMIT_ARGS, MASTER), and without any it runs in this machine. Parquet and CSV are read; a CSV file as text
throughout, and strictly.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quietrank.errors import VotesError, option
from quietrank.votes import paths
from quietrank.votes.engines import SPARK
from quietrank.votes.files import Source, kind_of, stamps_of
from quietrank.votes.formats.csv import scan_csv
from quietrank.votes.formats.parquet import scan_parquet
from quietrank.votes.formats.scan import Dialect, Ready, first_line
from quietrank.votes.formats.text import compression_of

WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""whatever the session says: a file that cannot be read is an error, never fewer votes"""
QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
"""of a new session: what is done, and what goes wrong, is said by quietrank"""
TYPED_KEYS = "spark.sql.sources.partitionColumnTypeInference.enabled"
UNREADABLE = "\ufffd"
"""what Spark puts in the place of bytes that are no UTF-8"""


def connect_spark() -> Any:
    """An Ibis connection to the Spark session of this process, or to a new one."""
    import ibis

    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise VotesError("Spark needs its driver; pip install 'quietrank[spark]', and Java 17") from None
    try:
        builder = SparkSession.builder.appName("quietrank").config(map=QUIET)
        # It would print the query that failed, with the cell that it failed at.
        logging.getLogger("SQLQueryContextLogger").disabled = True
        return ibis.pyspark.connect(builder.getOrCreate())
    except (PySparkException, RuntimeError, OSError) as error:
        raise VotesError(
            f"Spark could not be started ({first_line(error)}); it needs Java 17 or newer, and the cluster that its "
            "settings name"
        ) from None


def open_in_spark(source: object, dialect: Dialect) -> Source:
    """All files that a path, a folder, a pattern, or a list of these stands for; a URL such as hdfs:// is Spark's."""
    addresses = [str(one) for one in (source if isinstance(source, list | tuple) else [source])]
    if dialect.encoding or dialect.sheet or dialect.header_rows:
        raise VotesError(
            f"{option('encoding')}, {option('sheet')} and {option('header_rows')} are for quietrank's own engine; "
            f"leave {option('engine', 'spark')} out, or convert the votes to Parquet"
        )
    if any("://" in one for one in addresses):
        return _open_remote(addresses, dialect)
    parts = paths.find(addresses)
    if any(part.is_standard_input for part in parts):
        raise VotesError(f"Spark does not read standard input; leave {option('engine', 'spark')} out")
    stamps = stamps_of(parts)
    kind = kind_of(parts, dialect.input_format)
    _require_readable(kind)
    packing = {part.path: "none" if kind == "parquet" else compression_of(part.path) for part in parts}
    ready = [Ready(part, part.path, packing[part.path]) for part in parts]
    options: dict[str, str] = {}
    columns: tuple[str, ...] | None = None
    if kind == "parquet":
        inexact: Mapping[str, str] = scan_parquet(ready).inexact
    else:
        texts, inexact = scan_csv(ready, dialect).texts, {}
        if len({text.alike() for text in texts}) > 1 or texts[0].skip > 1:
            raise VotesError(
                "these CSV files differ in their delimiter, the order of their columns or their header, which Spark "
                f"does not read together; leave {option('engine', 'spark')} out, or convert them to Parquet"
            )
        columns, options["sep"] = texts[0].columns, texts[0].delimiter
    backend = connect_spark()
    frames = [
        _read(backend, kind, [f"file://{path.resolve()}" for path in files], base, columns, options)
        for base, files in _by_base(addresses).items()
    ]
    name = paths.name_of([part.name for part in parts])
    return _source(backend, frames, name, stamps=stamps, inexact=inexact)


def _open_remote(addresses: Sequence[str], dialect: Dialect) -> Source:
    """Files that only Spark can see."""
    kind = dialect.input_format or ("csv" if all(one.endswith((".csv", ".csv.gz")) for one in addresses) else "parquet")
    _require_readable(kind)
    backend = connect_spark()
    options = {"sep": dialect.delimiter} if dialect.delimiter else {}
    name = paths.name_of([re.sub(r"//[^/@]*@", "//", url) for url in addresses])  # without who connects
    return _source(backend, [_read(backend, kind, [one], None, None, options) for one in addresses], name)


def _require_readable(kind: str) -> None:
    if kind not in ("parquet", "csv"):
        raise VotesError(
            f"Spark reads votes from Parquet and CSV files, and these are {kind}; leave {option('engine', 'spark')} "
            "out, or convert them to Parquet"
        )


def _by_base(addresses: Sequence[str]) -> dict[Path | None, list[Path]]:
    """The files of each folder or pattern, whose names of folders below are columns; a single file has none."""
    files: dict[Path | None, list[Path]] = {}
    for one in addresses:
        parts = paths.find([one])
        base = paths.base_of(one) if parts[0].keys else None
        files.setdefault(base, []).extend(part.path for part in parts)
    return files


def _read(
    backend: Any, kind: str, files: list[str], base: Path | None, columns: tuple[str, ...] | None,
    options: Mapping[str, str],
) -> Any:  # fmt: skip
    session = backend._session
    before = session.conf.get(TYPED_KEYS)
    session.conf.set(TYPED_KEYS, "false")  # the names of folders are text, as everywhere
    reader = session.read.options(**WHOLE, **options)
    if base is not None:
        reader = reader.option("basePath", f"file://{base.resolve()}")
    try:
        if kind == "parquet":
            return reader.parquet(*files)
        reader = reader.options(
            header="true", quote='"', escape='"', multiLine="true", mode="FAILFAST", enforceSchema="false",
            columnPruning="false", encoding="UTF-8",
        )  # fmt: skip
        return _with_readable_cells(_with_columns(reader, columns).csv(files))
    except SPARK.errors as error:
        raise VotesError(f"Spark cannot read {files[0]} ({first_line(error)}); check the path") from None
    finally:
        session.conf.set(TYPED_KEYS, before)


def _with_columns(reader: Any, columns: tuple[str, ...] | None) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    if columns is None:
        return reader
    return reader.schema(StructType([StructField(name, StringType()) for name in columns]))


def _with_readable_cells(frame: Any) -> Any:
    """The cells, where none was unreadable: two people must not become one by the same replacement character."""
    from pyspark.sql import functions

    unreadable = functions.raise_error(functions.lit("a cell is not UTF-8; convert the file, or leave the engine out"))
    return frame.select(
        *(
            functions.when(
                functions.contains(functions.col(f"`{name}`"), functions.lit(UNREADABLE)), unreadable.cast("string")
            )
            .otherwise(functions.col(f"`{name}`"))
            .alias(name)
            for name in frame.columns
        )
    )


def _source(backend: Any, frames: Sequence[Any], name: str, **more: Any) -> Source:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    view = f"quietrank_votes_{uuid.uuid4().hex}"
    whole.createOrReplaceTempView(view)
    return Source(backend.table(view), None, name, SPARK, **more)
