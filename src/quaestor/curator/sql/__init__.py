"""Questions in SQL: what may be asked, and what it means.

sqlglot parses; then every node of its tree has a rule here or is refused, with the reason and,
where there is one, the allowed way to write it. No data are touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.sql.select_statement import Statement
from quaestor.curator.sql.text import read
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Query

__all__ = ["parse"]


def parse(
    text: str, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
) -> Query:
    """The query that a SELECT means, over the tables of a catalog.

    ``rows`` and ``groups`` say how much of one unit counts, if less than declared: fewer rows
    need less noise, and leave more out.

    Raises:
        RefusedQuery: it is not allowed; the error says where, why, and what to write instead.
    """
    tree = read(text)
    try:
        return Statement(text, catalog).query(tree, rows=rows, groups=groups)
    except RecursionError:
        raise RefusedQuery(
            "the question is nested too deeply",
            remedy="name parts of it: WITH part AS (SELECT ...) SELECT ... FROM part",
        ) from None
