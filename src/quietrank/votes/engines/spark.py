"""Apache Spark, on one machine or on a cluster.

Votes are read once, split by person over the executors, and kept there, so that whatever is counted by person
afterwards moves no vote again. What is kept is a checkpoint: it forgets where it came from. If an executor is lost with
a part of it, the query fails instead of reading that part a second time, when it may be another; a session with a
checkpoint folder that all executors reach loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError
from quietrank.votes.engines.engine import BLANKS, Engine, builtin, number, text_of_two

if TYPE_CHECKING:
    import ibis.expr.types as ir

ANSI, ADAPTIVE = "spark.sql.ansi.enabled", "spark.sql.adaptive.enabled"


class Spark(Engine):
    name = "pyspark"
    title = "Spark"
    reuses_tables = False
    windows = True
    misreads = ("\a", "\v", "\f", "${")

    def as_bytes(self, text: ir.Value) -> ir.Value:
        return text.cast("binary")

    def lowered(self, text: ir.Value) -> ir.Value:
        return text.replace("Σ", "σ").lower()  # Java would make it another letter at the end of a word

    def as_text(self, data: ir.Value) -> ir.Value:
        return data.cast("string")

    def row_number(self) -> ir.Value:
        # Numbered where they are: a window over all rows would move them to one executor.
        return builtin("monotonically_increasing_id", number)()

    def trimmed(self, text: ir.Value) -> ir.Value:
        return builtin("btrim", text_of_two)(text, BLANKS)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        return (PySparkException, Py4JError)

    def explained(self, error: Exception) -> str | None:
        message = str(error)
        if "checkpoint block" in message.lower() or "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in message:
            return (
                "an executor was lost with a part of the votes that had been read, and they are never read twice; try "
                "again, or set spark.checkpoint.dir to a folder that all executors reach, which survives that"
            )
        if type(error).__name__.startswith("Py4J") and "Job aborted" not in message:
            return "the connection to Spark was lost; nothing was counted: try again"
        return None

    def made_by(self, backend: Any, name: str, database: str | None) -> str | None:
        full = f"`{name}`" if database is None else f"`{database}`.`{name}`"
        return "view" if backend._session.catalog.getTable(full).tableType in ("VIEW", "TEMPORARY") else None

    @contextmanager
    def working(self, backend: Any) -> Iterator[None]:
        """In ANSI mode, in which sums that overflow are errors and not other numbers; and with public lists that are
        sent to every executor, so that no vote is moved to be joined with them."""
        session = backend._session
        before, registered = session.conf.get(ANSI), vars(backend).get("_register_in_memory_table")
        session.conf.set(ANSI, "true")
        try:
            backend._register_in_memory_table = lambda op: _broadcast(session, op)
            yield
        finally:
            session.conf.set(ANSI, before)
            if registered is None:
                vars(backend).pop("_register_in_memory_table", None)
            else:
                backend._register_in_memory_table = registered

    def fetch(self, query: ir.Table) -> Any:
        # Not Ibis's own way, through pandas, in which a whole number beside a NULL becomes a float.
        return _frame(query.get_backend(), query).toArrow()

    def fetch_all(self, queries: Sequence[ir.Table]) -> list[Any]:
        """One query for all of them, so that the votes are passed over once; their columns side by side."""
        import pyarrow.compute as pc

        together = reduce(lambda one, other: one.union(other), (_padded(queries, k) for k in range(len(queries))))
        answer = self.fetch(together)
        return [
            answer.filter(pc.equal(answer["which"], k))
            .select([f"{name}_{k}" for name in query.columns])
            .rename_columns(list(query.columns))
            for k, query in enumerate(queries)
        ]

    def progress(self, backend: Any) -> float | None:
        context = getattr(backend._session, "_sc", None)
        if context is None:  # a session of Spark Connect
            return None
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
        return sum(done for done, _ in tasks) / sum(of for _, of in tasks) if tasks else None

    def _keep(self, backend: Any, name: str, rows: ir.Table, by: str | None) -> ir.Table:
        session = backend._session
        _require_ansi(session)
        frame, before = _frame(backend, rows), session.conf.get(ADAPTIVE)
        # Adaptive execution would merge the parts, and forget that they were split by person.
        session.conf.set(ADAPTIVE, "false")
        try:
            _checkpointed(session, frame.repartition(by) if by else frame).createOrReplaceTempView(name)
        finally:
            session.conf.set(ADAPTIVE, before)
        return backend.table(name)

    def _drop(self, backend: Any, name: str) -> None:
        frame = backend._session.table(name)
        backend._session.catalog.dropTempView(name)
        _forget(backend._session, frame)


def _padded(queries: Sequence[ir.Table], place: int) -> ir.Table:
    """The rows of one of the queries, with the columns of all."""
    import ibis

    columns = {
        f"{name}_{k}": query[name].cast("int64") if k == place else ibis.null("int64")
        for k, query in enumerate(queries)
        for name in query.columns
    }
    return queries[place].select(which=ibis.literal(place, type="int64"), **columns)


def _frame(backend: Any, query: ir.Table) -> Any:
    """The query as a data frame of Spark, with the public lists that it mentions."""
    backend._register_udfs(query)
    backend._register_in_memory_tables(query)
    return backend._session.sql(backend.compile(query))


def _broadcast(session: Any, op: Any) -> None:
    session.createDataFrame(op.data.to_pyarrow(op.schema)).hint("broadcast").createOrReplaceTempView(op.name)


def _require_ansi(session: Any) -> None:
    """Check that Spark does what it was told: only in ANSI mode is a text beside a number read as a number."""
    ((kind,),) = session.sql("SELECT typeof(coalesce(1, '1'))").collect()
    if kind == "bigint":
        return
    raise VotesError(
        f"this Spark session does not follow {ANSI}, so that a sum might overflow without a word; use a session that "
        "does, or export the votes to a Parquet file"
    )


def _checkpointed(session: Any, frame: Any) -> Any:
    if _checkpoint_folder(session) is None:
        return frame.localCheckpoint(eager=True)
    # A checkpoint in a folder is written by a second job, which must not read the votes again.
    cached = frame.persist()
    try:
        return cached.checkpoint(eager=True)
    finally:
        cached.unpersist()


def _checkpoint_folder(session: Any) -> str | None:
    context = getattr(session, "_sc", None)
    return None if context is None else context.getCheckpointDir()


def _forget(session: Any, frame: Any) -> None:
    """Free what was kept of a checkpoint, in memory or in a folder, now and not when somebody collects garbage."""
    if getattr(session, "_sc", None) is None:
        return
    for plan in _leaves(frame._jdf.queryExecution().analyzed()):
        if plan.getClass().getSimpleName() != "LogicalRDD":
            continue
        rdd = plan.rdd()
        file = rdd.getCheckpointFile()
        rdd.unpersist(False)
        if file.isDefined():
            path = session._jvm.org.apache.hadoop.fs.Path(file.get())
            path.getFileSystem(session._jsc.hadoopConfiguration()).delete(path, True)


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(k) for k in range(leaves.size())]


SPARK = Spark()
