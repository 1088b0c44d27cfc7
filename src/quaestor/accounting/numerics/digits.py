"""Numbers for people: few digits, rounded to the safe side. The one place that decides how.

A bound that was computed is rounded up to four digits (down, where it is a lower bound or what is
left), so that the text never promises more than is certified.

A number that is what was typed is printed as typed: `1.6`, not `1.601`. Decimals are read as the
nearest float, which moves them by up to one part in 2**53, and sums of such floats are rounded
outwards once more. So a value within one part in 2**50 of a decimal of at most seven digits is
printed as that decimal, on whichever side of it the value is. This is the only way in which a text
can be below an upper bound: by less than one part in 10**15, as little as reading the input may
have added. ``--json`` and ``--verbose`` print the certified floats themselves. See
``docs/decisions/0007-numbers-for-people.md``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIGITS", "READING", "TO_TYPE", "rounded", "rounded_down", "rounded_up", "typed"]

DIGITS = 4
"""How many digits a computed bound has."""

READING = Fraction(1, 2**50)
"""How far, relatively, a value may be from a short decimal and still be printed as that decimal."""

TO_TYPE = 7
"""How many digits people type at most; how many they get where they compare or copy numbers."""

_SMALLEST, _LARGEST = -4, 15  # powers of ten that are written without an exponent


def rounded_up(value: float | Fraction, *, digits: int = DIGITS, grouped: bool = False) -> str:
    """How an upper bound is shown: never below the value, but for the reading of decimals.

    >>> rounded_up(2.3693499904), rounded_up(0.19999834), rounded_up(1e-6), rounded_up(0.12345)
    ('2.37', '0.2', '1e-6', '0.12345')
    >>> rounded_up(52 * Fraction(0.05) + 12 * Fraction(0.2) + Fraction(0.5))
    '5.5'
    """
    return _shown(value, math.ceil, digits, grouped=grouped)


def rounded_down(value: float | Fraction, *, digits: int = DIGITS, grouped: bool = False) -> str:
    """How a lower bound, or what is left, is shown: never above the value, likewise.

    >>> rounded_down(2.3693499904), rounded_down(1 - Fraction(0.1)), rounded_down(Fraction(1, 3))
    ('2.369', '0.9', '0.3333')
    """
    return _shown(value, math.floor, digits, grouped=grouped)


def rounded(value: float | Fraction, *, digits: int = DIGITS, grouped: bool = False) -> str:
    """How an estimate is shown, for which neither side is the safe one.

    >>> rounded(9.67756), rounded(16442507.5, grouped=True)
    ('9.678', '16,440,000')
    """
    return _shown(value, round, digits, grouped=grouped)


def typed(value: float) -> str:
    """A number that was given, in full: the shortest text that reads back as the same float.

    >>> typed(1.0), typed(1e-06), typed(1.2345649), typed(math.inf)
    ('1', '1e-6', '1.2345649', 'inf')
    """
    return repr(value) if math.isinf(value) else _text(Decimal(repr(float(value))), grouped=False)


def _shown(
    value: float | Fraction, rule: Callable[[Fraction], int], digits: int, *, grouped: bool
) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    exact = Fraction(value)
    if not exact:
        return "0"
    typed = _cut(exact, round, TO_TYPE)
    as_typed = rule is not round and abs(Fraction(typed) - exact) <= READING * abs(exact)
    return _text(typed if as_typed else _cut(exact, rule, digits), grouped=grouped)


def _cut(exact: Fraction, rule: Callable[[Fraction], int], digits: int) -> Decimal:
    """The value in so many digits, by a rule that rounds to whole numbers."""
    place = _magnitude(abs(exact)) - digits + 1
    return Decimal(rule(exact / Fraction(10) ** place)).scaleb(place)


def _magnitude(exact: Fraction) -> int:
    """The power of ten of the first digit."""
    guess = len(str(exact.numerator)) - len(str(exact.denominator))
    return guess if Fraction(10) ** guess <= exact else guess - 1


def _text(value: Decimal, *, grouped: bool) -> str:
    short = value.normalize()
    if short and not _SMALLEST <= short.adjusted() < _LARGEST:
        return f"{short:e}".replace("e+", "e")
    return f"{short:,f}" if grouped else f"{short:f}"
