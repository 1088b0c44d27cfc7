"""What a privacy filter is: it lets releases through, chosen as one likes, up to a fixed total."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.releases.base import LARGEST_EPSILON, check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.accounting.filters.meter import Meter

__all__ = ["Filter", "Target", "check_target", "slack_of"]


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

    @property
    def meters(self) -> tuple[Meter, ...]:
        """All of them: those that must be within their limits, then those of which one must."""
        return (*self.every, *self.some)

    def fits(self, totals: Mapping[Meter, Fraction | None]) -> bool:
        """Whether a history with these totals is within the promise."""

        def within(meter: Meter) -> bool:
            total = totals[meter]
            return total is not None and total <= meter.limit

        return all(map(within, self.every)) and (not self.some or any(map(within, self.some)))

    def words(self) -> str:
        """What is promised, to whom, what may be chosen, and how delta is divided."""
        from quaestor.accounting.filters.words import words_of

        return words_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Kind and parameters as plain JSON values; the limits follow from them.

        :func:`~quaestor.accounting.filters.kinds.filter_from_dict` reads it back.
        """
        described = {name: _plain(value) for name, value in self.parameters}
        return {"filter": self.kind, "epsilon": self.epsilon, "delta": self.delta, **described}


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


class Target(NamedTuple):
    """A promise: an epsilon, and a delta."""

    epsilon: float
    delta: float


def check_target(*, epsilon: float, delta: float) -> Target:
    """Both as floats in their ranges, or :class:`~quaestor.errors.InvalidParameter`."""
    return Target(
        check_real("epsilon", epsilon, low=0.0, high=LARGEST_EPSILON),
        check_real("delta", delta, low=0.0, high=1.0),
    )


def slack_of(*, delta: float, reserved: float) -> Fraction:
    """What is left of delta beside what is reserved for the releases' own: it must be something."""
    kept = check_real("reserved", reserved, low=0.0, high=1.0)
    if not kept < delta:
        raise InvalidParameter("reserved", reserved, f"below delta, which is {delta!r}")
    return Fraction(delta) - Fraction(kept)
