"""Catalogs to test with: one that is right, and ways to make it wrong."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGE", "VISITS", "documented", "with_column", "with_line"]

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "catalog.md"

VISITS = """\
ledger = "ledger.db"

[tables.visits]
file = "visits.parquet"
unit = "patient"
rows = 20
groups = 5

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 120 }
sex = { kind = "text", keys = ["F", "M"] }
"""


def documented() -> str:
    """The complete example of the reference page."""
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def with_line(number: int, line: str) -> str:
    """The right catalog with another line there (from 1)."""
    lines = VISITS.splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"


def with_column(column: str) -> str:
    """The right catalog with a column more, in line 13."""
    return f"{VISITS}{column}\n"
