"""Rows that do not fit into memory are written where nobody else can read them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import Catalog
from quaestor.curator.engines.duckdb.connection import DuckConnection

if TYPE_CHECKING:
    import pytest

_SETTING = "SELECT current_setting('temp_directory')"
_SORTED = "SELECT hash(i) AS u, 'p' || i AS s FROM range(900000) AS r(i) ORDER BY u, s"
_FILES = "SELECT path FROM duckdb_temporary_files()"


def test_rows_are_spilled_to_a_folder_that_nobody_else_can_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    connection = DuckConnection(Catalog(ledger="", tables=()))
    ((place,),) = connection.rows(_SETTING)
    outer = Path(place).parent
    assert outer.stat().st_mode & 0o777 == 0o700
    assert outer.stat().st_uid == os.geteuid()
    connection._connection.execute("SET GLOBAL memory_limit = '24MB'")
    cursor = connection._connection.cursor()
    assert cursor.execute(_SORTED).fetchone() is not None  # the others are held meanwhile
    found = {path for (path,) in connection.rows(_FILES)}
    cursor.close()
    connection.close()
    assert found
    assert all(Path(path).parent == Path(place) for path in found)
    assert not list(tmp_path.iterdir())
    del connection
    assert not outer.exists()
