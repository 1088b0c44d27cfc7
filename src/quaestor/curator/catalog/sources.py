"""Where a table lives, as the catalog says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from quaestor.curator.catalog.model import Source
from quaestor.curator.catalog.sections import shown

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section

__all__ = ["ENGINES", "FILE_KINDS", "SOURCE_KEYS", "check_environment", "file_kind", "read_source"]

ENGINES = ("duckdb", "postgres", "spark")
SOURCE_KEYS = ("engine", "file", "database", "environment", "master", "table")
FILE_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
}
_ONE_OF = (
    'write  file = "visits.parquet"  or  database = "clinic.duckdb"  or  '
    'environment = "CLINIC_DATABASE"  or  master = "local[2]"'
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TABLE = re.compile(r"[^.\"\s]+(?:\.[^.\"\s]+)?")
_MASTER = re.compile(r"local(?:\[(?:\d+|\*)\])?|(?:spark|sc)://\S+|yarn|k8s://\S+")


def file_kind(files: str) -> str | None:
    """What the ending of a file's name says: parquet, csv, tsv; None for others."""
    name = files.lower()
    return next((kind for ending, kind in FILE_KINDS.items() if name.endswith(ending)), None)


def read_source(table: Section, *, name: str) -> Source:
    """Where the table is; the engine may be left out, for the place says it."""
    implied = _implied(table)
    engine = table.choice("engine", ENGINES, remedy=f"engines are {', '.join(ENGINES)}")
    if engine is not None and engine != implied:
        _refuse_engine(table, engine)
    if implied == "postgres":
        _refuse(table, implied, "file", "database", "master")
        variable = check_environment(table)
        return Source(engine="postgres", connection=variable, table=_table(table) or name)
    if implied == "spark":
        return _spark(table, name)
    _refuse(table, implied, "environment", "master")
    database = table.text("database", remedy='write  database = "clinic.duckdb"')
    files = _files(table, remote=False)
    if database is not None:
        _refuse(table, "a database", "file")
        _refuse_remote(table, "database", database)
        return Source(engine="duckdb", connection=database, table=_table(table) or name)
    _refuse(table, "a file", "table")
    return Source(engine="duckdb", files=files)


def check_environment(section: Section) -> str:
    """The name of an environment variable."""
    remedy = 'write the name of the variable that holds the address:  environment = "CLINIC"'
    value = section.text("environment", remedy=remedy)
    if value is None or not _VARIABLE.fullmatch(value):
        problem = "environment must be the name of an environment variable"
        raise section.wrong("environment", problem, remedy)
    return value


def _implied(table: Section) -> str:
    for key, engine in (("master", "spark"), ("environment", "postgres")):
        if key in table.values:
            return engine
    if "file" in table.values or "database" in table.values:
        return "duckdb"
    raise table.wrong(None, "it is not said where the table is", _ONE_OF)


def _refuse_engine(table: Section, engine: str) -> NoReturn:
    needed = {"duckdb": "file or database", "postgres": "environment", "spark": "master"}[engine]
    if engine == "duckdb":
        other = next(key for key in ("master", "environment") if key in table.values)
        raise table.wrong(other, f"{other} is not for the engine duckdb", f"write {needed} instead")
    raise table.wrong("engine", f"the engine {engine} needs {needed}", _ONE_OF)


def _refuse(table: Section, what: str, *keys: str) -> None:
    for key in keys:
        if key in table.values:
            raise table.wrong(key, f"{key} does not go together with {what}", "take one away")


def _spark(table: Section, name: str) -> Source:
    _refuse(table, "spark", "database", "environment")
    remedy = 'write  master = "local[2]",  "spark://host:7077"  or  "sc://host"'
    master = table.text("master", remedy=remedy)
    if master is None or not _MASTER.fullmatch(master):
        problem = f"master must be where Spark is, not {shown(master)}"
        raise table.wrong("master", problem, remedy)
    files = _files(table, remote=True)
    if files is not None:
        _refuse(table, "a file", "table")
        return Source(engine="spark", connection=master, files=files)
    return Source(engine="spark", connection=master, table=_table(table) or name)


def _table(table: Section) -> str | None:
    remedy = 'write  table = "visits"  or, in another schema,  table = "clinic.visits"'
    value = table.text("table", remedy=remedy)
    if value is not None and not _TABLE.fullmatch(value):
        raise table.wrong("table", f"{shown(value)} is not the name of a table", remedy)
    return value


def _files(table: Section, *, remote: bool) -> str | None:
    remedy = 'write  file = "visits.parquet",  "visits/*.parquet",  "visits.csv"'
    value = table.text("file", remedy=remedy)
    if value is None:
        return None
    if not remote:
        _refuse_remote(table, "file", value)
    if file_kind(value) is None:
        problem = f"{shown(value)} is no kind of file that can be read"
        raise table.wrong("file", problem, f"files end with {', '.join(FILE_KINDS)}")
    return value


def _refuse_remote(table: Section, key: str, value: str) -> None:
    if "://" in value:
        problem = f"{key} must be on this machine for DuckDB"
        raise table.wrong(key, problem, "copy or mount it here, or read it with Spark (master)")
