"""A charge to some blocks of time reads no rows of others, on every engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.kernel.dated_rows import ChargedBlocks
from quaestor.errors import InvalidParameter
from tests.curator.kernel import dated

if TYPE_CHECKING:
    from pathlib import Path

_VARIABLE = "QUAESTOR_TEST_DATED"
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # Spark's


def test_rows_of_other_blocks_are_not_read_on_duckdb(tmp_path: Path) -> None:
    sides = dated.duckdb_dated(tmp_path)
    assert not dated.wrongs(sides, stored=dated.STORED[::3])
    sides["base"].close()


@pytest.mark.slow
def test_rows_of_other_blocks_are_not_read_on_duckdb_however_stored(tmp_path: Path) -> None:
    sides = dated.duckdb_dated(tmp_path)
    assert not dated.wrongs(sides)
    sides["base"].close()


def test_rows_of_other_blocks_are_not_read_on_postgres(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_VARIABLE, database)
    sides = dated.postgres_dated(os.environ[_VARIABLE], _VARIABLE)
    assert not dated.wrongs(sides)
    sides["base"].close()


@pytest.mark.slow  # the statement is DuckDB's; how Spark compares days is in test_totality
def test_rows_of_other_blocks_are_not_read_on_spark(tmp_path: Path, spark_master: str) -> None:
    sides = dated.spark_dated(tmp_path, spark_master)
    assert not dated.wrongs(sides, stored=("zoned",), spark=True, few=True)


@pytest.mark.slow
def test_rows_of_other_blocks_are_not_read_on_spark_however_stored(
    tmp_path: Path, spark_master: str
) -> None:
    sides = dated.spark_dated(tmp_path, spark_master)
    assert not dated.wrongs(sides, spark=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": ()},
        {"labels": ("2024-02", "2024-01")},
        {"labels": ("2023-12",)},
        {"labels": ("2024-01' OR TRUE --",)},
        {"kept": 0},
        {"kept": True},
        {"every": "day"},
    ],
)
def test_what_are_no_blocks_is_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"every": "month", "labels": ("2024-01",), "first": "2024-01"}
    with pytest.raises(InvalidParameter):
        ChargedBlocks(**{**given, **wrong})
