"""Tables at any width of a terminal: no number is cut, and nothing is left out."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from quaestor.cli.drawing.fitted_tables import FittedTable, TableColumn

COLUMNS = (
    TableColumn(heading="meter"),
    TableColumn(heading="stated in"),
    TableColumn(heading="used", right=True, whole=True),
    TableColumn(heading="left of all", right=True, whole=True),
)
ROWS = [
    ["moment 23.53", "Kairouz, Oh, Viswanath, Theorem 3.3", "0.1234567", "████████░░  80 %"],
    ["epsilon", "a rather long sentence about a dataset of 1,234,567 people", "1e-06", "-"],
    ["[bold]best[/bold]", "a" * 70, "123456789.125", "██░░░░░░░░  20 %"],
]
NUMBERS = ["23.53", "1,234,567", "0.1234567", "1e-06", "123456789.125", "3.3"]
NUMBERS += ["████████░░  80 %", "██░░░░░░░░  20 %"]


def printed(width: int, rows: list[list[str]] = ROWS) -> str:
    """What a terminal of that width shows."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    FittedTable(columns=COLUMNS, rows=rows, title="Meters").print(console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("width", [30, 40, 50, 60, 70, 80, 100, 120, 200])
def test_no_number_is_cut_at_any_width(width: int) -> None:
    text = printed(width)
    for number in NUMBERS:
        assert number in text, number
    assert max(len(line) for line in text.splitlines()) <= width
    assert "Meters" in text
    assert len(re.findall(r"best", text)) == 1
    assert text.count("a" * 10) >= 2  # a word that is too long is folded, and kept


def test_a_wide_terminal_has_a_table_and_a_narrow_one_has_blocks() -> None:
    assert "┏" in printed(200)
    assert "┏" in printed(80)
    narrow = printed(50)
    assert "┏" not in narrow
    assert narrow.count("left of all") == len(ROWS)


def test_columns_of_words_give_way_before_rows_are_stacked() -> None:
    text = printed(60)
    assert "┏" in text
    assert "123456789.125" in text


def test_a_table_without_rows_is_a_table() -> None:
    assert "meter" in printed(60, rows=[])
