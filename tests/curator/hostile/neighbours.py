"""Neighbouring tables: a clinic without one person, and with one of several hostile ones.

Each *world* is the same clinic with another person added, all of whose rows are theirs alone; the
world of nobody has none. What the people hold is chosen against the code: ends of every type,
numbers that cannot be divided, spellings that compare alike, days that no calendar has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import AccountPlan, Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "NOBODY",
    "TARGET",
    "WORLDS",
    "catalog_in",
    "held",
    "rows_in",
    "write_duckdb",
    "write_parquet",
    "write_postgres",
]

NOBODY = "nobody"
TARGET = 500
WORLDS = ("ordinary", "extreme", "tiny", "speller", "dated", "many")
"""The people who may be added, one at a time."""

Row = dict[str, Any]
Rows = dict[str, list[Row]]
_PEOPLE = 40
_CITIES = ("Rome", "Ulm", "Köln", "İzmir")
_WARDS = ("A", "B", "C")


@dataclass(frozen=True, slots=True)
class _Type:
    """How a column is stored on each engine; on PostgreSQL some types are made by hand."""

    duckdb: str
    postgres: str
    arrow: str


_WHOLE = _Type("BIGINT", "bigint", "int64")
_SMALL = _Type("INTEGER", "integer", "int32")
_REAL = _Type("DOUBLE", "double precision", "float64")
_SINGLE = _Type("FLOAT", "real", "float32")
_TEXT = _Type("VARCHAR", "text", "string")
_LOOSE = _Type("VARCHAR COLLATE NOCASE", "char(12)", "string")
_ANYHOW = _Type("VARCHAR COLLATE NOCASE", "text", "string")
_FOLDED = _Type("VARCHAR COLLATE NOACCENT", "citext", "string")
_TRUTH = _Type("BOOLEAN", "boolean", "bool")
_DATE = _Type("DATE", "date", "date32")
_TIME = _Type("TIMESTAMP", "timestamp", "timestamp[us]")

_COLUMNS: dict[str, dict[str, _Type]] = {
    "visits": {
        "patient": _WHOLE,
        "ward": _TEXT,
        "city": _LOOSE,
        "town": _FOLDED,
        "name": _TEXT,
        "age": _SMALL,
        "cost": _REAL,
        "income": _REAL,
        "score": _REAL,
        "weight": _REAL,
        "dose": _SINGLE,
        "code": _WHOLE,
        "bill": _Type("DECIMAL(12, 2)", "numeric", "decimal"),
        "level": _Type("UTINYINT", "smallint", "uint8"),
        "big": _Type("UBIGINT", "numeric(30, 0)", "uint64"),
        "note": _TEXT,
        "amount": _TEXT,
        "smoker": _TRUTH,
        "flag": _SMALL,
        "day": _DATE,
        "seen": _TIME,
    },
    "labs": {
        "patient": _WHOLE,
        "value": _REAL,
        "test": _LOOSE,
        "taken": _DATE,
    },
    "logins": {"login": _ANYHOW, "site": _TEXT, "hits": _SMALL},
    "births": {"born": _DATE, "sex": _TEXT, "height": _REAL},
    "wards": {"ward_name": _TEXT, "level": _SMALL, "region": _LOOSE, "rate": _REAL},
    "bands": {"age": _SMALL, "band": _TEXT, "since": _DATE},
}


def _facts(name: str, kind: Any, *bounds: float, keys: Any = None) -> ColumnFacts:
    low, high, step = bounds or (None, None, None)
    return ColumnFacts(name=name, kind=kind, low=low, high=high, granularity=step, keys=keys)


_NOWHERE = Source(engine="duckdb")
_VISITS = Table(
    name="visits",
    source=_NOWHERE,
    unit="patient",
    dataset="clinic",
    contribution=Contribution(rows=2, groups=2),
    columns=(
        _facts("patient", "integer"),
        _facts("ward", "text", keys=("A", "B", "C", None)),
        _facts("city", "text"),
        _facts("town", "text", keys=("Rome", "Ulm", "Köln")),
        _facts("name", "text"),
        _facts("age", "integer", 0, 120, 1.0),
        _facts("cost", "real", 0.0, 1000.0, 0.5),
        _facts("income", "real", 0.0, 1_000_000.0, 10.0),
        _facts("score", "real", -1.0, 1.0, 0.1),
        _facts("weight", "real"),
        _facts("dose", "real", 0.0, 8.0, 0.25),
        _facts("code", "integer"),
        _facts("bill", "real", -50.0, 100.0, 0.25),
        _facts("level", "integer", 0, 200, 1.0),
        _facts("big", "integer", 0, 1000, 1.0),
        _facts("note", "text"),
        _facts("amount", "integer", 0, 100, 1.0),
        _facts("smoker", "boolean"),
        _facts("flag", "boolean"),
        _facts("day", "date"),
        _facts("seen", "date"),
    ),
)
_LABS = Table(
    name="labs",
    source=_NOWHERE,
    unit="patient",
    dataset="clinic",
    contribution=Contribution(rows=3, groups=1),
    columns=(
        _facts("patient", "integer"),
        _facts("value", "real", -5.0, 5.0, 0.5),
        _facts("test", "text", keys=("iron", "zinc")),
        _facts("taken", "date"),
    ),
)
_LOGINS = Table(
    name="logins",
    source=_NOWHERE,
    unit="login",
    dataset="site",
    contribution=Contribution(rows=2, groups=2),
    columns=(
        _facts("login", "text"),
        _facts("site", "text"),
        _facts("hits", "integer", 0, 50, 1.0),
    ),
)
_BIRTHS = Table(
    name="births",
    source=_NOWHERE,
    unit="born",
    dataset="register",
    contribution=Contribution(rows=1, groups=1),
    columns=(
        _facts("born", "date"),
        _facts("sex", "text", keys=("F", "M")),
        _facts("height", "real", 0.0, 250.0, 1.0),
    ),
)
_PUBLIC = (
    Table(
        name="wards",
        source=_NOWHERE,
        columns=(
            _facts("ward_name", "text"),
            _facts("level", "integer", 0, 3, 1.0),
            _facts("region", "text", keys=("north", "south")),
            _facts("rate", "real", 0.0, 10.0, 0.5),
        ),
    ),
    Table(
        name="bands",
        source=_NOWHERE,
        columns=(
            _facts("age", "integer", 0, 120, 1.0),
            _facts("band", "text", keys=("young", "old")),
            _facts("since", "date"),
        ),
    ),
)
_CATALOG = Catalog(
    ledger="ledger.db",
    tables=(_VISITS, _LABS, _LOGINS, _BIRTHS, *_PUBLIC),
    accounts=(
        AccountPlan(
            name="analyst", epsilon=1e6, delta=1e-6, datasets=("clinic", "site", "register")
        ),
    ),
)


def _ordinary(patient: int) -> Row:
    return {
        "patient": patient,
        "ward": _WARDS[patient % 3],
        "city": _CITIES[patient % 4],
        "town": _CITIES[patient % 3],
        "name": ("Kim", "Straße", "José")[patient % 3],
        "age": 38 + patient % 5,
        "cost": patient % 9 * 12.5,
        "income": patient % 7 * 10_000.0,
        "score": patient % 5 / 10,
        "weight": 50.0 + patient % 40,
        "dose": patient % 4 * 0.25,
        "code": patient % 3,
        "bill": str(patient % 20 + 0.5),
        "level": patient % 4,
        "big": patient % 3,
        "note": str(patient % 3 + 1),
        "amount": str(patient % 3 + 40),
        "smoker": patient % 2 == 0,
        "flag": patient % 2,
        "day": f"2024-0{1 + patient % 3}-15",
        "seen": f"2024-0{1 + patient % 3}-15 10:00:00",
    }


def _lab(patient: int, **changes: Any) -> Row:
    made = {"patient": patient, "value": float(patient % 7 - 3), "taken": "2024-02-01"}
    return {**made, "test": ("iron", "zinc")[patient % 2], **changes}


_EXTREMES: tuple[Row, ...] = (
    {"cost": "nan", "income": "nan", "score": "nan", "weight": "nan", "dose": "nan", "note": "nan"},
    {"cost": "inf", "income": "inf", "weight": "inf", "dose": "inf", "ward": "unlisted"},
    {"cost": "-inf", "income": "-inf", "weight": "-inf", "score": "-inf", "ward": None},
    {"cost": 1e308, "income": 1e308, "score": 1e308, "weight": 1.7976931348623157e308},
    {"cost": -1e308, "income": -1e308, "score": -1e308, "weight": -1.7976931348623157e308},
    {"age": -(2**31), "code": -(2**63), "level": 0, "big": 0, "note": "", "amount": ""},
    {"age": 2**31 - 1, "code": 2**63 - 1, "level": 255, "big": 2**64 - 1, "amount": "9" * 40},
    {"code": 2**53 + 1, "weight": 2.0**63, "bill": "9999999999.99", "note": "9" * 400},
    {"code": -1, "weight": 2.0**53 + 2, "bill": "-9999999999.99", "note": "1e400", "flag": 7},
    {"age": None, "cost": None, "city": None, "smoker": None, "day": None, "seen": None},
    {"note": "\\%_'\";--\n\t\r\x01\u202e😀\ufeff", "city": "%", "name": "9" * 3000},
)
_TINY: tuple[Row, ...] = (
    {"cost": 5e-324, "income": 5e-324, "score": 5e-324, "weight": 5e-324, "dose": 1e-45},
    {"cost": -5e-324, "income": -5e-324, "weight": -5e-324, "dose": -1e-45, "age": 0},
    {"cost": 2.2e-308, "income": 2.2e-308, "weight": 2.2e-308, "note": "1e-300"},
    {"cost": -0.0, "income": -0.0, "score": -0.0, "weight": -0.0, "note": "-0.0"},
    {"weight": 2.0**-41, "cost": 0.25, "income": 5.0, "score": 0.05, "note": "5e-324"},
    {"weight": 1e-20, "cost": 0.75, "income": 15.0, "score": 0.95, "bill": "0.01"},
)
_SPELLED: tuple[Row, ...] = tuple(
    {"city": city, "town": city, "name": name, "ward": ward, "code": 10**9}
    for city, name, ward in (
        ("ROME", "KIM", "a"),
        ("rome", "\u212aim", "A "),
        ("rOmE", "STRASSE", "B"),
        ("ULM", "Strasse", "b"),
        ("KÖLN", "Jose\u0301", "C"),
        ("Ko\u0308ln", "José ", "C"),
        ("izmir", "JOSÉ", " A"),
        ("Rôme", "kım", "\uff21"),
    )
)
_DAYS = (
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "290000-07-04",
    "0044-03-15 (BC)",
    "4700-01-01 (BC)",
    "infinity",
    "-infinity",
    "2024-02-29",
)
_DATED: tuple[Row, ...] = tuple({"day": day, "seen": day, "weight": 1e9} for day in _DAYS)
_ADDED: dict[str, tuple[Row, ...]] = {
    "ordinary": ({}, {}, {"age": 40, "cost": 990.0, "weight": 1e6, "code": 10**12}),
    "extreme": _EXTREMES,
    "tiny": _TINY,
    "speller": _SPELLED,
    "dated": _DATED,
    "many": tuple(
        {"age": age, "level": age % 4, "code": 10**9 + age, "weight": 1e7} for age in range(20, 60)
    )
    * 2,
}
_LABS_OF: dict[str, tuple[Row, ...]] = {
    "ordinary": ({}, {"value": 4.5}),
    "extreme": tuple({"value": value} for value in ("nan", "inf", "-inf", 1e308, None)),
    "tiny": ({"value": 5e-324}, {"value": -5e-324}),
    "speller": ({"test": "IRON"}, {"test": "Zinc"}, {"test": "iron "}),
    "dated": tuple({"taken": day} for day in _DAYS),
    "many": tuple({"value": float(n % 11 - 5)} for n in range(60)),
}
_LOGINS_OF: dict[str, tuple[str, str, int]] = {
    "ordinary": ("zoe", "a", 3),
    "extreme": ("x" * 3000, "", 2**31 - 1),
    "tiny": ("", "b", 0),
    "speller": ("ANN", "A", 50),
    "dated": ("2024-02-29", "c", 1),
    "many": ("bob ", "d", -5),
}
_BORN = {
    "dated": "290000-07-04",
    "extreme": "5000000-01-01",
    "ordinary": "120000-02-02",
    "many": "infinity",
    "tiny": "4700-01-01 (BC)",
}


def rows_in(world: str) -> Rows:
    """The tables of a world; of the added person's rows some come first and some last."""
    visits = [_ordinary(patient) for patient in range(1, _PEOPLE + 1)]
    labs = [_lab(patient) for patient in range(1, _PEOPLE + 1)] * 2
    logins = [
        {"login": name, "site": site, "hits": place % 9}
        for place, name in enumerate(("ann", "bob", "Eve", "ümit", "carl", "dora") * 3)
        for site in "ab"
    ]
    births = [
        {"born": f"19{60 + n}-05-0{1 + n % 9}", "sex": "FM"[n % 2], "height": 150.0 + n}
        for n in range(30)
    ]
    wards = [
        {"ward_name": name, "level": n % 4, "region": ("north", "south")[n % 2], "rate": n / 2}
        for n, name in enumerate((*_WARDS, "A", "A", "B", "unlisted", "a"))
    ]
    bands = [
        {"age": age, "band": ("young", "old")[n], "since": f"20{10 + n}-01-01"}
        for age in range(30, 60)
        for n in range(2)
    ]
    made: Rows = {"visits": visits, "labs": labs, "logins": logins, "births": births}
    if world != NOBODY:
        own = _own_rows(world)
        made = {name: own[name][::2] + rows + own[name][1::2] for name, rows in made.items()}
    return {**made, "wards": wards, "bands": bands}


