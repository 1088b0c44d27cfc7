"""Where PostgreSQL enforces one row a unit nothing is added up by unit, and only there and then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest

from quaestor.curator.catalog import catalog_from_toml
from quaestor.curator.engines import engine_for
from quaestor.curator.engines.engine import Engine
from quaestor.curator.engines.postgres.connection import PostgresConnection
from quaestor.curator.engines.postgres.unique_columns import _POSTGRESQL, unique_columns
from quaestor.curator.pricing.offers import offer
from quaestor.curator.sql import parse
from tests.curator.door import measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.kernel.measurement import Measurement

_VARIABLE = "QUAESTOR_TEST_KEYS"
_FILL = (
    "INSERT INTO t SELECT {}, CASE WHEN i % 7 > 0 THEN 'ward ' || i % 5 END, "
    "CASE WHEN i % 11 > 0 THEN (i * 7919 % 1000) / 10.0 END FROM generate_series(0, 199) AS r(i)"
)
_TABLE = "CREATE TABLE t (unit {}, ward text, cost double precision{})"
_THIRDS = _FILL.format("i / 3")
_SCHEMAS: dict[str, tuple[str, tuple[str, ...], bool]] = {  # kind, statements, whether believed
    "primary key": ("integer", (_TABLE.format("bigint PRIMARY KEY", ""), _FILL.format("i")), True),
    "small": ("integer", (_TABLE.format("smallint PRIMARY KEY", ""), _FILL.format("i")), True),
    "domain": (
        "integer",
        (
            "CREATE DOMAIN number AS bigint",
            _TABLE.format("number PRIMARY KEY", ""),
            _FILL.format("i"),
        ),
        True,
    ),
    "nulls": (
        "integer",
        (_TABLE.format("int UNIQUE", ""), _FILL.format("CASE WHEN i > 20 THEN i END")),
        True,
    ),
    "included": (
        "integer",
        (_TABLE.format("int", ", UNIQUE (unit) INCLUDE (cost)"), _FILL.format("i")),
        True,
    ),
    "bytes": (
        "text",
        (_TABLE.format('text COLLATE "C" PRIMARY KEY', ""), _FILL.format("'p' || i")),
        True,
    ),
    "uuid": (
        "text",
        (_TABLE.format("uuid PRIMARY KEY", ""), _FILL.format("md5(i::text)::uuid")),
        True,
    ),
    "sorted by the system": (
        "text",
        (
            "CREATE COLLATION system (LOCALE = 'C.UTF-8')",
            _TABLE.format("text COLLATE system PRIMARY KEY", ""),
            _FILL.format("'p' || i"),
        ),
        False,
    ),
    "padded": ("text", (_TABLE.format("char(9) PRIMARY KEY", ""), _FILL.format("i")), False),
    "no key": ("integer", (_TABLE.format("bigint", ""), _THIRDS), False),
    "deferred": (
        "integer",
        (_TABLE.format("bigint PRIMARY KEY DEFERRABLE", ""), _FILL.format("i")),
        False,
    ),
    "key of two": (
        "integer",
        (_TABLE.format("bigint", ", i serial, PRIMARY KEY (unit, i)"), _THIRDS),
        False,
    ),
    "some rows": (
        "integer",
        (
            _TABLE.format("bigint", ""),
            "CREATE UNIQUE INDEX ON t (unit) WHERE cost < 0",
            _THIRDS,
        ),
        False,
    ),
    "expression": (
        "integer",
        (
            _TABLE.format("bigint", ", i serial"),
            "CREATE UNIQUE INDEX ON t ((unit * 1000 + i))",
            _THIRDS,
        ),
        False,
    ),
    "children": (
        "integer",
        (
            _TABLE.format("bigint PRIMARY KEY", ""),
            _FILL.format("i"),
            "CREATE TABLE child () INHERITS (t)",
            "INSERT INTO child SELECT * FROM ONLY t",
        ),
        False,
    ),
    "partitions": (
        "integer",
        (
            _TABLE.format("bigint PRIMARY KEY", "") + " PARTITION BY HASH (unit)",
            "CREATE TABLE part PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
            _FILL.format("i"),
        ),
        False,
    ),
    "view": (
        "integer",
        (
            _TABLE.format("bigint PRIMARY KEY", ""),
            _FILL.format("i"),
            "ALTER TABLE t RENAME TO held",
            "CREATE VIEW t AS SELECT * FROM held UNION ALL SELECT * FROM held",
        ),
        False,
    ),
}
_QUESTIONS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, COUNT(cost) AS c FROM t GROUP BY ward",
    "SELECT COUNT(DISTINCT unit) AS u, AVG(cost) AS m, MEDIAN(cost) AS d FROM t WHERE cost > 9",
)


@pytest.fixture(scope="module")
def server(postgres_address: str) -> str:
    """The address of a database of its own."""
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE keys")
    return postgres_address.replace("/postgres?", "/keys?")


@pytest.fixture
def address(server: str) -> Iterator[str]:
    """The database without any table."""
    os.environ[_VARIABLE] = server
    yield server
    del os.environ[_VARIABLE]
    with psycopg.connect(server, autocommit=True) as connection:
        for name in ("public", "a", "b", "c", connection.info.user):
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
        connection.execute("CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC")


def _run(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _catalog(kind: str = "integer", name: str = "t") -> Catalog:
    return catalog_from_toml(f"""
    [tables.t]
    environment = "{_VARIABLE}"
    table = "{name}"
    unit = "unit"
    rows = 2
    groups = 1
    [tables.t.columns]
    unit = "{kind}"
    ward = {{ kind = "text", keys = ["ward 0", "ward 1", "ward 2"] }}
    cost = {{ kind = "real", low = 0.0, high = 90.0, granularity = 0.1 }}
    """)


def _asked(sql: str, catalog: Catalog) -> Measurement:
    return offer(parse(sql, catalog), epsilon=1.0).measurement


@pytest.mark.parametrize("which", _SCHEMAS)
def test_figures_are_those_without_a_constraint(which: str, address: str) -> None:
    kind, statements, believed = _SCHEMAS[which]
    _run(address, *statements, "CREATE TABLE bare AS SELECT * FROM t")
    found: dict[str, list[Any]] = {}
    for name in ("t", "bare"):
        catalog = _catalog(kind, name)
        engine = engine_for(catalog, ["t"])
        found_by = [measured(engine, _asked(sql, catalog)) for sql in _QUESTIONS]
        engine.close()
        found[name] = [(exact.units, [*exact.values.values()]) for _, exact in found_by]
        grouped = "GROUP BY u" in found_by[0][0].statements[0].sql
        assert grouped == (name == "bare" or not believed)
    assert found["t"] == found["bare"]


def test_an_index_that_was_never_built_is_not_believed(address: str) -> None:
    _run(address, _TABLE.format("bigint", ""), _THIRDS)
    with pytest.raises(psycopg.errors.UniqueViolation):
        _run(address, "CREATE UNIQUE INDEX CONCURRENTLY ON t (unit)")
    catalog = _catalog()
    engine = engine_for(catalog, ["t"])
    prepared, exact = measured(engine, _asked("SELECT COUNT(*) AS n FROM t", catalog))
    engine.close()
    assert "GROUP BY u" in prepared.statements[0].sql
    assert exact.units == [67]


_TWICE = "CREATE TABLE twice (LIKE t); INSERT INTO twice SELECT 7 FROM generate_series(1, 50)"
_SWAPPED = "ALTER SCHEMA a RENAME TO c; ALTER SCHEMA b RENAME TO a"
_ATTACKS = {  # statements before the question is prepared, then those before it runs; its units
    "key dropped": ((), ("ALTER TABLE t DROP CONSTRAINT t_pkey", _TWICE, _THIRDS), 200),
    "one of two keys dropped": (
        ("ALTER TABLE t ADD number serial UNIQUE",),
        ("ALTER TABLE t DROP CONSTRAINT t_pkey", _THIRDS),
        200,
    ),
    "inherits": ((_TWICE,), ("ALTER TABLE twice INHERIT t",), 200),
    "renamed": ((_TWICE,), ("ALTER TABLE t RENAME TO x; ALTER TABLE twice RENAME TO t",), 1),
    "a view": (
        (_TWICE,),
        ("ALTER TABLE t RENAME TO x", "CREATE VIEW t AS SELECT * FROM twice"),
        1,
    ),
    "other type": (
        (),
        (
            "ALTER TABLE t ALTER unit TYPE text",
            "INSERT INTO t SELECT repeat('0', i) || 7 FROM generate_series(1, 9) AS r(i)",
        ),
        200,
    ),
    "shadowed": (
        (_TWICE,),
        ('CREATE SCHEMA "{user}"', 'CREATE TABLE "{user}".t AS SELECT * FROM twice'),
        1,
    ),
    "gone": ((_TWICE,), ("DROP TABLE t", "ALTER TABLE twice RENAME TO t"), 1),
}


@pytest.mark.parametrize("which", _ATTACKS)
def test_a_schema_that_changed_is_not_relied_on(which: str, address: str) -> None:
    before, after, units = _ATTACKS[which]
    _run(address, _TABLE.format("bigint PRIMARY KEY", ""), _FILL.format("i"), *before)
    catalog = _catalog()
    engine = engine_for(catalog, ["t"])
    asked = _asked("SELECT COUNT(*) AS n FROM t", catalog)
    prepared, exact = measured(engine, asked)
    assert exact.units == [200]
    assert "GROUP BY u" not in prepared.statements[0].sql
    with psycopg.connect(address) as connection:
        user = connection.info.user
    _run(address, *(each.replace("{user}", user) for each in after))
    for _ in range(2):
        prepared, exact = measured(engine, asked)
        assert "GROUP BY u" in prepared.statements[0].sql
        assert exact.units == [units]
        assert exact.values[asked.measures[0]][0] <= 2 * units
    engine.close()


class _Overtaken(PostgresConnection):
    """A connection; somebody changes the table between its first two statements."""

    after: tuple[str, ...] = ()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        found, after, self.after = super().rows(sql), self.after, ()
        _run(os.environ[_VARIABLE], *after)
        return found


def test_keys_are_of_the_types_that_columns_are_read_by(address: str) -> None:
    _run(address, _TABLE.format('text COLLATE "C" PRIMARY KEY', ""), _FILL.format("i"))
    _run(address, "CREATE TABLE numbered AS SELECT unit::bigint, ward, cost FROM t")
    _run(address, "ALTER TABLE t RENAME TO texts; ALTER TABLE numbered RENAME TO t")
    zeros = "INSERT INTO texts SELECT repeat('0', i) || 7 FROM generate_series(1, 9) AS r(i)"
    catalog = _catalog()
    connection = _Overtaken(catalog.tables[0])
    connection.after = (zeros, "DROP TABLE t", "ALTER TABLE texts RENAME TO t")
    engine = Engine(catalog=catalog, connection=connection)
    asked = _asked("SELECT COUNT(*) AS n FROM t", catalog)
    prepared, exact = measured(engine, asked)
    engine.close()
    assert "GROUP BY u" in prepared.statements[0].sql
    assert exact.units == [200]
    assert exact.values[asked.measures[0]] == [201]  # of the unit 7 two rows, and not ten


def test_what_happens_between_the_check_and_the_statement_adds_no_row(address: str) -> None:
    _run(
        address,
        "CREATE SCHEMA a; CREATE SCHEMA b",
        "CREATE TABLE a.t (unit bigint PRIMARY KEY); INSERT INTO a.t VALUES (1), (2)",
        "CREATE TABLE b.t (unit bigint); INSERT INTO b.t VALUES (7), (7), (7)",
        "CREATE TABLE b.u (unit bigint); INSERT INTO b.u VALUES (7), (7), (7)",
        "CREATE UNIQUE INDEX one ON a.t (unit)",
        "ALTER TABLE a.t DROP CONSTRAINT t_pkey",
        "ALTER TABLE a.t ALTER unit DROP NOT NULL",
    )
    with psycopg.connect(address, autocommit=True) as connection:

        def rows(sql: str) -> list[Any]:
            return list(connection.execute(sql.encode()).fetchall())

        unique = unique_columns("a.t", rows)
        assert unique is not None
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(unique.lock.encode())
        assert unique.holds(rows)
        for statement in (
            "DROP INDEX a.one",
            "ALTER TABLE a.t ALTER unit TYPE int",
            "TRUNCATE a.t",
        ):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                _run(address, "SET lock_timeout = 20", statement)
        _run(address, "ALTER TABLE b.u INHERIT a.t", "INSERT INTO a.t VALUES (3)")
        assert len(rows("SELECT * FROM a.t")) == 5  # whoever reads the name reads b.u, too
        assert sorted(rows(unique.rows)) == [(1,), (2,)]
        _run(address, _SWAPPED)
        assert rows("SELECT * FROM a.t") == [(7,)] * 3
        assert rows(unique.rows) == []
        connection.execute("ROLLBACK")
        assert not unique.holds(rows)


def test_grants_of_single_columns_and_row_security_stay_as_they_are(address: str) -> None:
    role = f"reader_{uuid4().hex}"
    _run(
        address,
        _TABLE.format("bigint PRIMARY KEY", ""),
        _FILL.format("i"),
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT (unit, cost) ON t TO {role}",
        f"CREATE POLICY own ON t FOR SELECT TO {role} USING (unit < 50)",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    )
    catalog = _catalog()
    with psycopg.connect(address) as connection:
        user = connection.info.user
    os.environ[_VARIABLE] = f"{address}&options=-crole%3D{role}"
    asked = _asked("SELECT COUNT(cost) AS n FROM t", catalog)
    for granted in (False, True):
        if granted:
            _run(address, f"GRANT SELECT ON t TO {role}")
        engine = engine_for(catalog, ["t"])
        prepared, exact = measured(engine, asked)
        engine.close()
        assert ("GROUP BY u" in prepared.statements[0].sql) == (not granted)
        assert exact.units == [50], user
    os.environ[_VARIABLE] = address
    _run(address, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.parametrize(
    ("version", "believed"),
    [
        ("PostgreSQL 16.2 on x86_64-pc-linux-gnu, compiled by gcc 13.2, 64-bit", True),
        ("PostgreSQL 15.6 (Debian 15.6-1.pgdg120+2) on x86_64-pc-linux-gnu, 64-bit", True),
        ("PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.60", False),
        ("PostgreSQL 9.4.26 (Greenplum Database 6.20.0) on x86_64-unknown-linux-gnu", False),
        ("PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64-pc-linux-gnu", False),
        ("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)", False),
    ],
)
def test_other_servers_are_not_believed(version: str, address: str, *, believed: bool) -> None:
    with psycopg.connect(address) as connection:
        test = _POSTGRESQL.replace("version()", f"'{version}'")
        assert connection.execute(f"SELECT {test}".encode()).fetchone() == (believed,)
