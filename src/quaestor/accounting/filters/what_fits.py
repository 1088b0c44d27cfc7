"""What would still fit: how often the same release, and the strongest weaker version of it."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import LARGEST_COUNT
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from quaestor.accounting.filters.base import Filter, Meter
    from quaestor.accounting.releases import Release
    from quaestor.accounting.releases.base import Strength

__all__ = ["fitting_version", "remaining_count"]

_DIGITS = 6
_WEAKEST = 2.0**-60  # of the strength that was asked for
_STEPS = 48


def remaining_count(
    filter_: Filter, totals: Mapping[Meter, Fraction | None], release: Release
) -> int:
    """How many more times the release fits after a history with these totals.

    ``LARGEST_COUNT`` if it costs nothing. A repeated release counts as a whole.

    >>> from fractions import Fraction
    >>> from quaestor.accounting.filters import basic_filter
    >>> from quaestor.accounting.releases import PureDP
    >>> one = basic_filter(epsilon=1.0, delta=0.0)
    >>> remaining_count(one, dict.fromkeys(one.meters, Fraction(0)), PureDP(epsilon=0.1))
    9
    """

    def times(meter: Meter) -> int:
        total, cost = totals[meter], meter.cost([release])
        if total is None or cost is None or total > meter.limit:
            return 0
        return LARGEST_COUNT if cost == 0 else int((meter.limit - total) // cost)

    counts = [*map(times, filter_.every)]
    if filter_.some:
        counts.append(max(map(times, filter_.some)))
    return min(*counts, LARGEST_COUNT)


def fitting_version(release: Release, fits: Callable[[Release], bool]) -> Release | None:
    """The strongest version of a release that fits: less epsilon, or more noise, else the same.

    ``fits`` must say yes to weaker versions of what it says yes to. The parameter has at most six
    digits, on the safe side, and the version that is returned was asked about and fits. None where
    no version does, or where the kind has no single strength. A count stays as it is.

    >>> from quaestor.accounting.releases import PureDP
    >>> print(fitting_version(PureDP(epsilon=1.0), lambda some: some.epsilon < 1 / 3))
    PureDP(epsilon=0.333333)
    """
    single, count = release.counted()
    if single.strength is None:
        return None
    if fits(release):
        return release
    weaker = _searched(single, single.strength, lambda one: fits(one * count))
    return None if weaker is None else weaker * count


def _searched(
    release: Release, strength: Strength, fits: Callable[[Release], bool]
) -> Release | None:
    asked = float(getattr(release, strength.field))
    sign = 1 if strength.more_tells_more else -1

    def version(value: float) -> Release | None:
        try:
            weaker: Release = replace(release, **{strength.field: value})  # type: ignore[type-var]
        except InvalidParameter:
            return None  # beyond what this kind can describe
        return weaker if fits(weaker) else None

    low, high = math.log(_WEAKEST), 0.0  # logarithms of the share of the strength
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if version(asked * math.exp(sign * middle)) is None:
            high = middle
        else:
            low = middle
    value = Decimal(asked * math.exp(sign * low))
    safe, bold = (ROUND_FLOOR, ROUND_CEILING) if sign > 0 else (ROUND_CEILING, ROUND_FLOOR)

    def rounded(rounding: str) -> Release | None:
        return version(float(Context(prec=_DIGITS, rounding=rounding).create_decimal(value)))

    return rounded(bold) or rounded(safe)  # the search ends a little below a round number that fits