def _own_rows(world: str) -> Rows:
    """The rows of the person who is added."""
    base = {**_ordinary(40), "patient": TARGET}
    login, site, hits = _LOGINS_OF[world]
    return {
        "visits": [{**base, **changes} for changes in _ADDED[world]],
        "labs": [_lab(TARGET, **changes) for changes in _LABS_OF[world]],
        "logins": [{"login": login, "site": s, "hits": hits} for s in (site, "b", "e", "f")],
        "births": [{"born": _BORN.get(world, "1990-01-01"), "sex": "F", "height": 180.0}],
    }


def held(world: str, table: str, column: str) -> tuple[Any, ...]:
    """Values that rows have there, each once: of a world's added person, or of all others."""
    rows = rows_in(NOBODY) if world == NOBODY else _own_rows(world)
    values = [row[column] for row in rows.get(table, ())]
    return tuple({repr(value): value for value in values if value is not None}.values())


def catalog_in(source: Source, folder: Path | str = ".", *, files: bool = False) -> Catalog:
    """The catalog with all tables in one place: a schema of a database, or a folder of files."""

    def placed(table: Table) -> Table:
        if files:
            where = replace(source, files=f"{table.name}.parquet")
        else:
            schema = f"{source.table}." if source.table else ""
            where = replace(source, table=f"{schema}{table.name}")
        return replace(table, source=where)

    return replace(_CATALOG, tables=tuple(map(placed, _CATALOG.tables)), folder=str(folder))


