"""Aggregates: one a file, with all that is known of it, and one line here.

A file holds the aggregate's names in SQL and in the builder, what it may be asked of and with which
public bounds, the measures it takes, its recipe from noisy measures to a figure with an error bar,
and its words in a preview: see :class:`AggregateKind`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates.aggregate_kind import AggregateKind
from quaestor.curator.aggregates.count import CountKind
from quaestor.curator.aggregates.count_distinct import DistinctKind, UnitsKind
from quaestor.curator.aggregates.mean import MeanKind
from quaestor.curator.aggregates.paired_numbers import (
    CorrelationKind,
    CovarianceKind,
    InterceptKind,
    PopulationCovarianceKind,
    SlopeKind,
)
from quaestor.curator.aggregates.quantile import QuantileKind
from quaestor.curator.aggregates.sum import SumKind
from quaestor.curator.aggregates.variance import (
    PopulationStddevKind,
    PopulationVarianceKind,
    StddevKind,
    VarianceKind,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.aggregates.aggregate_kind import Spelling
    from quaestor.curator.language.terms import Term

__all__ = ["AGGREGATES", "AggregateKind", "builder_functions", "kind_of", "spelling_of"]

AGGREGATES: dict[str, AggregateKind] = {
    kind.name: kind
    for kind in (
        CountKind(),
        UnitsKind(),
        DistinctKind(),
        SumKind(),
        MeanKind(),
        VarianceKind(),
        StddevKind(),
        PopulationVarianceKind(),
        PopulationStddevKind(),
        QuantileKind(),
        CorrelationKind(),
        CovarianceKind(),
        PopulationCovarianceKind(),
        SlopeKind(),
        InterceptKind(),
    )
}
"""All aggregates, by the names that stored questions have for them."""


def kind_of(function: str) -> AggregateKind:
    """The aggregate of that name."""
    if function not in AGGREGATES:
        raise InvalidParameter("aggregate", function, f"one of {', '.join(AGGREGATES)}")
    return AGGREGATES[function]


def spelling_of(node: Any) -> Spelling | None:
    """How a node of SQL's syntax tree spells an aggregate; None if it does not."""
    spellings = (spelling for kind in AGGREGATES.values() for spelling in kind.spellings)
    return next((spelling for spelling in spellings if spelling.fits(node)), None)


def builder_functions() -> dict[str, Callable[..., Term]]:
    """The builder's functions for aggregates, by name."""
    return {made.__name__: made for kind in AGGREGATES.values() for made in kind.functions}
