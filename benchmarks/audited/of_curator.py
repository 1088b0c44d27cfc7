"""Our own curator, from inside: questions about two tables that differ in one patient."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.audited.outcome import Outcome, looked_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.audit import Primitive

__all__ = ["inside"]

_CATALOG = """
[tables.visits]
file = "visits.parquet"
unit = "patient"
rows = 2
groups = 2
[tables.visits.columns]
patient = "integer"
ward = { kind = "text", keys = ["A", "B", "C"] }
city = "text"
age = { kind = "integer", low = 0, high = 120 }
cost = { kind = "real", low = 0.0, high = 1000.0 }
[accounts.research]
epsilon = 1000.0
delta = 1e-3
"""
_QUESTIONS = {
    "a count": "SELECT COUNT(*) AS n FROM visits",
    "patients": "SELECT COUNT(DISTINCT patient) AS n FROM visits",
    "a sum of whole numbers": "SELECT SUM(age) AS s FROM visits",
    "a mean of reals": "SELECT AVG(cost) AS m FROM visits",
    "a filter": "SELECT SUM(cost) AS s FROM visits WHERE age > 30 AND ward <> 'B'",
    "known groups": "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY ward",
    "private groups": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "a median": "SELECT MEDIAN(age) AS m FROM visits",
}
_VISITS = [
    (
        patient,
        "ABC"[(patient + visit) % 3],
        f"city {patient % 4}",
        20 + patient % 60,
        7.5 * patient % 900,
    )
    for patient in range(200)
    for visit in range(1 + patient % 3)
]


def inside() -> Iterator[Outcome]:
    """Each question on both tables; the patient who is removed is extreme, or the only one."""
    alone = [*_VISITS, *[(999, ward, "Atlantis", 120, 1000.0) for ward in "ABC" for _ in range(9)]]
    for name, question in _QUESTIONS.items():
        for words, neighbours in (
            ("an extreme patient", (alone, _VISITS)),
            ("a usual patient", (_VISITS, [visit for visit in _VISITS if visit[0] != 17])),
        ):
            yield looked_inside(
                f"curator, {name}, {words}",
                partial(_asked, question),
                neighbours,
                _primitives(),
                epsilon=1.0,
            )


def _primitives() -> list[Primitive]:
    from quaestor import mechanisms
    from quaestor.audit import Primitive

    kinds = (
        mechanisms.Geometric,
        mechanisms.DiscreteGaussian,
        mechanisms.PartitionSelection,
        mechanisms.OptimalSelection,
        mechanisms.CountedQuantile,
        mechanisms.QuantileReach,
        mechanisms.TopK,
    )
    return [
        Primitive(
            owner=kind,
            name="release",
            sensitivity=lambda noise: float(getattr(noise, "sensitivity", 2)),
            parameters=repr,
            by_entry=True,
        )
        for kind in kinds
    ]


def _asked(question: str, visits: list[Any]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    from quaestor.curator import Curator

    names = ("patient", "ward", "city", "age", "cost")
    table = pa.table(dict(zip(names, map(list, zip(*visits, strict=True)), strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(table, Path(folder) / "visits.parquet")
        catalog = Path(folder) / "quaestor.toml"
        catalog.write_text(_CATALOG, encoding="utf-8")
        with Curator.from_file(catalog) as curator:
            curator.open_account("research")
            delta: dict[str, Any] = {"delta": 1e-5} if "city" in question else {}
            answer = curator.ask(question, epsilon=1.0, **delta)
            return [list(row.values()) for row in answer.rows()]
