"""The best filter for a use that one expects: chosen once, before the first answer."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.accounting.filters.base import Filter, Target, check_target
from quaestor.accounting.filters.basic import DeltaMeter, basic_filter
from quaestor.accounting.filters.concentrated import concentrated_filter
from quaestor.accounting.filters.conversion import largest_point, rough_room
from quaestor.accounting.filters.gaussian import gaussian_filter
from quaestor.accounting.filters.moments import moment_filter, weighted_filter
from quaestor.accounting.filters.order_choice import best_order
from quaestor.accounting.filters.squares import range_filter, whitehouse_filter
from quaestor.accounting.releases import Release
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.accounting.filters.meter import Meter

__all__ = ["best_filter", "default_filter", "repetitions"]

_SIMPLE = (gaussian_filter, concentrated_filter, range_filter, whitehouse_filter)
_SPREAD = ((1.0, 0.5), (2.0, 0.25), (4.0, 0.125), (8.0, 0.125))  # of orders, with their shares
_STEPS = 24  # of the search for a division of delta


def best_filter(*, epsilon: float, delta: float, expected: Sequence[Release] = ()) -> Filter:
    """The filter that lets the largest number of repetitions of the expected use through.

    Any filter is sound for any use; which one goes furthest depends on the use, and must be chosen
    in advance. All kinds are compared, moment filters at their best order, and each with the best
    division of delta between its own slack and the releases' deltas: nothing is reserved if no
    expected release has one. Several orders never go further than the best one of them, whose
    share of delta they lessen: they are for uses that nobody knows (:func:`default_filter`), which
    is what one gets without an expected use.

    >>> from quaestor.accounting.releases import Gaussian, PureDP
    >>> best_filter(epsilon=1.0, delta=1e-6, expected=[Gaussian(sigma=50.0)]).kind
    'gdp'
    >>> best_filter(epsilon=1.0, delta=1e-6, expected=[PureDP(epsilon=0.01)]).kind
    'moment'
    """
    target = check_target(epsilon=epsilon, delta=delta)
    listed = tuple(expected)
    for release in listed:
        if not isinstance(release, Release):
            raise InvalidParameter("expected", release, "releases, such as PureDP(epsilon=0.1)")
    return _best(target, listed)


@lru_cache(maxsize=32)
def _best(target: Target, expected: tuple[Release, ...]) -> Filter:
    if not expected:
        return default_filter(epsilon=target.epsilon, delta=target.delta)
    best, most = basic_filter(epsilon=target.epsilon, delta=target.delta), Fraction(-1)
    for candidate in _candidates(target, expected):
        reached = repetitions(candidate, expected)
        if reached == math.inf:
            return candidate
        if reached > most:
            best, most = candidate, Fraction(reached)
    if most == 0:  # nothing of it fits any filter: be ready for something else
        return default_filter(epsilon=target.epsilon, delta=target.delta)
    return best


def default_filter(*, epsilon: float, delta: float) -> Filter:
    """Ready for anything: several orders, from the one for many small releases up.

    Half of delta is reserved for the releases' own deltas. Without any delta only epsilons are
    left to add up.

    >>> [meter.key for meter in default_filter(epsilon=1.0, delta=1e-6).some]
    ['epsilon', 'moment 23.53', 'moment 47.07', 'moment 94.14', 'moment 188.3']
    """
    target = check_target(epsilon=epsilon, delta=delta)
    if target.delta == 0.0:
        return basic_filter(epsilon=target.epsilon, delta=0.0)
    slack = Fraction(target.delta) / 4

    def rough(order: float) -> float:
        return rough_room(order, epsilon=target.epsilon, slack=slack) / (order * (order + 1))

    middle = min(max(largest_point(rough), 1e-6), 1e12)
    orders = tuple((_digits(middle * factor, 4), share) for factor, share in _SPREAD)
    return weighted_filter(
        epsilon=target.epsilon, delta=target.delta, orders=orders, reserved=target.delta / 2
    )


def repetitions(filter_: Filter, expected: Sequence[Release]) -> Fraction | float:
    """How often the expected use fits, as a real number; infinity if it costs nothing.

    >>> from quaestor.accounting.releases import PureDP
    >>> expected = [PureDP(epsilon=0.25), PureDP(epsilon=0.5)]
    >>> repetitions(basic_filter(epsilon=1.0, delta=0.0), expected)
    Fraction(4, 3)
    """

    def times(meter: Meter) -> Fraction | float:
        cost = meter.cost(expected)
        if cost is None or meter.limit < 0:
            return Fraction(0)
        return math.inf if cost == 0 else meter.limit / cost

    every = min(map(times, filter_.every), default=math.inf)
    return min(every, max(map(times, filter_.some), default=math.inf))


def _candidates(target: Target, expected: tuple[Release, ...]) -> Iterator[Filter]:
    """One filter of each kind, the simplest first, each with its best division of delta."""
    epsilon, delta = target
    yield basic_filter(epsilon=epsilon, delta=delta)
    if delta == 0.0:
        return
    own = DeltaMeter(limit=Fraction(1)).cost(expected)
    if own is None:
        return
    for make in _SIMPLE:
        meter = make(epsilon=epsilon, delta=delta).some[-1]
        cost = meter.cost(expected)
        if cost is None:
            continue

        def limit(reserved: float, make: Callable[..., Filter] = make) -> float:
            return float(make(epsilon=epsilon, delta=delta, reserved=reserved).some[-1].limit)

        reserved = _division(limit, float(cost), float(own), delta)
        yield make(epsilon=epsilon, delta=delta, reserved=reserved)
    yield from _moments(target, expected, float(own))


def _moments(target: Target, expected: tuple[Release, ...], own: float) -> Iterator[Filter]:
    epsilon, delta = target
    choice = best_order(expected, epsilon=epsilon, delta=delta, own=own)
    if choice is None:
        return
    order, reserved = _digits(choice.order, 6), choice.reserved
    try:
        yield moment_filter(epsilon=epsilon, delta=delta, order=order, reserved=reserved)
    except InvalidParameter:
        return  # so little delta is left at that order that nothing fits


def _division(limit: Callable[[float], float], cost: float, own: float, delta: float) -> float:
    """What to reserve, so that slack and reserve run out together; the search is by halves."""
    if own == 0.0 or cost == 0.0:
        return 0.0 if own == 0.0 else delta / 2
    low, high = 0.0, delta * (1 - 1e-9)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle / own * cost < limit(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")
