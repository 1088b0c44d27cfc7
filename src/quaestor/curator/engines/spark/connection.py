"""Spark: on this machine (``local[2]``), a cluster (``spark://``), or Connect (``sc://``)."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quaestor.curator.engines.engine_work import EngineWork
from quaestor.curator.engines.files import found, kind_of, named_columns, pattern_of
from quaestor.curator.engines.spark.dialect import SPARK
from quaestor.curator.engines.spark.kept_rows import SparkKeptRows
from quaestor.curator.engines.spark.text_rows import TEXT_SETTINGS, text_frame
from quaestor.curator.engines.stop import stoppable
from quaestor.curator.kernel.engine_columns import EngineColumns
from quaestor.curator.kernel.relations import Base
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["SparkConnection"]

_DATED = {"date", "timestamp"}
_SETTINGS = {
    # Otherwise casts and overflows raise errors that quote the value.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Its inference of filters can take memory that grows exponentially with the expressions.
    "spark.sql.constraintPropagation.enabled": "false",
    # Old dates are what they say; otherwise files of other writers may be refused.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # Values in folders' names are texts: otherwise one folder decides what type they all have.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    **TEXT_SETTINGS,
}


class SparkConnection:
    """A Spark session; a process has one of a cluster at most."""

    dialect = SPARK

    def __init__(self, catalog: Catalog, table: Table) -> None:
        self._catalog = catalog
        self._session = _session(table)
        self._tags: set[str] = set()
        self._remote = (table.source.connection or "").startswith("sc://")
        for name, value in _SETTINGS.items():
            self._session.conf.set(name, value)

    def base(self, table: Table) -> Base:
        """A table of Spark's catalog, or a view of Parquet or CSV files."""
        name = table.source.table
        try:
            if name is None:
                pattern = pattern_of(self._catalog, table)
                # The session is shared: another catalog may have a table of the same name.
                name = f"quaestor_{uuid4().hex}"
                _refuse_coarse_times(table, pattern)
                frame = self._read(table, pattern)
                frame.createOrReplaceTempView(name)
            else:
                frame = self._session.table(name)
            types = {each.name: each.dataType.simpleString() for each in frame.schema.fields}
            return Base(sql=".".join(map(SPARK.name_of, name.split("."))), types=types)
        except SourceUnavailable:
            raise
        except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
            missing = SourceUnavailable(
                table.name, f"Spark cannot read {table.source.table or table.source.files}"
            )
        raise missing

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        columns = [column.to_pylist() for column in self._table(sql).columns]
        return list(zip(*columns, strict=True))

    def columns(self, sql: str) -> EngineColumns:
        """What a statement returns, in arrays of numpy's where it is whole numbers, else in lists.

        No row is an object, neither of Java's nor of Python's.
        """
        return EngineColumns(tuple(map(_column, self._table(sql).columns)))

    def kept_rows(self) -> SparkKeptRows:
        """Where the rows of one question are kept."""
        return SparkKeptRows(self._session, tagged=self._tagged, columns=self.columns)

    def _table(self, sql: str) -> Any:
        """What a statement returns, in Arrow's columns."""
        return self._tagged(lambda: self._session.sql(sql).toArrow())

    def _tagged(self, action: Callable[[], Any]) -> Any:
        """What an action gives whose jobs have a tag of their own, by which they are stopped.

        Tags of a session's are known to the thread that has set them alone: a stop from another
        thread would find none. So it is the context's, but for Connect, where it is the server
        who knows them.
        """
        tag, session = f"quaestor-{uuid4().hex}", self._session
        if self._remote:
            add, remove, interrupt = session.addTag, session.removeTag, session.interruptTag
        else:
            context = session.sparkContext
            add, remove = context.addJobTag, context.removeJobTag
            interrupt = context.cancelJobsWithTag
        add(tag)
        self._tags.add(tag)
        try:
            with stoppable(lambda: interrupt(tag)):
                return action()
        finally:
            self._tags.discard(tag)
            remove(tag)

    def work(self) -> list[EngineWork]:
        """Jobs of our statements that Spark has under way, by its own status.

        Behind Connect there is none: its server keeps the status to itself.
        """
        tags = tuple(self._tags)
        if not tags or self._remote:
            return []
        jobs = self._session.sparkContext._jsc.sc().statusStore().jobsList(None)  # noqa: SLF001
        return [
            EngineWork(engine="spark", tasks=job.numTasks(), done=job.numCompletedTasks())
            for job in (jobs.apply(place) for place in range(jobs.size()))
            if job.status().toString() == "RUNNING"
            and any(name.endswith(tags) for name in job.jobTags().mkString(" ").split())
        ]

    def close(self) -> None:
        """Leave the session to whoever else uses it: closing it would stop the cluster's work."""

    def _read(self, table: Table, pattern: str) -> Any:
        if kind_of(table) == "parquet":
            return self._session.read.parquet(pattern)
        remote = "://" in pattern
        names = None if remote else named_columns(table, found(table, pattern))
        return text_frame(self._session, table.source, pattern, names)


def _refuse_coarse_times(table: Table, pattern: str) -> None:
    """Refuse declared columns of Parquet files with times in milliseconds, by the files' schemas.

    Spark's scan fails where such a time is beyond its own range. Files that are not on this machine
    are not looked at.
    """
    import pyarrow.parquet as pq
    import pyarrow.types as kinds

    declared = {column.name.lower() for column in table.columns if column.kind in _DATED}
    if kind_of(table) != "parquet" or not declared or "://" in pattern:
        return
    for path in glob.glob(pattern, recursive=True):  # noqa: PTH207 (an absolute pattern)
        if Path(path).is_file():
            for column in pq.read_schema(path):
                coarse = kinds.is_timestamp(column.type) and column.type.unit in {"s", "ms"}
                if coarse and column.name.lower() in declared:
                    raise SourceUnavailable(
                        table.name,
                        f"Spark may fail to read {column.name!r}, a time in milliseconds: write it "
                        "in microseconds, or leave the column out of the catalog",
                    )


def _column(column: Any) -> Any:
    """A column of Arrow's, masked where there are NULLs: floats would lose digits."""
    import numpy as np
    import pyarrow.types as kinds

    if not kinds.is_signed_integer(column.type):
        return column.to_pylist()
    if not column.null_count:
        return column.to_numpy()
    return np.ma.MaskedArray(column.fill_null(0).to_numpy(), mask=column.is_null().to_numpy())


def _session(table: Table) -> Any:
    master = table.source.connection or ""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark", extra="spark", purpose="asking Spark") from None
    try:
        builder = SparkSession.builder.appName("quaestor")
        if master.startswith("sc://"):
            return builder.remote(master).getOrCreate()
        builder = builder.master(master).config("spark.ui.enabled", "false")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")  # its messages quote rows
        same = session.sparkContext.master == master
    except Exception:  # noqa: BLE001 (of many kinds, Java's among them)
        problem = f"no Spark answers at {master!r}"
    else:
        if same:
            return session
        problem = f"this process already uses a Spark session other than {master!r}"
    raise SourceUnavailable(table.name, problem)
