"""What is known of an expression without looking at data: its kind, and where its values lie.

Three things are known of numbers. ``low`` and ``high`` are where they lie by declaration, and what
sums and means are bounded by. ``most`` is a size that none exceeds whatever happens; it may be
finite where the bounds are not. ``grain`` says that all are multiples of ``2 ** grain``: products
of such numbers cannot become too small for a float, which some engines take for an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from quaestor.curator.language.functions import NUMBERS

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import ColumnFacts
    from quaestor.curator.language.expressions import Constant, Kind, Value

__all__ = [
    "FINEST_GRAIN",
    "LARGEST",
    "SMALLEST_GRAIN",
    "Facts",
    "constant_facts",
    "declared_facts",
    "default_step",
    "grain_of",
    "number_facts",
]

LARGEST: Final = 1e15
"""No number that is reckoned with may be larger: engines overflow, and floats lose whole ones."""
FINEST_GRAIN: Final = -400
"""No multiple of ``2 ** grain`` below this: floats end at ``2 ** -1074``."""
SMALLEST_GRAIN: Final = -94
"""That of floats that are 0 or at least 2^-40 in magnitude, as texts and plain reals are read."""
_MOST_STEPS: Final = 2**20
_FINEST: Final = -300  # no step is smaller than two to this power
_MANTISSA: Final = 53


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the values of an expression."""

    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    most: float = math.inf
    grain: int = 0
    nullable: bool = True
    keys: tuple[Value, ...] | None = None
    """The values that are shown when rows are grouped by it."""
    step: float | None = None
    """The declared granularity, of a bare column."""
    unit: bool = False
    """Whether it says whom a row is about."""

    @property
    def number(self) -> bool:
        """Whether one can reckon with it."""
        return self.kind in NUMBERS

    @property
    def bounded(self) -> bool:
        """Whether a sum of it can be protected."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def between(self, low: float, high: float) -> Facts:
        """The same, known to lie between these too."""
        low, high = max(self.low, low), min(self.high, high)
        if low > high:  # nothing is left: any point will do
            low = high = min(max(self.low, high), self.high)
        most = max(abs(low), abs(high)) if math.isfinite(high - low) else self.most
        return replace(self, low=low, high=high, most=min(self.most, most))


def number_facts(kind: Kind, low: float, high: float, *, grain: int, nullable: bool) -> Facts:
    """Facts about a number between two others."""
    most = max(abs(low), abs(high))
    return Facts(kind=kind, low=low, high=high, most=most, grain=grain, nullable=nullable)


def grain_of(number: float) -> int:
    """The largest grain not above 0 that the number is a multiple of."""
    return 1 - float(number).as_integer_ratio()[1].bit_length()


def default_step(low: float, high: float) -> float:
    """The power of two that cuts the larger of two bounds into at most 2^20 steps."""
    most = max(abs(low), abs(high))
    if most <= 0:
        return 1.0
    step = max(most / _MOST_STEPS, 2.0**_FINEST)
    return 2.0 ** math.ceil(math.log2(step))


def constant_facts(constant: Constant) -> Facts:
    """Everything is known of a constant."""
    value = constant.value
    if value is None or constant.kind not in NUMBERS or isinstance(value, str):
        return Facts(kind=constant.kind, nullable=value is None)
    return number_facts(constant.kind, value, value, grain=grain_of(value), nullable=False)


def declared_facts(column: ColumnFacts, *, unit: bool = False) -> Facts:
    """What the catalog says of a column, as it is read.

    Numbers are moved into declared bounds when they are read. Reals are rounded to their
    granularity; without one they stay as they are, but below 2^-40 they are 0.
    """
    if column.kind not in NUMBERS:
        return Facts(kind=column.kind, keys=column.keys, nullable=not unit, unit=unit)
    low = -math.inf if column.low is None else column.low
    high = math.inf if column.high is None else column.high
    step = column.granularity
    return Facts(
        kind=column.kind,
        low=low,
        high=high,
        most=max(abs(low), abs(high)),
        grain=_grain_of_steps(column.kind, step, low, high),
        nullable=not unit,
        keys=column.keys,
        step=step,
        unit=unit,
    )


def _grain_of_steps(kind: Kind, step: float | None, low: float, high: float) -> int:
    if kind == "integer":
        return 0
    if step is None:
        return SMALLEST_GRAIN
    fraction, exponent = math.frexp(step)
    own = exponent - 1 if fraction == 0.5 else exponent - _MANTISSA  # tenths end in rounded bits
    ends = [grain_of(end) for end in (low, high) if math.isfinite(end)]
    return min(own, 0, *ends)
