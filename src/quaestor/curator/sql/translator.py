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
    "Min": ("MIN would show the value of one person", _QUANTILE),
    "Max": ("MAX would show the value of one person", _QUANTILE),
    "AnyValue": (
        "ANY_VALUE would show the value of one person",
        "group by the column, or use MEDIAN",
    ),
    "ArrayAgg": (
        "ARRAY_AGG would show the values of single people",
        "group by the column and count",
    ),
    "GroupConcat": ("texts of several people cannot be joined", "group by the column and count"),
    "Mode": (
        "MODE could show the value of one person",
        "GROUP BY the column, ORDER BY COUNT(*) DESC LIMIT 1",
    ),
    "ApproxDistinct": (
        "approximate counts are not supported, because their error is unknown",
        "write COUNT(DISTINCT x)",
    ),
    "Window": (
        "window functions (OVER) on rows are not supported",
        "use GROUP BY; for shares, write COUNT(*) * 100.0 / SUM(COUNT(*)) OVER ()",
    ),
    "Exists": ("EXISTS is supported in WHERE only", _JOIN),
    "Subquery": ("scalar subqueries are not supported", "put it after FROM, or join it"),
    "Select": ("scalar subqueries are not supported", "put it after FROM, or join it"),
    "Union": ("UNION is not supported here", "ask each question separately"),
    "Rand": ("random functions are not supported", "remove it: every answer has noise already"),
    "Escape": ("LIKE with ESCAPE is not supported", "use = for texts with % or _ in them"),
    "RegexpLike": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "RegexpFullMatch": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "SimilarTo": ("regular expressions differ between engines", "write LIKE 'a%'"),
    "Interval": ("an interval is supported after + or - only", "write day + INTERVAL 3 MONTH"),
    "DateAdd": ("DATE_ADD adds an interval", "write DATE_ADD(day, INTERVAL 3 MONTH)"),
    "DateSub": ("DATE_SUB takes an interval away", "write day - INTERVAL 3 MONTH"),
    "CurrentDate": ("the answer would depend on the day", "write the day: DATE '2026-01-31'"),
    "CurrentTimestamp": ("the answer would depend on the hour", "write DATE '2026-01-31'"),
    "Log": ("LOG means different things on different engines", "write LN(x) or LOG10(x)"),
    "Star": ("rows of people are never shown", "count them: SELECT COUNT(*) ..."),
    "Placeholder": ("query parameters are not supported", "write the value itself"),
    "Parameter": ("query parameters are not supported", "write the value itself"),
    "Pivot": ("PIVOT is not supported", "use GROUP BY"),
    "Distinct": ("DISTINCT is only for COUNT", "write COUNT(DISTINCT x), or GROUP BY x"),
    "RawString": ("texts must be in single quotes", "write 'text'"),
    "Offset": ("OFFSET is not supported", "use LIMIT alone"),
    "RespectNulls": ("NULL is never counted", "leave RESPECT NULLS out"),
    "IgnoreNulls": ("this would show the value of one person", "use COUNT, SUM, AVG or MEDIAN"),
}
_ALLOWED = (
    "supported are + - * / %, comparisons, CASE, CAST, IN, LIKE, IS NULL and the "
    "functions listed in the SQL reference"
)
_ARGUMENTS: dict[str, tuple[str, str]] = {
    "distinct": ("SELECT DISTINCT is not supported", "write GROUP BY, which shows each group once"),
    "expressions": ("there are more arguments than one", "aggregate one column at a time"),
    "offset": _REASONS["Offset"],
    "windows": _REASONS["Window"],
    "qualify": _REASONS["Window"],
    "sample": ("TABLESAMPLE is not supported", "leave TABLESAMPLE out"),
    "into": ("SELECT INTO is not supported: data are never written", "leave INTO out"),
    "recursive": ("recursive queries are not supported", "write WITH without RECURSIVE"),
    "laterals": ("LATERAL is not supported", "use a plain join"),
    "pivots": _REASONS["Pivot"],
    "query": ("IN (SELECT ...) is supported in WHERE only", _JOIN),
    "rollup": ("ROLLUP is not supported here", "ask each grouping separately"),
    "cube": ("CUBE is not supported here", "ask each grouping separately"),
    "grouping_sets": ("GROUPING SETS are not supported here", "ask each grouping separately"),
    "all": ("GROUP BY ALL is not supported", "name the keys"),
    "method": (
        "NATURAL JOIN and join hints are not supported",
        "write JOIN ... USING (key)",
    ),
    "symmetric": ("SYMMETRIC is not supported", "write the lower bound first"),
    "nulls_first": ("NULL always comes last", "leave NULLS FIRST out"),
    "db": (
        "qualified table names are not supported",
        "write only the name of the table in the catalog",
    ),
    "catalog": (
        "qualified table names are not supported",
        "write only the name of the table in the catalog",
    ),
}


