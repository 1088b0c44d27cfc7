"""The way from a syntax tree to an expression: one rule a kind of node, and no other way.

A node without a rule is refused: by name, with the reason and what to write instead, where there is
something to say.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.aggregates import spelling_of
from quaestor.curator.analysis.facts import folded
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlglot import exp

    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.questions.scope import Frame

__all__ = ["Translator", "aggregates_in", "is_aggregate", "only", "place_of", "placed", "refused"]


class Translator:
    """Turns nodes into expressions over the columns of a frame."""

    rules: ClassVar[Mapping[str, Callable[[Any, Any], Expression]]] = {}

    def __init__(self, text: str, frame: Frame, analysis: Analysis) -> None:
        self.text, self.frame, self.analysis = text, frame, analysis

    def convert(self, node: exp.Expr) -> Expression:
        """The expression that a node means; refused if there is no rule for it."""
        with placed(self.text, node):
            rule = self.rule_for(node)
            if rule is None:
                raise refused(node)
            made = folded(rule(self, node), self.analysis)
            self.analysis.facts(made)
        return made

    def rule_for(self, node: exp.Expr) -> Callable[[Any, Any], Expression] | None:
        """The rule for a node of this kind, if there is one."""
        return self.rules.get(type(node).__name__)

    def column(self, node: exp.Column) -> Expression:
        """What a name means."""
        return self.frame.find(node.name, node.table or None)


def place_of(node: exp.Expr) -> int | None:
    """The first character that is known to belong to the node or to something in it."""
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(starts, default=None)


@contextmanager
def placed(text: str, node: exp.Expr) -> Iterator[None]:
    """Refusals inside point to the node, if they do not point anywhere yet."""
    try:
        yield
    except RefusedQuery as refusal:
        place = place_of(node) if refusal.line is None else None
        if place is None:
            raise
        raise refusal.at(text, place) from None


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it puts many rows together, allowed or not."""
    from sqlglot import exp

    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return True
    return isinstance(node, exp.Anonymous) and spelling_of(node) is not None


def aggregates_in(node: exp.Expr) -> bool:
    """Whether it, or anything in it, does."""
    return any(is_aggregate(part) for part in node.walk())


