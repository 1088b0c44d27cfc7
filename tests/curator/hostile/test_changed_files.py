"""Files whose place others take while a curator is open: no value makes a question fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quaestor.curator import Curator
from quaestor.curator.engines.duckdb.kept_rows import DuckKeptRows
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from pathlib import Path

_PEOPLE = 40
_SUM = "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"


def _catalog(folder: Path, file: str, *, texts: bool = False) -> Path:
    more = 'w = "text"\n' if texts else ""
    path = folder / "quaestor.toml"
    path.write_text(
        f'[tables.t]\nfile = "{file}"\nunit = "id"\nrows = 1\ngroups = 1\n'
        f'[tables.t.columns]\nid = "integer"\nx = {{ kind = "integer", low = 0, high = 9 }}\n{more}'
        "[accounts.a]\nepsilon = 1000\ndelta = 1e-3\n",
        encoding="utf-8",
    )
    return path


def _write(folder: Path, values: list[Any], kind: str) -> None:
    columns = {"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, kind)}
    pq.write_table(pa.table({**columns, "w": ["a"] * len(values)}), folder / "t.parquet")


@pytest.mark.parametrize("reader", ["DuckDB", "pyarrow"])
@pytest.mark.parametrize(
    ("kind", "value", "hostile"),
    [("string", "3", "x"), ("uint64", 3, 2**63), ("float64", 3.0, 0.5)],
)
def test_a_value_of_another_type_is_read_as_that(
    kind: str, value: Any, hostile: Any, reader: str, tmp_path: Path
) -> None:
    _write(tmp_path, [3] * _PEOPLE, "int64")
    with Curator.from_file(_catalog(tmp_path, "t.parquet", texts=reader == "pyarrow")) as curator:
        curator.open_account("a")
        curator.ask(_SUM, epsilon=1.0)
        for values in ([value] * _PEOPLE, [value] * _PEOPLE + [hostile]):
            _write(tmp_path, values, kind)
            curator.ask(_SUM, epsilon=1.0, anew=True)


def test_of_columns_in_another_order_the_unit_is_the_same(tmp_path: Path) -> None:
    """Otherwise one person would be as many units as it has other values."""
    file = tmp_path / "t.csv"
    file.write_text("id,x\n1,5\n2,6\n", encoding="utf-8")
    question = "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS u FROM t"
    with Curator.from_file(_catalog(tmp_path, "t.csv")) as curator:
        curator.open_account("a")
        assert list(curator.ask(question, epsilon=400.0).rows()) == [{"n": 2, "u": 2}]
        file.write_text("x,id\n" + "".join(f"{x},1\n" for x in range(9)), encoding="utf-8")
        again = curator.ask(question, epsilon=400.0, anew=True)
        assert list(again.rows()) == [{"n": 1, "u": 1}]


def test_files_that_change_between_the_statements_of_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is measured anew, or fails; a file that is gone fails with nothing to tell."""
    _write(tmp_path, [3] * _PEOPLE, "int64")
    keep, left = DuckKeptRows.keep, [1]

    def replaced(self: DuckKeptRows, sql: str, *, by: str = "") -> str:
        kept = keep(self, sql, by=by)
        if left and left.pop():
            _write(tmp_path, ["x"] * 3 + ["4"] * _PEOPLE, "string")
        elif not left and (tmp_path / "gone").exists():
            (tmp_path / "t.parquet").unlink(missing_ok=True)
        return kept

    monkeypatch.setattr(DuckKeptRows, "keep", replaced)
    with Curator.from_file(_catalog(tmp_path, "t.parquet", texts=True)) as curator:
        account = curator.open_account("a")
        question = "SELECT w, COUNT(DISTINCT x) AS d, MEDIAN(x) AS m FROM t GROUP BY w"
        answer = curator.ask(question, epsilon=900.0)
        assert [row["m"] for row in answer.rows()] == [4]
        (tmp_path / "gone").touch()
        with pytest.raises(EngineFailed) as failure:
            curator.ask(question, epsilon=50.0)
        assert str(failure.value) == str(EngineFailed())
        assert failure.value.__context__ is None
        assert [entry.status for entry in account.entries()] == ["released", "reserved"]
