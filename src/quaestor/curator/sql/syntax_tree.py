"""Looking at the tree: where in the text a part stands, and whether it aggregates."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

__all__ = ["aggregates_in", "is_aggregate", "place_of", "placed"]


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

    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)


def aggregates_in(node: exp.Expr) -> bool:
    """Whether it, or anything in it, does."""
    return any(is_aggregate(part) for part in node.walk())
