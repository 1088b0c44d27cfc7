"""``AUTO(x)`` inside an aggregate: where it stands, and the same text with bounds instead of it.

``AVG(AUTO(cost))`` asks for bounds that are chosen privately. It becomes ``AVG(CLAMP(cost, 0,
700))`` before it is asked: what is answered, stored and charged is an ordinary question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates import spelling_of
from quaestor.curator.sql.text import read_question, tokens_of
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["AutoCall", "AutoText", "read_auto"]

Bounds = Mapping[str, tuple[float, float]]
"""The bounds of columns, by their names in the question."""

_BOUNDED = {"Sum", "Avg", "Variance", "VariancePop", "Stddev", "StddevSamp", "StddevPop"}
_INSTEAD = "write CLAMP(x, 0, 100), with bounds of your own"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoCall:
    """One ``AUTO(column)``: the column's name as it is written, and what the aggregate is."""

    column: str
    aggregate: str
    start: int
    end: int
    """The places of the word, and of what follows it."""
    close: int
    """The place of the closing bracket."""

    @property
    def added(self) -> bool:
        """Whether its values are added up as they are, so that noise goes with the larger bound."""
        return self.aggregate == "Sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoText:
    """The text of a question with ``AUTO`` in it."""

    text: str
    calls: tuple[AutoCall, ...]

    def bounded(self, bounds: Bounds) -> str:
        """The question with ``CLAMP(x, low, high)`` instead of ``AUTO(x)``."""
        made, done = "", 0
        for start, end, words in self._changes(bounds):
            made, done = made + self.text[done:start] + words, end
        return made + self.text[done:]

    def pointed(self, refusal: RefusedQuery, bounds: Bounds) -> RefusedQuery:
        """A refusal of the question with bounds, pointing to the same place in this text."""
        if refusal.line is None or refusal.column is None:
            return refusal
        lines = self.bounded(bounds).split("\n")[: refusal.line - 1]
        place = sum(len(line) + 1 for line in lines) + refusal.column - 1
        for start, end, words in self._changes(bounds):
            if place <= start:
                break
            place = max(start, place - len(words) + end - start)
        return refusal.at(self.text, place)

    def _changes(self, bounds: Bounds) -> Iterator[tuple[int, int, str]]:
        for call in sorted(self.calls, key=lambda each: each.start):
            low, high = map(_written, bounds[call.column])
            yield call.start, call.end, "CLAMP"
            yield call.close, call.close, f", {low}, {high}"


def _written(value: float) -> str:
    """A number in digits, exactly as it prints."""
    return format(Decimal(repr(int(value) if value == int(value) else value)), "f")


def read_auto(text: str) -> AutoText | None:
    """The calls of ``AUTO`` in a question; None if there are none.

    Raises:
        RefusedQuery: one of them is not the whole of a sum, a mean or a variance of a column.
    """
    tree = read_question(text)
    found = [node for node in tree.walk() if _is_auto(node)]
    if not found:
        return None
    tokens = tokens_of(text)
    return AutoText(text=text, calls=tuple(_call(text, node, tokens) for node in found))


def _is_auto(node: Any) -> bool:
    return type(node).__name__ == "Anonymous" and str(node.name).lower() == "auto"


def _call(text: str, node: Any, tokens: Sequence[Any]) -> AutoCall:
    start = node.meta.get("start")
    places = [at for at, token in enumerate(tokens) if token.start == start]
    if not places:
        raise RefusedQuery("AUTO is not allowed here", remedy=_INSTEAD)
    aggregate, written = type(node.parent).__name__, node.expressions
    if len(written) != 1 or type(written[0]).__name__ != "Column":
        raise RefusedQuery(
            "AUTO needs the name of one column, not an expression",
            remedy="write AUTO(x) with the name of a column, or CLAMP(..., 0, 100) with bounds of "
            "your own",
            text=text,
            place=start,
        )
    name = str(written[0].name)
    if aggregate not in _BOUNDED or node.parent.this is not node:
        counts = aggregate in {"Count", "CountIf"}
        words = f"; {aggregate.upper()} needs no bounds" if counts else ""
        kind = "" if spelling_of(node.parent) is None or counts else f", and not in {aggregate}"
        raise RefusedQuery(
            f"AUTO(x) stands alone in SUM, AVG, VARIANCE or STDDEV{kind}{words}",
            remedy=f"leave AUTO out: {name}" if counts else _INSTEAD,
            text=text,
            place=start,
        )
    word = tokens[places[0]]
    depth = 0
    for token in tokens[places[0] + 1 :]:
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth == 0:
            return AutoCall(
                column=name,
                aggregate=aggregate,
                start=word.start,
                end=word.end + 1,
                close=token.start,
            )
    raise RefusedQuery("AUTO is not allowed here", remedy=_INSTEAD)
