"""Privacy filters: promises that hold when analysts choose everything as they go."""

from __future__ import annotations

from quaestor.accounting.filters.base import Filter
from quaestor.accounting.filters.basic import DeltaMeter, EpsilonMeter, basic_filter
from quaestor.accounting.filters.concentrated import RhoMeter, concentrated_filter
from quaestor.accounting.filters.filter_choice import best_filter, default_filter, repetitions
from quaestor.accounting.filters.gaussian import GaussianMeter, gaussian_filter
from quaestor.accounting.filters.kinds import FILTERS, filter_from_dict
from quaestor.accounting.filters.meter import Meter
from quaestor.accounting.filters.moments import MomentMeter, moment_filter, weighted_filter
from quaestor.accounting.filters.odometer import Odometer, Reading
from quaestor.accounting.filters.squares import (
    RangeMeter,
    SquaresMeter,
    range_filter,
    whitehouse_filter,
)
from quaestor.accounting.filters.what_fits import fitting_version, remaining_count

__all__ = [
    "FILTERS",
    "DeltaMeter",
    "EpsilonMeter",
    "Filter",
    "GaussianMeter",
    "Meter",
    "MomentMeter",
    "Odometer",
    "RangeMeter",
    "Reading",
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
