"""Several cells brought to one kind: the branches of a CASE, the two sides of a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.cells import NUMBERS, Cell, number
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["common", "fenced"]


def fenced(cell: Cell) -> Any:
    """The value in brackets of its own: ibis writes ``NOT x IS NULL`` for ``(NOT x) IS NULL``."""
    import ibis
    import ibis.expr.operations as ops

    if cell.kind != "boolean" or isinstance(cell.value.op(), ops.Field):
        return cell.value
    return ibis.coalesce(cell.value)


def common(cells: Sequence[Cell]) -> list[Cell]:
    """The cells as one kind; whole numbers and reals meet as reals."""
    kinds = {cell.kind for cell in cells}
    if kinds <= set(NUMBERS):
        kind = cells[0].kind if len(kinds) == 1 else "real"
        return [replace(cell, kind=kind, value=number(cell)) for cell in cells]
    if len(kinds) != 1:
        raise InvalidParameter(
            "expression", " and ".join(sorted(kinds)), "of one kind: write CAST around one of them"
        )
    return [replace(cell, value=fenced(cell)) for cell in cells]
