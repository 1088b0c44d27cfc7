"""The best filter for a use that one expects: chosen once, before the first answer."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.filters.base import (
    DeltaMeter,
    Filter,
    FilterTarget,
    basic_filter,
    check_target,
)
from quaestor.accounting.filters.concentrated import concentrated_filter
from quaestor.accounting.filters.gaussian import gaussian_filter
from quaestor.accounting.filters.moments import (
    largest_point,
    moment_filter,
    rough_room,
    weighted_filter,
)
from quaestor.accounting.filters.squares import range_filter, whitehouse_filter
from quaestor.accounting.releases import Release
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.accounting.filters.base import Meter

__all__ = ["best_filter", "default_filter", "repetitions"]

_SIMPLE = (gaussian_filter, concentrated_filter, range_filter, whitehouse_filter)
_SPREAD = ((1.0, 0.5), (2.0, 0.25), (4.0, 0.125), (8.0, 0.125))  # of orders, with their shares
_STEPS = 24  # of the search for a division of delta
_COARSE, _FINE = 49, 33  # orders looked at


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
def _best(target: FilterTarget, expected: tuple[Release, ...]) -> Filter:
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


def _candidates(target: FilterTarget, expected: tuple[Release, ...]) -> Iterator[Filter]:
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


def _moments(target: FilterTarget, expected: tuple[Release, ...], own: float) -> Iterator[Filter]:
    epsilon, delta = target
    choice = _best_order(expected, epsilon=epsilon, delta=delta, own=own)
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


# The best order of a moment filter, by quick floats; any choice is sound.


class _OrderChoice(NamedTuple):
    """An order, and what is reserved of delta."""

    order: float
    reserved: float


def _best_order(
    expected: Sequence[Release], *, epsilon: float, delta: float, own: float
) -> _OrderChoice | None:
    """The order and the division of delta that let the most of the expected use through.

    ``own`` is the sum of the expected releases' deltas. None if no moments are known.
    """
    import numpy as np

    def choice(orders: Any) -> _OrderChoice | None:
        costs = _costs(expected, orders)
        with np.errstate(all="ignore"):
            gain = np.log1p(orders) + orders * np.log1p(1 / orders)

        def times(reserved: float) -> Any:
            slack = max(delta - reserved, 5e-324)
            with np.errstate(all="ignore"):
                reached = (orders * epsilon + math.log(slack) + gain) / costs
            return np.where(np.isfinite(reached), reached, -1.0)

        low, high = 0.0, delta * (1 - 1e-9) if own else 0.0
        for _ in range(40 if own else 0):
            middle = (low + high) / 2
            if middle / own < float(np.max(times(middle))):
                low = middle
            else:
                high = middle
        reached = times((low + high) / 2)
        best = int(np.argmax(reached))
        return _OrderChoice(float(orders[best]), (low + high) / 2) if reached[best] > 0 else None

    spacing = np.geomspace(1e-4, 1e8, _COARSE)
    ratio = float(spacing[1] / spacing[0])
    best = choice(spacing)
    while best is not None and ratio > 1.001:
        best = choice(best.order * np.geomspace(1 / ratio, ratio, _FINE)) or best
        ratio **= 4 / _FINE
    return best


def _costs(expected: Sequence[Release], orders: Any) -> Any:
    import numpy as np

    total = np.zeros(orders.shape)
    for release in expected:
        single, count = release.counted()
        total += count * single.rough_log_moments(orders)
    return np.where(np.isfinite(total) & (total > 0.0), total, np.inf)
