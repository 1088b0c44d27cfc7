"""A small private table in a folder with its catalog, and the truth about it in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["COLUMNS", "VISITS", "WARDS", "fill_visits", "truth_by_ward", "write_hospital"]

WARDS = ("A", "B", "C")
VISITS = [
    (patient, WARDS[(patient + visit) % 3], 20 + patient % 60)
    for patient in range(300)
    for visit in range(1 + patient % 2)
]
"""Patient, ward and age: at most two visits each, in different wards."""

COLUMNS = """
patient = "integer"
ward = { kind = "text", keys = ["A", "B", "C"] }
age = { kind = "integer", low = 0, high = 120 }
"""
ACCOUNT = """
[accounts.research]
epsilon = 1000.0
delta = 1e-6
"""


def truth_by_ward() -> dict[str, int]:
    """How many visits each ward had."""
    return dict(Counter(ward for _, ward, _ in VISITS))


def fill_visits(path: Path) -> None:
    """Write the table as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    names = ("patient", "ward", "age")
    table = pa.table(dict(zip(names, map(list, zip(*VISITS, strict=True)), strict=True)))
    parquet.write_table(table, path)


def write_hospital(
    folder: Path,
    accounts: str = ACCOUNT,
    *,
    columns: str = COLUMNS,
    source: str = 'file = "visits.parquet"',
    more: str = "",
    rows: int = 1,
) -> Path:
    """The table and its catalog; the catalog's path."""
    fill_visits(folder / "visits.parquet")
    catalog = folder / "quaestor.toml"
    catalog.write_text(
        f'{more}\n[tables.visits]\n{source}\nunit = "patient"\nrows = {rows}\ngroups = 2\n'
        f"[tables.visits.columns]\n{columns}\n{accounts}",
        encoding="utf-8",
    )
    return catalog
