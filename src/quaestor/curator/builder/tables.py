"""Questions in Python: the same as in SQL, without writing text.

>>> from quaestor.curator import col, count, floor, mean, table
>>> asked = (
...     table("visits")
...     .where(col("age") >= 18, col("smoker"))
...     .group_by("sex", decade=floor(col("age") / 10))
...     .aggregate(people=count(), cost=mean("cost"))
...     .having(col("people") > 100)
...     .order_by("cost", descending=True)
... )

``asked.query(catalog)`` is the query, as ``parse`` would make it of SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from quaestor.curator.aggregates.count import count
from quaestor.curator.aggregates.count_distinct import count_distinct
from quaestor.curator.aggregates.mean import mean
from quaestor.curator.aggregates.quantile import median, quantile
from quaestor.curator.aggregates.sum import total
from quaestor.curator.aggregates.variance import stddev, variance
from quaestor.curator.builder.assembly import AskedTerms, Resolver, assemble
from quaestor.curator.builder.grouping_sets import (
    GroupingSets,
    cube,
    grouping,
    grouping_sets,
    rollup,
)
from quaestor.curator.language.expressions import Column, Logic
from quaestor.curator.language.terms import (
    Term,
    absolute,
    case,
    ceil,
    clamp,
    coalesce,
    col,
    exp,
    floor,
    greatest,
    least,
    ln,
    lower,
    month,
    rounded,
    sqrt,
    term,
    upper,
    year,
)
from quaestor.curator.questions.grouping_sets import multiplied
from quaestor.curator.questions.scope import Frame, find_table, nearest, scan
from quaestor.curator.questions.union_plan import check_parts, united
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.compound import Compound
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Output, Query
    from quaestor.curator.language.terms import Termlike
    from quaestor.curator.questions.union_plan import Questioned

__all__ = [
    "AnyQuestion",
    "Grouped",
    "GroupingSets",
    "Question",
    "TableRows",
    "Term",
    "UnitedQuestion",
    "absolute",
    "case",
    "ceil",
    "clamp",
    "coalesce",
    "col",
    "count",
    "count_distinct",
    "cube",
    "exp",
    "floor",
    "greatest",
    "grouping",
    "grouping_sets",
    "least",
    "ln",
    "lower",
    "mean",
    "median",
    "month",
    "quantile",
    "rollup",
    "rounded",
    "sqrt",
    "stddev",
    "table",
    "total",
    "upper",
    "variance",
    "year",
]
_Step = Callable[[Frame, "Catalog"], Frame]


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table, on the way to a question. Every method gives new rows."""

    name: str
    alias: str | None = None
    steps: tuple[_Step, ...] = ()

    def frame(self, catalog: Catalog) -> Frame:
        """The rows, over the tables of a catalog."""
        found = scan(find_table(catalog, self.name), self.alias)
        for step in self.steps:
            found = step(found, catalog)
        return found

    def _then(self, step: _Step) -> TableRows:
        return replace(self, steps=(*self.steps, step))

    def where(self, *conditions: Term) -> TableRows:
        """The rows for which all conditions are true."""
        wanted = tuple(condition.expression for condition in conditions)
        both = wanted[0] if len(wanted) == 1 else Logic("and", wanted)
        return self._then(lambda frame, _: frame.filtered(Resolver(frame).resolve(both)))

    def select(self, *names: str, **terms: Termlike) -> TableRows:
        """The same rows with these columns only, and new ones."""
        columns = [(name, Column(name)) for name in names]
        columns += [(name, term(value).expression) for name, value in terms.items()]  # type: ignore[misc]

        def step(frame: Frame, _: Catalog) -> Frame:
            resolver = Resolver(frame)
            made = [(name, resolver.resolve(expression)) for name, expression in columns]
            return frame.projected(made, self.alias or self.name)

        return self._then(step)

    def join(
        self,
        other: TableRows,
        *on: str | tuple[str, str],
        how: Literal["inner", "left"] = "inner",
    ) -> TableRows:
        """Pairs of rows that agree on columns: one name, or one of each side."""
        pairs = [(pair, pair) if isinstance(pair, str) else pair for pair in on]

        def step(frame: Frame, catalog: Catalog) -> Frame:
            right = other.frame(catalog)
            left, other_side = Resolver(frame), Resolver(right)
            agree = [(left.find(mine), other_side.find(theirs)) for mine, theirs in pairs]
            return frame.joined(right, agree, how)

        return self._then(step)

    def group_by(self, *names: str | GroupingSets, **terms: Termlike) -> Grouped:
        """The rows in groups, by columns and by new names for terms.

        With ``rollup(...)``, ``cube(...)`` or ``grouping_sets(...)`` there are several sets of
        groups; these may name terms, too.

        >>> from quaestor.curator import rollup
        >>> table("visits").group_by(rollup("sex", "decade"), decade=floor(col("age") / 10)).sets
        ((0, 1), (0,), ())
        """
        given: dict[str, Expression] = {n: term(v).expression for n, v in terms.items()}
        several = [each.sets for each in names if isinstance(each, GroupingSets)]
        inside = {name for sets in several for each in sets for name in each}
        plain = [name for name in names if isinstance(name, str)]
        plain += [name for name in given if name not in inside]
        wanted = multiplied(tuple(plain), several)
        order = list(dict.fromkeys(name for each in wanted for name in each))
        keys = tuple((name, given.get(name, Column(name))) for name in order)
        if not several:
            return Grouped(rows=self, keys=tuple((n, given.get(n, Column(n))) for n in plain))
        places = [tuple(sorted({order.index(name) for name in each})) for each in wanted]
        return Grouped(rows=self, keys=keys, sets=tuple(dict.fromkeys(places)))

    def aggregate(self, **terms: Termlike) -> Question:
        """Aggregates of all rows."""
        return Grouped(rows=self).aggregate(**terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Rows in groups, to be aggregated."""

    rows: TableRows
    keys: tuple[tuple[str, Expression], ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    """The places of the keys of each set of groups, where there are several sets."""

    def aggregate(self, **terms: Termlike) -> Question:
        """The keys, and aggregates of each group by name."""
        outputs = tuple((name, term(asked).expression) for name, asked in terms.items())
        asked = AskedTerms(keys=self.keys, sets=self.sets, outputs=outputs)
        return Question(rows=self.rows, asked=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, which a catalog makes a query of. Every method gives a new one.

    >>> from quaestor.curator import count
    >>> by_ward = table("visits").group_by("ward").aggregate(n=count())
    >>> by_ward.order_by("n").limit(3).asked.limit
    3
    """

    rows: TableRows
    asked: AskedTerms

    def having(self, condition: Term) -> Question:
        """Only groups whose released values fulfil the condition; aggregates go by their names."""
        return replace(self, asked=replace(self.asked, having=condition.expression))

    def order_by(self, *terms: Termlike, descending: bool = False) -> Question:
        """Sorted by released values; NULL comes last."""
        wanted = [col(t).expression if isinstance(t, str) else term(t).expression for t in terms]
        order = (*self.asked.order, *((expression, descending) for expression in wanted))
        return replace(self, asked=replace(self.asked, order=order))

    def limit(self, count: int) -> Question:
        """The first so many rows of the answer."""
        return replace(self, asked=replace(self.asked, limit=checked_limit(count)))

    def union_all(self, *others: Question) -> UnitedQuestion:
        """The rows of all these questions, asked and charged at once; names are the first one's."""
        return UnitedQuestion(questions=(self, *others))

    def query(
        self, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
    ) -> Query | Compound:
        """The query, with contributions as declared or less; refused where SQL would be.

        With several sets of groups it is several questions that are asked together.
        """
        return self.questioned(catalog, rows=rows, groups=groups).asked

    def questioned(
        self, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
    ) -> Questioned:
        """The same, with the kinds of the outputs."""
        try:
            return assemble(self.rows.frame(catalog), self.asked, rows=rows, groups=groups)
        except RecursionError:
            raise RefusedQuery(
                "the question is nested too deeply", remedy="name parts of it with select(...)"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitedQuestion:
    """Several questions below each other, as ``UNION ALL`` in SQL. Every method gives a new one.

    >>> from quaestor.curator import count
    >>> visits, some = table("visits"), table("visits").where(col("smoker"))
    >>> both = visits.aggregate(n=count()).union_all(some.aggregate(n=count()))
    >>> len(both.order_by("n").questions)
    2
    """

    questions: tuple[Question, ...]
    order: tuple[tuple[str, bool], ...] = ()
    most: int | None = None

    def union_all(self, *others: Question) -> UnitedQuestion:
        """With further questions below."""
        return replace(self, questions=(*self.questions, *others))

    def order_by(self, *names: str, descending: bool = False) -> UnitedQuestion:
        """All rows sorted by outputs of these names; NULL comes last."""
        return replace(self, order=(*self.order, *((name, descending) for name in names)))

    def limit(self, count: int) -> UnitedQuestion:
        """The first so many rows of the answer."""
        return replace(self, most=checked_limit(count))

    def query(
        self, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
    ) -> Compound:
        """The questions, with contributions as declared or less; refused where SQL would be."""
        check_parts(len(self.questions))
        made = [each.questioned(catalog, rows=rows, groups=groups) for each in self.questions]
        return united(made, self._places, self.most)

    def _places(self, outputs: Sequence[Output]) -> list[tuple[int, bool]]:
        names = [output.name.lower() for output in outputs]
        found = []
        for name, descending in self.order:
            if name.lower() not in names:
                raise RefusedQuery(
                    f"{name} is no output of the first question",
                    remedy=nearest(name, names),
                )
            found.append((names.index(name.lower()), descending))
        return found


AnyQuestion = Question | UnitedQuestion
"""A question of the builder: one, or several together."""


def checked_limit(count: object) -> int:
    """How many rows to show, if that is a number of rows."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 10**9:
        raise RefusedQuery("limit must be a whole number of at least 1", remedy="write limit(10)")
    return count


def table(name: str, alias: str | None = None) -> TableRows:
    """All rows of a table of the catalog: ``table("visits").where(col("age") > 40)``.

    >>> from quaestor.curator import col, count
    >>> table("visits").where(col("age") > 40).aggregate(n=count()).rows.name
    'visits'
    """
    return TableRows(name, alias)
