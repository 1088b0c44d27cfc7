"""Rows that do not fit into memory are written where nobody else can read them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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


_OPEN = """
import sys
from quaestor.curator.catalog.model import Catalog
from quaestor.curator.engines.duckdb.connection import DuckConnection
connection = DuckConnection(Catalog(ledger="", tables=()))
print("open", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_is_deleted_and_nothing_that_is_in_use(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPEN]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    elsewhere = tmp_path / "quaestor-rows-link"
    (tmp_path / "kept").mkdir()
    elsewhere.symlink_to(tmp_path / "kept")
    left: set[Path] = set()
    for ends in ("killed", "lives"):
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            found = {path for path in tmp_path.glob("quaestor-rows-*") if not path.is_symlink()}
            if ends == "killed":
                process.send_signal(signal.SIGKILL)
                left = found
                (next(iter(found)) / "spilled").mkdir()
            else:
                assert len(found) == 1
                assert not found & left
                other = subprocess.run(
                    command, env=environment, input=b"", capture_output=True, check=False
                )
                assert other.returncode == 0
                assert all(path.exists() for path in found)
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "quaestor-rows-link"}
