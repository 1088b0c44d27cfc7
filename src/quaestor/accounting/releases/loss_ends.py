"""Where the curve of one release ends: its largest finite loss, and what it tells outright.

Written from parameters alone; nothing here asks a law of the loss. A float is the binary number
that it is.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["NO_BOUND", "NO_LOSS", "Ends", "LossEnd", "exactly", "logarithm", "loss_of_sample"]

Ends = tuple[Fraction, Fraction]

_CACHED: Final = 4096


class LossEnd(NamedTuple):
    """The end of one release's curve in one direction; intervals, as some ends are irrational.

    ``largest`` is the largest finite loss (None if there is no bound); ``outright`` the
    probability of an infinite one.
    """

    largest: Ends | None
    outright: Ends = (Fraction(0), Fraction(0))


@lru_cache(maxsize=_CACHED)
def exactly(value: float | Fraction) -> Ends:
    """The interval of one number."""
    exact = Fraction(value)
    return exact, exact


NO_LOSS = LossEnd(exactly(0))
NO_BOUND = LossEnd(None)


def logarithm(value: Fraction, *, times: Fraction = Fraction(1)) -> Ends:
    """Enclose ``times * log(value)``."""
    from quaestor.accounting.numerics.balls import outward, rational, working_precision

    with working_precision(128):
        bounds = outward(rational(times) * rational(value).log())
    return Fraction(bounds.lower), Fraction(bounds.upper)


def loss_of_sample(loss: Ends, rate: Fraction) -> Ends:
    """Enclose ``log(1 + rate (e^loss - 1))``."""
    from quaestor.accounting.numerics.balls import outward, rational, working_precision

    def at(exact: Fraction) -> Bounds:
        with working_precision(256):
            if exact > 1:  # e^loss may be beyond every float
                kept = rational(1 - rate) * rational(-exact).exp() + rational(rate)
                return outward(rational(exact) + kept.log())
            return outward((rational(rate) * rational(exact).expm1()).log1p())

    return Fraction(at(loss[0]).lower), Fraction(at(loss[1]).upper)
