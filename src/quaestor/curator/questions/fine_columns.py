"""Which columns of a question are read in finer steps than those of their domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.language.expressions import columns_in
from quaestor.curator.language.query import Filtered, Join, PerUnit, Projected, Scan, Union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Query, Relation

__all__ = ["fine_columns"]


def fine_columns(query: Query, catalog: Catalog) -> tuple[str, ...]:
    """The names of columns whose values are added up and whose step nobody declared.

    Rounded to the steps of a quantile's domain, values that are small beside their bounds would add
    up to nothing. Columns with keys are read as ever: to be equal means to be equal in steps. By
    other reals rows are neither grouped nor joined.
    """
    parts = list(_below(query.rows))
    added = set[str]()
    for each in query.aggregates:
        if kind_of(each.function).adds_up:
            for operand in (each.operand, each.second):
                added |= columns_in(operand) if operand is not None else set()
    tables = [catalog.table(part.table) for part in parts if isinstance(part, Scan)]
    columns = [column for table in tables if table is not None for column in table.columns]
    coarse = {column.name for column in columns if column.fine_granularity is None}
    wanted = _made_of(added, parts) & {column.name for column in columns}
    return tuple(sorted(wanted - coarse))


def _made_of(names: Iterable[str], parts: list[Relation]) -> set[str]:
    """These names, and those of the columns that they are made of further below."""
    found = set(names)
    for part in parts:  # from the top down
        if isinstance(part, Projected):
            for name, expression in part.columns:
                found |= columns_in(expression) if name in found else set()
        elif isinstance(part, PerUnit):
            for name, figure in part.columns:
                if name in found and figure.operand is not None:
                    found |= columns_in(figure.operand)
    return found


def _below(relation: Relation) -> Iterator[Relation]:
    """The relation and all that it is made of, the top one first."""
    yield relation
    match relation:
        case Filtered() | Projected() | PerUnit():
            yield from _below(relation.rows)
        case Join():
            yield from _below(relation.left)
            yield from _below(relation.right)
        case Union():
            for part in relation.parts:
                yield from _below(part)
