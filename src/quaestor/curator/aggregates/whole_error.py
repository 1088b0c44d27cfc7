"""The whole error of a figure: beside its noise, what inner limits cut of it.

A :class:`Cut` is a measure that limits cut, with its draws once it is priced. :class:`Missing` is
what the released figures say of it: an interval for what the answer lacks, group by group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.kernel.cut_measures import MOST_TIMES, Dropped, Excess
from quaestor.curator.kernel.measures import RowCount, Total, Units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.recipe import Noised
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure

    Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = [
    "Cut",
    "Missing",
    "OuterRows",
    "allotted",
    "cut_of",
    "largest_sum",
    "outer_measure",
]

_MOST_STEPS = 2**26  # of the kernel's totals
_UNSEEN = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What limits cut of a measure: by cell, and in cells in which a unit does not count.

    None where nothing can be cut. ``grows`` says that the outer limits never give less. ``outer``
    is the measure under outer limits.
    """

    inner: Counted
    outer: Counted
    excess: Excess | None
    dropped: Dropped | None
    grows: bool

    @property
    def step(self) -> float:
        """What one step is."""
        return self.inner.step if isinstance(self.inner, Total) else 1.0

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is drawn."""
        return tuple(each for each in (self.excess, self.dropped) if each is not None)

    def missing(self, noised: Mapping[Measure, Noised], groups: int) -> Missing:
        """What the released figures say of it, for so many groups."""
        return Missing(
            cut=self,
            groups=groups,
            excess=None if self.excess is None else noised[self.excess],
            dropped=None if self.dropped is None else noised[self.dropped],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """How much more a figure would be under outer limits."""

    cut: Cut
    groups: int
    excess: Noised | None
    dropped: Noised | None

    @property
    def error(self) -> float:
        """How uncertain it is, for a fair share of the risk."""
        held = (self.excess, self.dropped)
        return self.cut.step * math.fsum(x.scatter.standard_error for x in held if x is not None)

    def within(self, risk: float) -> Ends:
        """An interval that is missed with at most this probability.

        Guarantee:
            The excess is inside what its noise reaches, either way; no cell lacks more because of
            dropped cells than the one number for all of them, plus what its noise reaches.
        """
        low, high = np.zeros(self.groups), np.zeros(self.groups)
        errors = [0.0 if x is None else x.scatter.standard_error for x in self._both]
        risks = allotted(risk, errors)
        if self.excess is not None:
            reach = self.excess.scatter.reach(1 - risks[0])
            figures = self.excess.values.astype(np.float64)
            low, high = figures - reach, figures + reach
            if self.cut.grows:
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        if self.dropped is not None:
            reach = self.dropped.scatter.reach(1 - 2 * risks[1])  # one end of it is all that counts
            most = max(float(self.dropped.values[0]) + reach, 0.0)
            low, high = low - (0.0 if self.cut.grows else most), high + most
        wider = self.cut.step * (1 + _UNSEEN)
        return (
            np.where(low > 0, low * self.cut.step * (1 - _UNSEEN), low * wider),
            np.where(high > 0, high * wider, high * self.cut.step * (1 - _UNSEEN)),
        )

    @property
    def _both(self) -> tuple[Noised | None, Noised | None]:
        return self.excess, self.dropped


def allotted(risk: float, errors: Sequence[float]) -> list[float]:
    """A risk divided in proportion to errors, which makes the sum of exponential reaches least.

    >>> allotted(0.05, [3.0, 1.0])
    [0.037500000000000006, 0.0125]
    """
    total = math.fsum(errors)
    return [risk * error / total if total else risk / len(errors) for error in errors]


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterRows:
    """What is known of the rows of a question under outer limits.

    ``most`` rows of a unit are in a group. ``same`` says that outer limits make the same rows: only
    caps in a group, and bounds of the values that are added up, cut. ``moved`` says that conditions
    or keys may change with the values. ``drops`` says that a unit may be in more groups than it
    counts in.
    """

    most: int
    same: bool
    moved: bool
    drops: bool


def cut_of(
    inner: Counted, rows: OuterRows, bounds: tuple[float, float], *, centre: float = 0.0
) -> Cut:
    """What is cut of a measure, values being within outer ``bounds``.

    Of each value of a total, ``centre`` is taken off before it is added up.
    """
    outer, times = outer_measure(inner, rows.most, bounds, centre=centre)
    while times > MOST_TIMES and isinstance(inner, Total):  # bounds far apart: in coarser steps
        inner = replace(inner, low=inner.low // 2, high=-(-inner.high // 2), step=2 * inner.step)
        outer, times = outer_measure(inner, rows.most, bounds, centre=centre)
    low, high, most = _limits(inner, outer, times, rows, centre)
    return Cut(
        inner=inner,
        outer=outer,
        excess=Excess(inner=inner, outer=outer, low=low, high=high, times=times)
        if low < high
        else None,
        dropped=Dropped(outer=outer, most=most, times=times) if rows.drops and most else None,
        grows=low == 0 and (not isinstance(outer, Total) or outer.low >= 0),
    )


def outer_measure(
    inner: Counted, rows: int, bounds: tuple[float, float], *, centre: float = 0.0
) -> tuple[Counted, int]:
    """The measure under outer limits, and how many inner steps its step is."""
    if isinstance(inner, Units):
        return inner, 1
    if isinstance(inner, RowCount):
        return replace(inner, rows=max(rows, inner.rows)), 1
    first, last = ((end - centre) / inner.step for end in bounds)
    low, high = min(math.floor(first), inner.low), max(math.ceil(last), inner.high)
    times = 1
    while max(-low, high) > _MOST_STEPS * times:
        times *= 2
    return replace(
        inner,
        low=low // times,
        high=-(-high // times),
        step=inner.step * times,
        rows=max(rows, inner.rows),
    ), times


def largest_sum(inner: Total, outer: Total, times: int) -> int:
    """The most that a unit's values in one group add up to under outer limits, in inner steps.

    As many rows as the outer limit allows of values within the inner bounds, or as many rows as
    count of values within the outer ones: both at once is beyond the limits.
    """
    near = max(-inner.low, inner.high, 0)
    far = max(-outer.low, outer.high, 0) * times
    return max(outer.rows * near, inner.rows * far)


def _limits(
    inner: Counted, outer: Counted, times: int, rows: OuterRows, centre: float
) -> tuple[int, int, int]:
    """The least and the most that one unit can lack in a group, and the most that it can have."""
    if not (isinstance(inner, Total) and isinstance(outer, Total)):
        most = outer.sensitivity
        return (
            -inner.sensitivity * rows.moved,
            most - (inner.sensitivity if rows.same else 0),
            most,
        )
    middle = round(centre / inner.step)
    near = replace(inner, low=inner.low + middle, high=inner.high + middle)
    far = (outer.low * times + middle, outer.high * times + middle)
    least, greatest, most = _plain_limits(near, far, outer.rows, rows)
    if middle:  # what is lacking of the sum, less the centre of each row that is lacking
        fewer = -inner.rows * rows.moved
        more = outer.rows - (inner.rows if rows.same else 0)
        shifts = (-middle * fewer, -middle * more, 0)
        least, greatest = least + min(shifts), greatest + max(shifts)
        most += abs(middle) * outer.rows
    slack = 1 if times == 1 else 1 + outer.rows * times  # of rounding to whole steps
    return least - slack * (least < 0), greatest + slack * (greatest > 0), most


def _plain_limits(
    near: Total, far: tuple[int, int], most_rows: int, rows: OuterRows
) -> tuple[int, int, int]:
    """The same for a sum of values as they are."""
    low, high = far
    most = max(
        most_rows * max(-near.low, near.high, 0), near.rows * max(-low, high, 0)
    )  # as largest_sum says
    if not rows.same:
        grows = not rows.moved and near.low >= 0 and low >= near.low
        least = 0 if grows else min(0, max(-most, most_rows * low)) - max(0, near.most)
        return least, min(most, max(0, most_rows * high)) - min(0, near.least), most
    # The difference is linear in the number of rows between caps, and in values between bounds.
    corners = [0] + [
        count * value - min(count, near.rows) * min(max(value, near.low), near.high)
        for count in (1, near.rows, most_rows)
        for value in (low, near.low, 0, near.high, high)
        if low <= value <= high
    ]
    least, greatest = min(corners), max(corners)
    return max(least, -most - max(0, near.most)), min(greatest, most - min(0, near.least)), most
