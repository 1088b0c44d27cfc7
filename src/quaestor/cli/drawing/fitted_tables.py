"""Tables that fit the terminal: where something would be cut, columns give way or rows stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

__all__ = ["FittedTable", "TableColumn"]

_LONGEST_KEPT = 30  # longer words, such as paths and digests, may be folded
_FRAME = 3  # what a column has around its cells: two blanks and a line


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """What stands above a column, the side of its cells, and whether they stay on one line."""

    heading: str
    right: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable:
    """Rows of cells in rich's markup, to be printed at any width."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def print(self, console: Console) -> None:
        """As rich draws it, if nothing is cut; else with other widths; else row below row."""
        table = self._table()
        if self._is_intact(console, table):
            console.print(table)
        elif (widths := self._widths(console.width)) is not None:
            console.print(self._table(widths))
        else:
            self._stack(console)

    def _table(self, widths: Sequence[int] | None = None) -> Table:
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for place, column in enumerate(self.columns):
            table.add_column(
                column.heading,
                justify="right" if column.right else "left",
                no_wrap=column.whole and widths is None,
                overflow="fold",
                width=None if widths is None else widths[place],
            )
        for row in self.rows:
            table.add_row(*row)
        return table

    def _is_intact(self, console: Console, table: Table) -> bool:
        lines = console.render_lines(table, pad=False)
        drawn = "\n".join("".join(part.text for part in line) for line in lines)
        return all(
            kept in drawn for place in range(len(self.columns)) for kept in self._kept(place)
        )

    def _cells(self, place: int) -> list[str]:
        return [Text.from_markup(row[place], emoji=False).plain for row in self.rows]

    def _kept(self, place: int) -> set[str]:
        """What must not be cut in a column: whole cells, or the words of all cells."""
        cells, heading = self._cells(place), self.columns[place].heading
        words = {word for cell in (heading, *cells) for word in cell.split()}
        short = {word for word in words if len(word) <= _LONGEST_KEPT}
        return {*cells, *short} if self.columns[place].whole else short

    def _widths(self, available: int) -> list[int] | None:
        """A width for each column in which nothing is cut; None if there is not enough room."""
        places = range(len(self.columns))
        texts = [[self.columns[place].heading, *self._cells(place)] for place in places]
        natural = [max(map(cell_len, each)) for each in texts]
        least = [max(map(cell_len, self._kept(place)), default=1) for place in places]
        spare = available - (_FRAME * len(self.columns) + 1) - sum(least)
        if spare < 0:
            return None
        wanted = [natural[place] - least[place] for place in places]
        total = max(sum(wanted), spare, 1)
        return [least[place] + spare * wanted[place] // total for place in places]

    def _stack(self, console: Console) -> None:
        """Each row as a block: the headings to the left, the cells to the right."""
        if self.title:
            console.print(self.title, style="bold", markup=False)
        for number, row in enumerate(self.rows):
            if number:
                console.print()
            block = Table.grid(padding=(0, 2))
            block.add_column(no_wrap=True)
            block.add_column(overflow="fold")
            for column, cell in zip(self.columns, row, strict=True):
                if cell:
                    block.add_row(column.heading, cell.strip())
            console.print(block)
