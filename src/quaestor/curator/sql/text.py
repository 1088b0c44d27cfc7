"""From text to a syntax tree: limits first, so that no text takes long or goes deep.

DuckDB's dialect is read. sqlglot's parser tries some readings one after the other, and nested types
take it exponential time: words that are not of the language and are called like a function are
refused among the tokens, before it sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.errors import MissingExtra, RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

__all__ = ["DIALECT", "LONGEST_LIST", "read_question", "tokens_of"]

DIALECT = "duckdb"
LONGEST_LIST = 1_000
_LONGEST_TEXT = 20_000
_MOST_NODES = 2_000
_DEEPEST = 50
_DEEPEST_BRACKETS = 25
_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_FREE = frozenset({"VAR", "IDENTIFIER", "STRING", "NUMBER"})
_SIZED_TYPES = frozenset({"VARCHAR", "CHAR", "TEXT", "STRING", "DECIMAL", "NUMERIC"})
# fmt: off
_FUNCTIONS = frozenset({  # tokens of their own, and also functions or operators before a bracket
    "ALL", "AND", "ANY", "AS", "AVG", "BETWEEN", "BY", "CASE", "CAST", "CEIL", "COALESCE",
    "COUNT", "CUBE", "DAY", "DISTINCT", "ELSE", "EXCEPT", "EXISTS", "EXTRACT", "FILTER", "FLOOR",
    "FROM", "GREATEST", "GROUP", "GROUP BY", "GROUPING SETS", "HAVING", "IF", "IN", "INTERSECT",
    "INTERVAL", "IS", "ISNULL", "JOIN", "LEAST", "LEFT", "LENGTH", "LIKE", "LIMIT", "LN", "LOG",
    "MEDIAN", "MOD", "MONTH", "NOT", "ON", "OR", "ORDER", "ORDER BY", "OVER", "PARTITION BY",
    "QUARTER", "REPLACE", "RIGHT", "ROLLUP", "ROUND", "SELECT", "SOME", "SUBSTRING", "SUM",
    "THEN", "TRY_CAST", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITH", "WITHIN", "YEAR",
})
# fmt: on
_SELECT_ONLY = "ask with SELECT, as in SELECT COUNT(*) FROM visits"


def read_question(text: str) -> exp.Query:
    """The tree of the SELECT that the text is, or of several with UNION and the like between."""
    try:
        from sqlglot import Dialect, errors, exp
    except ImportError:  # pragma: no cover  # the tests have it
        raise MissingExtra("sqlglot", extra="curator", purpose="asking in SQL") from None
    _check_text(text)
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(text)
        _check_tokens(text, tokens)
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
        tree = _checked(trees)
    except RefusedQuery:
        raise
    except errors.ParseError as error:
        raise _limit_after_sets(text, tokens) or _syntax(text, error) from None
    except RecursionError:
        raise _too_deep() from None
    except Exception:  # noqa: BLE001  # a parser of ten thousand lines has surprises
        raise RefusedQuery(
            "the text cannot be read as SQL", remedy="look for a quote that does not end"
        ) from None
    while isinstance(tree, exp.Subquery) and set(_said(tree)) == {"this"}:
        tree = tree.this
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise RefusedQuery(f"{tree.key.upper()} is not a single SELECT", remedy=_SELECT_ONLY)
    return tree


def _said(tree: exp.Expr) -> list[str]:
    return [name for name, value in tree.args.items() if value not in (None, False, [])]


def tokens_of(text: str) -> Sequence[Token]:
    """The words of a text that was read."""
    from sqlglot import Dialect

    return Dialect.get_or_raise(DIALECT).tokenize(text)


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise RefusedQuery("a question is a text", remedy=_SELECT_ONLY)
    if len(text) > _LONGEST_TEXT:
        raise RefusedQuery(
            f"the text has more than {_LONGEST_TEXT:,} characters", remedy="ask a shorter question"
        )
    for place, character in enumerate(text):
        if (character < " " and character not in "\t\n\r") or "\ud800" <= character <= "\udfff":
            raise RefusedQuery(
                "the text contains an invalid character",
                remedy="remove it",
                text=text,
                place=place,
            )


def _check_tokens(text: str, tokens: Sequence[Token]) -> None:
    words = (token.text.upper() for token in tokens)
    if next((word for word in words if word != "("), "") not in {"SELECT", "WITH"}:
        raise RefusedQuery("only SELECT can be asked", remedy=_SELECT_ONLY, text=text, place=0)
    depth = 0
    for place, token in enumerate(tokens):
        name = token.token_type.name
        depth += (name in _OPENING) - (name in _CLOSING)
        if depth > _DEEPEST_BRACKETS:
            raise _too_deep().at(text, token.start)
        following = [other.token_type.name for other in tokens[place + 1 : place + 3]]
        if following[:1] == ["L_PAREN"] and not _may_open(token, following[1:]):
            raise RefusedQuery(
                f"{token.text.upper()} is not supported as a function",
                remedy='put a column of that name in double quotes, as in "row"',
                text=text,
                place=token.start,
            )


def _may_open(token: Token, inside: Sequence[str]) -> bool:
    """Before a bracket: a function, a word of the language, or a type with its size."""
    word = " ".join(token.text.upper().split())
    if token.token_type.name in _FREE or word in _FUNCTIONS or not word[:1].isalpha():
        return True
    return word in _SIZED_TYPES and list(inside) == ["NUMBER"]


def _checked(trees: Sequence[exp.Expr]) -> exp.Expr:
    """The only tree, if it has few nodes and is not deep.

    Chains of AND, of OR and of UNION are one level; lists have a limit of their own.
    """
    from sqlglot import exp

    if len(trees) != 1:
        raise RefusedQuery(
            f"the text has {len(trees)} statements", remedy="ask one question at a time"
        )
    waiting, count = [(trees[0], 1)], 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST:
            raise _too_deep()
        if count > _MOST_NODES:
            raise RefusedQuery(
                f"the question has more than {_MOST_NODES:,} parts", remedy="ask a simpler one"
            )
        for child in node.iter_expressions():
            if isinstance(node, exp.In) and isinstance(child, exp.Literal):
                continue
            chains = exp.And | exp.Or | exp.Union
            chained = isinstance(child, chains) and type(child) is type(node)
            waiting.append((child, depth if chained else depth + 1))
    return trees[0]


def _too_deep() -> RefusedQuery:
    return RefusedQuery(
        "the question is nested too deeply",
        remedy="name parts of it: WITH part AS (SELECT ...) SELECT ... FROM part",
    )


def _limit_after_sets(text: str, tokens: Sequence[Token]) -> RefusedQuery | None:
    """``GROUP BY ROLLUP (a) LIMIT 3``, which sqlglot does not read."""
    names = [token.token_type.name for token in tokens]
    sets = {"ROLLUP", "CUBE", "GROUPING_SETS"} & set(names)
    for before, token in zip(names, tokens[1:], strict=False):
        if sets and before == "R_PAREN" and token.token_type.name in {"LIMIT", "FETCH"}:
            return RefusedQuery(
                "LIMIT after grouping sets without an order would show any of them",
                remedy="write ORDER BY before LIMIT",
                text=text,
                place=token.start,
            )
    return None


def _syntax(text: str, error: object) -> RefusedQuery:
    found = getattr(error, "errors", None) or [{}]
    line, column = found[0].get("line"), found[0].get("col")
    remedy = (
        "check the brackets, commas and quotes around it; "
        'a name that is also a word of SQL stands in double quotes, as in "order"'
    )
    if line is None or column is None:
        return RefusedQuery("this is not SQL", remedy=remedy)
    lines = text.split("\n")
    start = sum(len(part) + 1 for part in lines[: line - 1])
    place = start + column - max(len(found[0].get("highlight") or ""), 1)
    return RefusedQuery("this is not SQL", remedy=remedy, text=text, place=place)
