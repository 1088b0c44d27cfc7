"""What a privacy filter is: it lets releases through, chosen as one likes, up to a fixed total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from quaestor.accounting.filters.meter import Meter

__all__ = ["Filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A fully adaptive privacy filter: ``(epsilon, delta)`` holds whenever one stops.

    Analysts may choose every release, its parameters and the moment to stop by all answers so far.
    A history fits as long as every meter of ``every`` is within its limit, and, if there are any,
    at least one of ``some`` is (each of those has its own share of delta, fixed in advance).
    """

    kind: str
    epsilon: float
    delta: float
    every: tuple[Meter, ...]
    some: tuple[Meter, ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()
    """All that is needed beside kind, epsilon and delta to make the same filter again."""

    def fits(self, totals: Mapping[Meter, Fraction | None]) -> bool:
        """Whether a history with these totals is within the promise."""

        def within(meter: Meter) -> bool:
            total = totals[meter]
            return total is not None and total <= meter.limit

        return all(map(within, self.every)) and (not self.some or any(map(within, self.some)))