def write_duckdb(path: Path, world: str) -> None:
    """The tables of a world in a DuckDB file, with columns that compare without case or accent."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name, columns in _COLUMNS.items():
            declared = ", ".join(f"{column} {kind.duckdb}" for column, kind in columns.items())
            connection.execute(f"CREATE TABLE {name} ({declared})")
            marks = ", ".join(f"CAST(? AS {k.duckdb.split(' COL')[0]})" for k in columns.values())
            rows = [list(row) for row in _told(rows_in(world)[name], columns)]
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def write_parquet(folder: Path, world: str, *, loosely: bool = False) -> None:
    """The tables of a world as Parquet files; ``loosely``: Spark is told to ignore case."""
    import duckdb
    import pyarrow.parquet as pq

    database = folder / "written.duckdb"
    write_duckdb(database, world)
    with duckdb.connect(str(database), read_only=True) as connection:
        for name, columns in _COLUMNS.items():
            path = folder / f"{name}.parquet"
            connection.execute(f"COPY {name} TO '{path}' (FORMAT parquet)")
            if loosely:
                table = pq.read_table(path)
                metadata = {"org.apache.spark.sql.parquet.row.metadata": _spark_schema(columns)}
                pq.write_table(table.replace_schema_metadata(metadata), path)


def _spark_schema(columns: dict[str, _Type]) -> str:
    """What Spark itself writes into a file whose texts have a collation."""
    import json

    names = {"int64": "long", "int32": "integer", "float64": "double", "float32": "float"}
    names |= {"bool": "boolean", "date32": "date", "timestamp[us]": "timestamp_ntz"}
    names |= {"decimal": "decimal(12,2)", "uint8": "short", "uint64": "decimal(20,0)"}
    fields = [
        {
            "name": name,
            "type": names.get(kind.arrow, kind.arrow),
            "nullable": True,
            "metadata": {"__COLLATIONS": {name: "spark.UTF8_LCASE"}}
            if kind in {_LOOSE, _ANYHOW, _FOLDED}
            else {},
        }
        for name, kind in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def write_postgres(address: str, world: str) -> None:
    """The tables of a world in a schema of that name on a PostgreSQL server."""
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {world}".encode())
        if not cursor.execute("SELECT 1 FROM pg_type WHERE typname = 'citext'").fetchone():
            cursor.execute(_CITEXT.encode())
        for name, columns in _COLUMNS.items():
            declared = ", ".join(f"{column} {kind.postgres}" for column, kind in columns.items())
            cursor.execute(f"CREATE TABLE {world}.{name} ({declared})".encode())
            with cursor.copy(f"COPY {world}.{name} FROM STDIN".encode()) as copy:
                for row in _told(rows_in(world)[name], columns):
                    copy.write_row([_postgres(value) for value in row])


def _told(rows: Iterable[Row], columns: dict[str, _Type]) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


def _postgres(value: Any) -> Any:
    """As PostgreSQL writes it."""
    return value.replace(" (BC)", " BC") if isinstance(value, str) else value


_CITEXT = """
CREATE TYPE public.citext;
CREATE FUNCTION public.citextin(cstring) RETURNS public.citext
    AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION public.citextout(public.citext) RETURNS cstring
    AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE public.citext (INPUT = public.citextin, OUTPUT = public.citextout,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'S', COLLATABLE = true);
