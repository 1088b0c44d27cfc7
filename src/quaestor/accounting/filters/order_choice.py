"""The best order of a moment filter for an expected use, by quick floats; any choice is sound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.releases import Release

__all__ = ["OrderChoice", "best_order"]

_COARSE, _FINE = 49, 33  # orders looked at


class OrderChoice(NamedTuple):
    """An order, and what is reserved of delta."""

    order: float
    reserved: float


def best_order(
    expected: Sequence[Release], *, epsilon: float, delta: float, own: float
) -> OrderChoice | None:
    """The order and the division of delta that let the most of the expected use through.

    ``own`` is the sum of the expected releases' deltas. None if no moments are known.
    """
    import numpy as np

    def choice(orders: Any) -> OrderChoice | None:
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
        return OrderChoice(float(orders[best]), (low + high) / 2) if reached[best] > 0 else None

    spacing = np.geomspace(1e-4, 1e8, _COARSE)
    ratio = float(spacing[1] / spacing[0])
    found = choice(spacing)
    while found is not None and ratio > 1.001:
        found = choice(found.order * np.geomspace(1 / ratio, ratio, _FINE)) or found
        ratio **= 4 / _FINE
    return found


def _costs(expected: Sequence[Release], orders: Any) -> Any:
    import numpy as np

    total = np.zeros(orders.shape)
    for release in expected:
        single, count = release.counted()
        total += count * single.rough_log_moments(orders)
    return np.where(np.isfinite(total) & (total > 0.0), total, np.inf)
