"""From a column of numbers to a released figure: counts, sums and means.

Every entry is moved into declared bounds and to the nearest multiple of the granularity by itself,
and the multiples are added up as whole numbers: no order of the rows and no rounding of a sum can
betray a row. One row more, or one fewer, moves the sum by at most the larger bound; a mechanism
whose sensitivity is smaller than that is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.grid import on_grid, steps_across, values_on_grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release
    from quaestor.mechanisms.base import AdditiveNoise, DescribedMechanism

__all__ = ["CONFIDENCE", "Figure", "release_count", "release_mean", "release_sum", "release_value"]

CONFIDENCE = 0.95
"""That of the errors of figures."""

_LARGEST_STEPS = 2**53  # which floats hold exactly


class Figure(NamedTuple):
    """A released figure: how far off it is, and the description of all that was drawn for it.

    ``error`` is where ``released`` less the truth lies with 95 % confidence, if that is known.

    >>> from quaestor.mechanisms import Geometric
    >>> figure = release_count(Geometric(scale=10.0), [1, 2, 3])
    >>> len(figure.losses), isinstance(figure.released, int)
    (1, True)
    """

    released: int | float
    standard_error: float
    error: Bounds | None
    losses: tuple[Release, ...]


def release_value(mechanism: DescribedMechanism, value: float) -> Figure:
    """One value, as it is."""
    return Figure(
        released=mechanism.release(value),
        standard_error=mechanism.standard_error,
        error=mechanism.error(confidence=CONFIDENCE),
        losses=(mechanism.loss,),
    )


def release_count(mechanism: AdditiveNoise, values: ArrayLike) -> Figure:
    """How many entries there are; one row moves this by 1.

    >>> from quaestor.mechanisms import Geometric
    >>> release_count(Geometric(scale=10.0), [34, 51, 29]).losses
    (Geometric(scale=10.0, sensitivity=1),)
    """
    _check_sensitivity(mechanism, 1.0)
    return release_value(mechanism, np.asarray(values).size)


def release_sum(mechanism: AdditiveNoise, values: ArrayLike, *, low: float, high: float) -> Figure:
    """The sum of the entries, each moved into ``[low, high]``.

    >>> from quaestor.mechanisms import Geometric
    >>> noise = Geometric(scale=1200.0, sensitivity=120)
    >>> total = release_sum(noise, [34, 51, 178], low=0, high=120)
    >>> print(*total.losses)
    Geometric(scale=1200.0, sensitivity=120)
    """
    step = mechanism.step
    _check_sensitivity(mechanism, max(abs(end) for end in _bounds(low, high, step)) * step)
    steps = _steps(values, low, high, step)
    return release_value(mechanism, _total(sum(steps), step))


def release_mean(mechanism: AdditiveNoise, values: ArrayLike, *, low: float, high: float) -> Figure:
    """The mean of the entries, each moved into ``[low, high]``.

    Two releases: the sum of the entries' differences from the middle of the bounds, which has
    half their distance as its sensitivity, and the count, with the same noise in proportion to
    its sensitivity of 1. The mean is a function of these two; the standard error is estimated
    from them.

    >>> from quaestor.mechanisms import Geometric
    >>> noise = Geometric(scale=600.0, sensitivity=60)
    >>> print(*release_mean(noise, [34, 51, 178], low=0, high=120).losses, sep=" + ")
    Geometric(scale=600.0, sensitivity=60) + Geometric(scale=10.0, sensitivity=1)
    """
    step = mechanism.step
    first, last = _bounds(low, high, step)
    middle = (first + last) // 2
    _check_sensitivity(mechanism, (last - middle) * step)
    steps = _steps(values, low, high, step)
    counting = mechanism.for_counts()
    total = _total(sum(steps) - middle * len(steps), step)
    differences = release_value(mechanism, total).released
    people = max(counting.release(len(steps)), 1)
    mean = middle * step + differences / people
    spread = max(abs(mean - middle * step), 0.0) * counting.standard_error
    return Figure(
        released=min(max(mean, low), high),
        standard_error=(mechanism.standard_error**2 + spread**2) ** 0.5 / people,
        error=None,
        losses=(mechanism.loss, counting.loss),
    )


def _check_sensitivity(mechanism: AdditiveNoise, needed: float) -> None:
    step = mechanism.step
    if steps_across(mechanism.sensitivity, step) * step < needed:
        raise InvalidParameter(
            "sensitivity", mechanism.sensitivity, f"at least {needed:g}, which one row may move"
        )


def _bounds(low: float, high: float, step: float) -> tuple[int, int]:
    first = on_grid(check_real("low", low, low=-1e150, high=1e150), step)
    last = on_grid(check_real("high", high, low=-1e150, high=1e150), step)
    if not first < last:
        raise InvalidParameter("high", high, "above low, by a step of the granularity at least")
    return first, last


def _steps(values: ArrayLike, low: float, high: float, step: float) -> list[int]:
    """The entries as whole numbers of steps, inside the bounds."""
    first, last = _bounds(low, high, step)
    steps: list[int] = np.clip(values_on_grid(values, step), first, last).ravel().tolist()
    return steps


def _total(steps: int, step: float) -> int | float:
    if step == 1.0:
        return steps
    if not abs(steps) <= _LARGEST_STEPS:
        raise InvalidParameter("granularity", step, "coarser: the sum has over 2^53 steps")
    return steps * step
