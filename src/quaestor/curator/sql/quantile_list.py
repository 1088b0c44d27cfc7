"""Several quantiles in one call: ``QUANTILE(x, [0.25, 0.5, 0.75])`` is three outputs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["one_by_one"]

_MOST = 20
_AROUND = {"Alias", "Filter", "Paren", "WithinGroup"}
_CALLS = {"Quantile", "ApproxQuantile", "PercentileCont", "PercentileDisc", "Anonymous"}


def one_by_one(nodes: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    """Every output, and what its name ends in: a list of quantiles is one output for each.

    They are of one histogram, and named after the percentages: ``q_25``, ``q_50``, ``q_2_5``.
    """
    for node in nodes:
        listed = _listed(node)
        if listed is None:
            yield node, ""
            continue
        if not 1 <= len(listed.expressions) <= _MOST:
            raise RefusedQuery(
                f"a list of quantiles has 1 to {_MOST} probabilities",
                remedy="write QUANTILE(x, [0.25, 0.5, 0.75])",
            )
        for place, probability in enumerate(listed.expressions):
            copied = node.copy()
            found = _listed(copied)
            found.replace(found.expressions[place].copy())
            yield copied, _ending(probability)


def _listed(node: Any) -> Any:
    """The list in a call of a quantile that is an output by itself; None without one."""
    call = node
    while type(call).__name__ in _AROUND:
        call = call.this
    if type(call).__name__ not in _CALLS:
        return None
    places = [call.args.get("quantile"), call.args.get("expression"), call.args.get("this")]
    places += call.expressions[1:2] if type(call).__name__ == "Anonymous" else []
    return next((each for each in places if type(each).__name__ == "Array"), None)


def _ending(probability: Any) -> str:
    """The percentage, as a part of a name; what is not a number is refused when it is read."""
    text = str(probability.this) if type(probability).__name__ == "Literal" else ""
    if not text.isascii() or not text.replace(".", "", 1).isdigit() or len(text) > 20:
        return ""
    percentage = f"{Decimal(text) * 100:f}"
    if "." in percentage:
        percentage = percentage.rstrip("0").rstrip(".")
    return "_" + percentage.replace(".", "_")
