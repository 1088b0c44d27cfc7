"""Privacy filters: promises that hold when analysts choose everything as they go.

``FILTERS`` lists every kind by its name, and :func:`filter_from_dict` is the way back from plain
values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.accounting.filters.base import (
    DeltaMeter,
    EpsilonMeter,
    Filter,
    Meter,
    basic_filter,
)
from quaestor.accounting.filters.concentrated import RhoMeter, concentrated_filter
from quaestor.accounting.filters.filter_choice import best_filter, default_filter, repetitions
from quaestor.accounting.filters.gaussian import GaussianMeter, gaussian_filter
from quaestor.accounting.filters.moments import MomentMeter, moment_filter, weighted_filter
from quaestor.accounting.filters.odometer import LossReading, Odometer
from quaestor.accounting.filters.squares import (
    RangeMeter,
    SquaresMeter,
    range_filter,
    whitehouse_filter,
)
from quaestor.accounting.filters.what_fits import fitting_version, remaining_count
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FILTERS",
    "DeltaMeter",
    "EpsilonMeter",
    "Filter",
    "GaussianMeter",
    "LossReading",
    "Meter",
    "MomentMeter",
    "Odometer",
    "RangeMeter",
    "RhoMeter",
    "SquaresMeter",
    "basic_filter",
    "best_filter",
    "concentrated_filter",
    "default_filter",
    "filter_from_dict",
    "fitting_version",
    "gaussian_filter",
    "moment_filter",
    "range_filter",
    "remaining_count",
    "repetitions",
    "weighted_filter",
    "whitehouse_filter",
]

# A new filter adds one line here.
FILTERS: dict[str, Callable[..., Filter]] = {
    "basic": basic_filter,
    "whitehouse": whitehouse_filter,
    "range": range_filter,
    "zcdp": concentrated_filter,
    "gdp": gaussian_filter,
    "moment": moment_filter,
    "weighted": weighted_filter,
}


def filter_from_dict(described: object) -> Filter:
    """Read back what :meth:`Filter.to_dict` wrote; the limits are computed again.

    >>> filter_from_dict({"filter": "basic", "epsilon": 1.0, "delta": 0.0}).to_dict()
    {'filter': 'basic', 'epsilon': 1.0, 'delta': 0.0}
    """
    if not isinstance(described, dict) or not isinstance(described.get("filter"), str):
        raise InvalidParameter("filter", described, 'an object with a "filter"')
    kind = described["filter"]
    make = FILTERS.get(kind)
    if make is None:
        raise InvalidParameter("filter", kind, f"one of {', '.join(FILTERS)}")
    parameters: dict[str, Any] = {key: value for key, value in described.items() if key != "filter"}
    try:
        return make(**parameters)
    except InvalidParameter:
        raise
    except (TypeError, ValueError):
        raise InvalidParameter(kind, sorted(map(str, parameters)), _needed(kind)) from None


def _needed(kind: str) -> str:
    more = {"moment": ", order", "weighted": ", orders (pairs of an order and its share)"}
    kept = "" if kind == "basic" else ", and perhaps reserved"
    return f"given epsilon, delta{more.get(kind, '')}{kept}"
