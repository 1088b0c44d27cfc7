"""One unit has a million rows, and counts as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    Total,
    Units,
    ValueCounts,
)
from quaestor.curator.language import query as q
from quaestor.curator.language.expressions import Column
from quaestor.curator.language.query import Contribution
from tests.curator.kernel.judging import judged, outcome
from tests.curator.kernel.pointed import measured, private
from tests.curator.kernel.tables import Side

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000


def _sides(folder: Path) -> dict[str, Side]:
    import duckdb

    with duckdb.connect(str(folder / "many.duckdb")) as connection:
        for side, of in (("whole", f"SELECT -1 AS u, range AS n FROM range({ROWS})"), ("less", "")):
            few = "SELECT range % 50 AS u, range AS n FROM range(500)"
            rows = " UNION ALL ".join(part for part in (few, of) if part)
            connection.execute(f"CREATE SCHEMA {side}")
            connection.execute(
                f"CREATE TABLE {side}.rows AS SELECT u, n * 7919 % 1000 AS n, "
                f"'key ' || n % 1000 AS k FROM ({rows})"
            )
    opened = DuckConnection(Catalog(tables=(), ledger="", folder=str(folder)))
    facts = (("u", "integer"), ("n", "integer"), ("k", "text"))
    table = Table(
        name="rows",
        source=Source(engine="duckdb"),
        unit="u",
        dataset="d",
        contribution=Contribution(rows=2, groups=3),
        columns=tuple(ColumnFacts(name=name, kind=kind) for name, kind in facts),  # type: ignore[arg-type]
    )
    sides = {}
    for name in ("whole", "less"):
        place = Source(engine="duckdb", connection="many.duckdb", table=f"{name}.rows")
        sides[name] = Side(opened, {"rows": _at(table, place)})
    return sides


def _at(table: Table, place: Source) -> Table:
    from dataclasses import replace

    return replace(table, source=place)


def test_a_million_rows_of_one_unit_count_as_few(tmp_path: Path) -> None:
    n = Column("n")
    wide = Total(operand=n, low=-5, high=900, step=1.0, rows=3)
    measures = (
        Units(),
        RowCount(rows=3),
        wide,
        JointTotals(totals=(wide, wide), bound=1000),
        Distinct(operand=n, rows=4),
        ValueCounts(operand=n, low=0, high=999, step=1.0, rows=5),
    )
    sides = _sides(tmp_path)
    again = q.Projected(q.Scan("rows"), (("m", Column("n")), ("w", Column("k"))))
    joined = q.Join(q.Scan("rows"), again, ((Column("k"), Column("w")),), "inner")
    keys = (private("k", "text"),)
    for measurement in (
        measured(q.Scan("rows"), *measures),
        measured(q.Scan("rows"), RowCount(rows=3), measures[-1], keys=keys, groups=3),
        measured(joined, RowCount(rows=3), wide),
    ):
        whole, less = (outcome(measurement, sides[name]) for name in ("whole", "less"))
        assert whole.exact is not None
        assert less.exact is not None
        assert whole.exact.units != less.exact.units
        assert not judged(measurement, whole.exact, less.exact)
    sides["whole"].close()
