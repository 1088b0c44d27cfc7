"""Expressions are about one row: no sub-query, window, aggregate or table, and no foreign name."""

from __future__ import annotations

import math
import random
import re
from typing import TYPE_CHECKING

from quaestor.curator.kernel.columns import read
from quaestor.curator.language.expressions import Arithmetic, Cast, Column
from quaestor.curator.scalars.scalar import SQL
from quaestor.curator.scalars.writer import ScalarWriter
from quaestor.errors import QuaestorError
from tests.curator.kernel.attack import Attacker
from tests.curator.kernel.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.curator.language.expressions import Expression, Kind
    from quaestor.curator.scalars.dialect import Dialect
    from quaestor.curator.scalars.scalar import Scalar

__all__ = ["identifiers", "scalars", "wrongs"]

_STORED = {"text": "varchar", "real": "double precision", "integer": "bigint"}
_LARGEST = 2.0**900
_FINEST = -1000
KINDS: tuple[Kind, ...] = ("integer", "real", "text", "boolean", "date")


def scalars(dialect: Dialect, seeds: Iterable[int]) -> Iterator[tuple[int, Scalar]]:
    """Random expressions over the columns of a table, as they are written."""
    from dataclasses import replace

    sql, facts = SQL(dialect), TABLES["people"].columns
    columns = {
        one.name: replace(read(one, sql, "t.x", _STORED.get(one.kind, one.kind)), sql=f"c{place}")
        for place, one in enumerate(facts)
    }
    kinds: dict[str, Kind] = {one.name: one.kind for one in facts}
    made = ((seed, random.Random(seed)) for seed in seeds)
    random_ones = ((seed, Attacker(r).expression(r.choice(KINDS), kinds, 4)) for seed, r in made)
    for seed, expression in (*random_ones, *((-1, each) for each in _chains())):
        try:
            yield seed, ScalarWriter(columns, sql).scalar(expression)
        except QuaestorError:
            continue


def _chains() -> Iterator[Expression]:
    """Numbers that grow, and shrink, until no float could hold them."""
    for operator in ("*", "/"):
        x: Expression = Cast(Column("v"), "real")
        for _ in range(5):
            x = Arithmetic(operator, x, x if operator == "*" else Column("g"))
            yield x


def wrongs(dialect: Dialect, seeds: Iterable[int]) -> list[str]:
    """Whether the SQL of every expression is about one row, and its numbers are floats."""
    return [
        f"expression {seed}: {problem}"
        for seed, x in scalars(dialect, seeds)
        for problem in _problems(x, dialect)
    ]


def _problems(x: Scalar, dialect: Dialect) -> Iterator[str]:
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(f"SELECT {x.sql} AS one", read=dialect.name)
    except sqlglot.errors.SqlglotError as problem:
        yield f"no SQL: {problem}"
        return
    selects = list(tree.find_all(exp.Select))
    if len(selects) != 1 or len(selects[0].selects) != 1 or tree.args.get("from_"):
        yield "more than one value of one row"
    for kind in (exp.Subquery, exp.Window, exp.AggFunc, exp.Table, exp.Union, exp.Star, exp.Lambda):
        if tree.find(kind):
            yield f"a {kind.__name__}"
    foreign = {name for name in identifiers(tree) if not re.fullmatch(r"c\d+|one|binary|C", name)}
    if foreign:
        yield f"names {foreign}"
    if x.kind in {"integer", "real"} and not (math.isfinite(x.most) and x.most <= _LARGEST):
        yield f"a number up to {x.most}"
    if x.kind in {"integer", "real"} and x.grid < _FINEST:
        yield f"a number down to two to the {x.grid}"


def identifiers(tree: object) -> set[str]:
    """All names in a statement."""
    from sqlglot import exp

    assert isinstance(tree, exp.Expr)
    return {one.name for one in tree.find_all(exp.Identifier)}
