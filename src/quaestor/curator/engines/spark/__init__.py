"""Spark: on this machine (``local[2]``), a cluster (``spark://``), or Connect (``sc://``).

===============  ==================================================================
``dialect``      its SQL, where it differs from that of other engines
``schema``       the columns of a table or of files, for the catalog
``connection``   a session; a process has one of a cluster at most
``text_rows``    how rows of CSV files are read
===============  ==================================================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import TEXT_KINDS, Source, file_kind
from quaestor.curator.catalog.sections import shown
from quaestor.curator.catalog.sources import EngineKind, SourceKey, refuse_together, table_name
from quaestor.curator.engines.files import FILE, files_key
from quaestor.curator.engines.spark.dialect import SPARK

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.engines.spark.connection import SparkConnection
    from quaestor.curator.language.expressions import Kind

__all__ = ["ENGINE"]

_MASTER = re.compile(r"local(?:\[(?:\d+|\*)\])?|(?:spark|sc)://\S+|yarn|k8s://\S+")


class _Spark(EngineKind):
    name = "spark"
    address = SourceKey(
        name="master",
        example="local[2]",
        help="The address of Spark, such as local[2] or sc://host.",
    )
    keys = (address,)
    shared = (FILE,)
    schema = "default"
    dialect = SPARK

    def source(self, table: Section, name: str) -> Source:
        remedy = 'write  master = "local[2]",  "spark://host:7077"  or  "sc://host"'
        master = table.text("master", remedy=remedy)
        if master is None or not _MASTER.fullmatch(master):
            problem = f"master must be where Spark is, not {shown(master)}"
            raise table.wrong("master", problem, remedy)
        files = files_key(table, remote=True)
        if files is not None:
            if file_kind(files) == "jsonl":
                problem = "JSON lines are read by DuckDB, not by Spark"
                raise table.wrong("file", problem, "take master away, or write Parquet files")
            refuse_together(table, "a file", "table")
            return Source(engine=self.name, connection=master, files=files)
        return Source(engine=self.name, connection=master, table=table_name(table) or name)

    def whereabouts(self, source: Source, folder: str | Path) -> tuple[str | None, ...]:
        """How many threads this machine gives to Spark is no place."""
        master, *rest = super().whereabouts(source, folder)
        return "local" if master is not None and master.startswith("local") else master, *rest

    def columns(self, source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
        from quaestor.curator.engines.spark.schema import read_columns

        return read_columns(source, folder)

    def fitted(self, source: Source, folder: str | Path) -> tuple[Source, list[str]]:
        from quaestor.curator.engines.text_check import fitted

        files = source.files or ""
        text = file_kind(files) in TEXT_KINDS and "://" not in files
        return fitted(source, folder) if text else (source, [])

    def connection(self, catalog: Catalog, table: Table) -> SparkConnection:
        from quaestor.curator.engines.spark.connection import SparkConnection

        return SparkConnection(catalog, table)


ENGINE = _Spark()
