"""The whole error of a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.kernel.measures import RowCount, Units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.whole_error import Ends, Missing

__all__ = ["whole_mean"]


def whole_mean(
    figures: tuple[NDArray[np.float64], NDArray[np.float64]],
    reaches: tuple[Any, Any],
    missing: Sequence[Missing],
    *,
    risk: float,
) -> Ends:
    """The quotients of all centred totals and rows that are possible under outer limits.

    ``reaches`` are how far these two are off, each but for an eighth of the risk.
    """
    (total, count), (off, astray) = figures, reaches
    (low, high), (fewer, more) = (each.within(3 * risk / 8) for each in missing)
    low, high = total - off + low, total + off + high
    fewer, more = count - astray + fewer, count + astray + more
    outer = missing[0].cut.outer
    assert not isinstance(outer, Units | RowCount)  # noqa: S101  # the first is of the total
    least, most = outer.low * outer.step, outer.high * outer.step
    few, many = np.maximum(fewer, 1.0), np.maximum(more, 1.0)
    lower = np.where(low < 0, low / few, low / many)
    upper = np.where(high > 0, high / few, high / many)
    none = fewer < 1
    return (
        np.where(none, least, np.clip(lower, least, most)),
        np.where(none, most, np.clip(upper, least, most)),
    )