CREATE CAST (public.citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS public.citext) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION public.citext_cmp(public.citext, public.citext) RETURNS int4 IMMUTABLE STRICT
    LANGUAGE sql AS $$ SELECT bttextcmp(lower($1::text), lower($2::text)) $$;
CREATE FUNCTION public.citext_eq(public.citext, public.citext) RETURNS bool IMMUTABLE STRICT
    LANGUAGE sql AS $$ SELECT lower($1::text) = lower($2::text) $$;
CREATE FUNCTION public.citext_lt(public.citext, public.citext) RETURNS bool IMMUTABLE STRICT
    LANGUAGE sql AS $$ SELECT lower($1::text) < lower($2::text) $$;
CREATE FUNCTION public.citext_hash(public.citext) RETURNS int4 IMMUTABLE STRICT
    LANGUAGE sql AS $$ SELECT hashtext(lower($1::text)) $$;
CREATE OPERATOR public.= (LEFTARG = public.citext, RIGHTARG = public.citext,
    FUNCTION = public.citext_eq, COMMUTATOR = OPERATOR(public.=), HASHES, MERGES);
CREATE OPERATOR public.< (LEFTARG = public.citext, RIGHTARG = public.citext,
    FUNCTION = public.citext_lt);
CREATE OPERATOR CLASS public.citext_hashed DEFAULT FOR TYPE public.citext USING hash AS
    OPERATOR 1 public.=, FUNCTION 1 public.citext_hash(public.citext);
"""
"""The type of the extension citext, of which this server may have no copy: text without case."""
