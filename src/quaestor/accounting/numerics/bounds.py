"""Certified intervals: the only kind of number the accountant hands out.

>>> interval = Bounds(lower=0.1, upper=0.25)
>>> 0.2 in interval, 0.3 in interval
(True, False)
>>> interval.width
0.15
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

from quaestor.errors import InvalidParameter

__all__ = ["Bounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A closed interval that is certain to contain the truth.

    Guarantee:
        ``lower <= truth <= upper``, rounding included. Report ``upper`` where too small would be
        a privacy bug; ``lower`` says how much that could still be improved.

    ``missed_width`` is the relative width that was asked for, if the interval is wider than that;
    and else None.

    >>> bounds = Bounds(lower=0.5, upper=0.75)
    >>> bounds.width, 0.6 in bounds
    (0.25, True)
    >>> print(bounds.held_against(width=0.1))
    [0.5, 0.75] (0.33 wide; 0.1 was asked for)
    """

    lower: float
    upper: float
    missed_width: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse what is not an interval."""
        if not self.lower <= self.upper:
            raise InvalidParameter("bounds", (self.lower, self.upper), "ordered, and not NaN")

    @classmethod
    def exactly(cls, value: float) -> Self:
        """The interval of one point."""
        return cls(lower=value, upper=value)

    def __contains__(self, value: Any) -> bool:
        """Whether ``value`` (any exact number: float, Fraction, mpf) lies inside."""
        return bool(self.lower <= value) and bool(value <= self.upper)

    @property
    def width(self) -> float:
        """``upper - lower``, rounded up; 0 for a point, even an infinite one."""
        if self.lower == self.upper:
            return 0.0
        if math.isinf(self.lower) or math.isinf(self.upper):
            return math.inf
        width = self.upper - self.lower
        if math.isinf(width):
            return width
        # what rounding took away, exactly [Knuth's sum of two]; nan near the largest floats
        back = self.upper - width
        lost = (self.upper - (width + back)) + (back - self.lower)
        return width if lost <= 0.0 else math.nextafter(width, math.inf)

    @property
    def relative_width(self) -> float:
        """The width as a share of the upper end (0 for a point)."""
        width = self.width
        if width == 0.0:
            return 0.0
        return math.inf if math.isinf(width) or self.upper == 0.0 else width / abs(self.upper)

    def held_against(self, *, width: float) -> Bounds:
        """The same, which says so if its relative width is more than ``width``."""
        return replace(self, missed_width=width if self.relative_width > width else None)

    def overlaps(self, other: Bounds) -> bool:
        """Whether some point lies in both: two certified answers to one question always do."""
        return self.lower <= other.upper and other.lower <= self.upper

    def intersection(self, other: Bounds) -> Bounds:
        """What two certified intervals for the same truth say together."""
        return Bounds(lower=max(self.lower, other.lower), upper=min(self.upper, other.upper))

    def up_to(self, worst: Bounds) -> Bounds:
        """From the lower end of what is certainly lost up to the upper end of what is lost."""
        return Bounds(lower=min(self.lower, worst.upper), upper=worst.upper)

    def widened(self, *, ulps: int) -> Bounds:
        """The interval moved outward by so many units in the last place at each end."""
        lower, upper = self.lower, self.upper
        for _ in range(ulps):
            lower, upper = math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)
        return Bounds(lower=lower, upper=upper)

    def clipped(self, low: float, high: float) -> Bounds:
        """The part inside ``[low, high]``, for a truth that is known to lie there."""
        return Bounds(
            lower=min(max(self.lower, low), high),
            upper=max(min(self.upper, high), low),
        )

    def __repr__(self) -> str:
        """As it is made; a width that was missed is said."""
        missed = "" if self.missed_width is None else f", missed_width={self.missed_width!r}"
        return f"{type(self).__name__}(lower={self.lower!r}, upper={self.upper!r}{missed})"

    def __str__(self) -> str:
        """Both ends in full, like ``[2.369349990465166, 2.3693499904651665]``."""
        ends = f"[{self.lower!r}, {self.upper!r}]"
        return ends if self.missed_width is None else f"{ends} ({self.shortfall})"

    @property
    def shortfall(self) -> str:
        """How wide it is and should have been, in words; empty if nothing was missed."""
        if self.missed_width is None:
            return ""
        return f"{self.relative_width:.2g} wide; {self.missed_width:g} was asked for"
