"""What ``tests/fixtures/before_promises`` holds, and the ways to open it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

__all__ = ["ACCOUNTS", "copied", "loaded"]

FIXTURES = Path(__file__).parents[1] / "fixtures"
_HERE = FIXTURES / "before_promises"


def _read(name: str) -> Any:
    return json.loads((_HERE / name).read_text(encoding="utf-8"))


ACCOUNTS: dict[str, dict[str, Any]] = _read("accounts.json")


def copied(folder: Path) -> str:
    """The ledger in a file of its own."""
    return str(shutil.copy(_HERE / "ledger.db", folder))


def loaded(address: str) -> str:
    """The ledger in an empty PostgreSQL database; the address."""
    import psycopg

    schema: Any = (FIXTURES / "before_kernel" / "postgres.sql").read_text(encoding="utf-8")
    with psycopg.connect(address) as connection:
        connection.execute(schema)
        for table, dumped in _read("ledger.json").items():
            places = ", ".join("%s" for _ in dumped["columns"])
            names = ", ".join(dumped["columns"])
            statement: Any = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608
            connection.cursor().executemany(statement, dumped["rows"])
    return address
