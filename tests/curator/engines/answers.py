"""What an engine says and what the oracle says, in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.measures import Histogram
from tests.curator.engines import oracle
from tests.curator.engines.data import CATALOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.engines import Engine
    from quaestor.curator.measures import Measure
    from quaestor.curator.query import Query

__all__ = ["Answer", "answer", "wanted"]

Answer = tuple[list[Any], list[int], dict["Measure", Any]]


def answer(engine: Engine, query: Query, measures: Sequence[Measure]) -> Answer:
    """Groups, units, and the column of every measure, as the engine has them."""
    found = engine.measure(query, measures)
    columns: dict[Measure, Any] = {
        one: found.histograms[one] if isinstance(one, Histogram) else found.values[one]
        for one in measures
    }
    return found.groups, found.units, columns


def wanted(
    query: Query, measures: Sequence[Measure], data: dict[str, list[dict[str, Any]]]
) -> Answer:
    """The same as the definitions have it."""
    groups, units, columns = oracle.measured(query, measures, CATALOG, data)
    return groups, units, dict(zip(measures, columns, strict=True))