def refused(node: exp.Expr) -> RefusedQuery:
    """The refusal of something that is not part of the language."""
    name = type(node).__name__
    if name == "Anonymous" and str(node.name).lower() == "auto":
        return RefusedQuery(
            ("AUTO(x) chooses bounds when a question is asked in SQL, and is not supported here"),
            remedy="write CLAMP(x, 0, 100) with bounds of your own, or let the data owner choose "
            "bounds of the table: quaestor dataset tune",
        )
    if name in _REASONS:
        reason, remedy = _REASONS[name]
        return RefusedQuery(reason, remedy=remedy)
    typed = _typed(node)
    known = typed.replace("_", "").isalnum()
    return RefusedQuery(
        f"there is no function {typed}" if known else f"{typed} is not supported",
        remedy=_INSTEAD.get(typed, _ALLOWED),
    )


def _typed(node: exp.Expr) -> str:
    """What was typed, as near as the parser knows: a function by its name."""
    kind = type(node).__name__
    if kind == "Anonymous":
        return str(node.this).upper()[:40]
    if kind in _TYPED:
        return _TYPED[kind]
    try:
        return node.sql(dialect="duckdb").split("(")[0].strip().upper()[:40] or kind.upper()
    except Exception:  # noqa: BLE001  # it writes what it can; a name is enough
        return kind.upper()


_POWERS = "build it of AVG(x), AVG(POW(x, 2)), AVG(POW(x, 3)), ..."
_TODAY = "write the day: DATE '2026-01-31'"
_TYPED = {
    "RegrR2": "REGR_R2",
    "LogicalOr": "BOOL_OR",
    "LogicalAnd": "BOOL_AND",
    "StrPosition": "POSITION",
    "SplitPart": "SPLIT_PART",
    "LastDay": "LAST_DAY",
    "StartsWith": "STARTS_WITH",
    "IsNan": "ISNAN",
    "Tuple": "a list in brackets",
    "Array": "a list in brackets",
}
_INSTEAD = {
    "REGR_R2": "write POW(CORR(y, x), 2)",
    **dict.fromkeys(("SKEWNESS", "KURTOSIS"), _POWERS),
    "GEOMEAN": "write EXP(AVG(LN(x)))",
    "PRODUCT": "write EXP(SUM(LN(x)))",
    "HISTOGRAM": "count by bins: GROUP BY WIDTH_BUCKET(x, 0, 100, 10)",
    **dict.fromkeys(("BOOL_OR", "BOOL_AND"), "ask for the share that is true: AVG(x)"),
    **dict.fromkeys(("AGE", "DATE_SUB", "DATESUB"), "write DATE_DIFF('day', a, b)"),
    **dict.fromkeys(("NOW", "TODAY", "GETDATE"), _TODAY),
    "MONTHNAME": "write MONTH(x)",
    "DAYNAME": "write DAYOFWEEK(x), 0 being Sunday",
    "LAST_DAY": "write DATE_TRUNC('month', x), the first day",
    "RIGHT": "write x LIKE '%abc'",
    **dict.fromkeys(("CONTAINS", "POSITION", "STRPOS", "INSTR"), "write x LIKE '%abc%'"),
    **dict.fromkeys(("STARTS_WITH", "PREFIX"), "write x LIKE 'abc%'"),
    "REPLACE": "name the values: CASE WHEN x = 'a' THEN 'b' ELSE x END",
    "SPLIT_PART": "write SUBSTRING(x, 1, 3) or LEFT(x, 3)",
    "CBRT": "there are SQRT(x), POW(x, 3), LN(x) and EXP(x)",
    "ISNAN": "write x IS NULL: NaN is read as NULL",
}
"""What to write instead of functions that there are elsewhere."""


def only(node: exp.Expr, *names: str) -> None:
    """Refuse the node if it says anything beside these arguments."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == []:
            continue
        reason, remedy = _ARGUMENTS.get(
            name, (f"{type(node).__name__.upper()} ... {name.upper()} is not supported", _ALLOWED)
        )
        raise RefusedQuery(reason, remedy=remedy)