_QUANTILE = "ask for a quantile near the end: QUANTILE(x, 0.01) or QUANTILE(x, 0.99)"
_JOIN = "join a public table instead, or filter in a sub-query after FROM"
_REASONS: dict[str, tuple[str, str]] = {
    "Min": ("MIN shows the value of one person", _QUANTILE),
    "Max": ("MAX shows the value of one person", _QUANTILE),
    "AnyValue": ("ANY_VALUE shows the value of one person", "group by the column, or use MEDIAN"),
    "ArrayAgg": ("ARRAY_AGG shows values of persons", "group by the column and count"),
    "GroupConcat": ("texts of persons cannot be joined", "group by the column and count"),
    "Mode": (
        "MODE shows a value that may be one person's",
        "GROUP BY the column, ORDER BY COUNT(*) DESC LIMIT 1",
    ),
    "ApproxDistinct": ("the engine's estimate has no known noise", "write COUNT(DISTINCT x)"),
    "VariancePop": ("only the sample variance is released", "write VARIANCE(x)"),
    "StddevPop": ("only the sample deviation is released", "write STDDEV(x)"),
    "Corr": (
        "correlations are not among the aggregates",
        "build it: AVG(x * y), AVG(x), STDDEV(x)",
    ),
    "Window": ("window functions mix the rows of many people", "use GROUP BY"),
    "Exists": ("conditions cannot ask other tables", _JOIN),
    "Subquery": ("a sub-query cannot be a value", "put it after FROM, or join it"),
    "Select": ("a sub-query cannot be a value", "put it after FROM, or join it"),
    "Union": ("UNION puts rows of several questions together", "ask each question by itself"),
    "Rand": ("randomness is the curator's", "leave it out: every answer has its noise"),
    "ILike": ("ILIKE depends on the engine's letters", "write LOWER(x) LIKE 'a%'"),
    "Escape": ("LIKE has no ESCAPE here", "use = for texts with % or _ in them"),
    "RegexpLike": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "RegexpFullMatch": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "SimilarTo": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "DPipe": ("texts are not put together", "group by both columns"),
    "Concat": ("texts are not put together", "group by both columns"),
    "IntDiv": ("engines divide whole numbers differently", "write FLOOR(a / b)"),
    "Trunc": ("TRUNC is not part of it", "write FLOOR(x), or SIGN(x) * FLOOR(ABS(x))"),
    "Interval": ("dates are not reckoned with", "compare with a date: day >= DATE '2026-01-31'"),
    "DateDiff": ("dates are not reckoned with", "compare years: YEAR(a) - YEAR(b)"),
    "DateAdd": ("dates are not reckoned with", "compare with a date: day >= DATE '2026-01-31'"),
    "DateSub": ("dates are not reckoned with", "compare with a date: day >= DATE '2026-01-31'"),
    "CurrentDate": ("the answer would depend on the day", "write the day: DATE '2026-01-31'"),
    "CurrentTimestamp": ("the answer would depend on the hour", "write DATE '2026-01-31'"),
    "Log": ("LOG means different things on different engines", "write LN(x) or LOG10(x)"),
    "Star": ("rows of people are never shown", "count them: SELECT COUNT(*) ..."),
    "Placeholder": ("there is a gap for a parameter", "write the value itself"),
    "Parameter": ("there is a gap for a parameter", "write the value itself"),
    "NullSafeEQ": ("IS NOT DISTINCT FROM is not part of it", "write a = b OR a IS NULL"),
    "NullSafeNEQ": ("IS DISTINCT FROM is not part of it", "write a <> b OR a IS NULL"),
    "Pivot": ("PIVOT is not part of it", "use GROUP BY"),
    "Distinct": ("DISTINCT is only for COUNT", "write COUNT(DISTINCT x), or GROUP BY x"),
    "RawString": ("texts stand in single quotes", "write 'text'"),
    "Offset": ("rows of an answer are not skipped", "use LIMIT, and leave out what you need not"),
    "RespectNulls": ("NULL is never counted", "leave RESPECT NULLS out"),
    "IgnoreNulls": ("this shows the value of one person", "use COUNT, SUM, AVG or MEDIAN"),
}
_ALLOWED = (
    "there are + - * / %, comparisons, CASE, CAST, IN, LIKE, IS NULL and the functions of the "
    "reference"
)
_ARGUMENTS: dict[str, tuple[str, str]] = {
    "distinct": ("DISTINCT rows need all of them", "write GROUP BY, which shows each group once"),
    "expressions": ("there are more arguments than one", "aggregate one column at a time"),
    "offset": _REASONS["Offset"],
    "windows": _REASONS["Window"],
    "qualify": _REASONS["Window"],
    "sample": ("the curator takes no samples", "leave TABLESAMPLE out"),
    "into": ("nothing is written", "leave INTO out"),
    "recursive": ("recursive queries may never end", "write WITH without RECURSIVE"),
    "laterals": ("LATERAL is not part of it", "use a plain join"),
    "pivots": _REASONS["Pivot"],
    "query": ("conditions cannot ask other tables", _JOIN),
    "rollup": ("ROLLUP asks several questions", "ask each by itself"),
    "cube": ("CUBE asks several questions", "ask each by itself"),
    "grouping_sets": ("GROUPING SETS ask several questions", "ask each by itself"),
    "all": ("GROUP BY ALL is not part of it", "name the keys"),
    "method": (
        "NATURAL and other methods of joining are not part of it",
        "write JOIN ... USING (key)",
    ),
    "symmetric": ("SYMMETRIC is not part of it", "write the lower bound first"),
    "nulls_first": ("NULL always comes last", "leave NULLS FIRST out"),
    "db": ("tables are known by one name", "write the name of the catalog alone"),
    "catalog": ("tables are known by one name", "write the name of the catalog alone"),
}


def refused(node: exp.Expr) -> RefusedQuery:
    """The refusal of something that is not part of the language."""
    name = type(node).__name__
    if name == "Anonymous":
        return RefusedQuery(f"there is no function {str(node.this).upper()[:40]}", remedy=_ALLOWED)
    reason, remedy = _REASONS.get(name, (f"{name.upper()} is not part of the language", _ALLOWED))
    return RefusedQuery(reason, remedy=remedy)


def only(node: exp.Expr, *names: str) -> None:
    """Refuse the node if it says anything beside these arguments."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == []:
            continue
        reason, remedy = _ARGUMENTS.get(
            name, (f"{type(node).__name__.upper()} ... {name.upper()} is not part of it", _ALLOWED)
        )
        raise RefusedQuery(reason, remedy=remedy)
