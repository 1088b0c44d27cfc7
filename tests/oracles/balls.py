"""Balls of many digits: what the oracles for the ends of floats compute in.

Arb's numbers have exponents without limit, so that nothing underflows, and a radius, so that
cancellation shows. What an oracle returns is an enclosure of the truth; where it is not narrow
enough to compare floats with, it is computed again with twice the precision.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor import Bounds

__all__ = ["ACCURATE", "NEGLIGIBLE", "ball", "contradicted", "positive_part", "precisely", "tail"]

ACCURATE = 96
"""Bits that every result has, unless it is below every float."""

NEGLIGIBLE = arb(2) ** -1300
"""What oracles leave out is less."""

_PRECISIONS = (192, 384, 768, 1536, 3072, 6144, 12288, 24576)
_BELOW_ALL_FLOATS = arb(2) ** -1400


def ball(number: float | Fraction | arb) -> arb:
    """The number as it is: floats are exact, fractions are rounded to the working precision."""
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    return arb(number)


def precisely(compute: Callable[[], arb]) -> arb:
    """What ``compute`` encloses, with as much precision as it takes."""
    before = ctx.prec
    try:
        for bits in _PRECISIONS:
            ctx.prec = bits
            found = compute()
            if found == 0 or found.rel_accuracy_bits() >= ACCURATE:
                return found
            if abs(found) < _BELOW_ALL_FLOATS:
                return found
        return found
    finally:
        ctx.prec = before


def positive_part(number: arb) -> arb:
    """The number, or zero where it is negative."""
    return arb(0) if number <= 0 else (number + abs(number)) / 2


def tail(place: arb) -> arb:
    """The probability that a standard normal variable exceeds ``place``."""
    return (place / arb(2).sqrt()).erfc() / 2


def contradicted(bounds: Bounds, truth: arb) -> str:
    """Which end of the bounds is certainly wrong, in words; empty where none is."""
    return "; ".join(_faults(bounds, truth))


def _faults(bounds: Bounds, truth: arb) -> Iterator[str]:
    if not truth.is_finite():
        yield f"the oracle does not know: {truth}"
        return
    if not bounds.lower <= bounds.upper:
        yield f"the ends {bounds.lower} and {bounds.upper} are not in order"
    if arb(bounds.upper) < truth and not truth < NEGLIGIBLE:
        yield f"upper end {bounds.upper!r} is below {truth.str(20)}"
    if arb(bounds.lower) > truth:
        yield f"lower end {bounds.lower!r} is above {truth.str(20)}"
