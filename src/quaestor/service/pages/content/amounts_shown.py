"""Amounts as pages show them: few digits, rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import isfinite
from typing import Any

from quaestor.curator.answers.shown import shown_value
from quaestor.ledger.price import MANY

__all__ = ["FILTERS", "down", "figure", "many", "moment", "percent_down", "up"]

_DIGITS = 4
_FLOATS = Decimal("1e-14")
_SMALL, _LARGE = Decimal("0.0001"), Decimal(10) ** 15


def up(value: Any) -> str:
    """An amount that must not look smaller than it is.

    >>> up(0.324452), up(4.9999928), up(None), up(1e-7)
    ('0.3245', '5', '-', '1e-7')
    """
    return _rounded(value, ROUND_CEILING)


def down(value: Any) -> str:
    """An amount that must not look larger than it is.

    >>> down(999.67554), down(0), down(4.9999999999999998e-7)
    ('999.6', '0', '5e-7')
    """
    return _rounded(value, ROUND_FLOOR)


def near(value: Any) -> str:
    """An amount for which neither side is safe.

    >>> near(9.67756)
    '9.678'
    """
    return _rounded(value, ROUND_HALF_EVEN)


def _rounded(value: Any, rounding: str) -> str:
    if value is None or isinstance(value, str):
        return "-" if value is None else "no finite amount"
    if not isfinite(value):
        return "no finite amount"
    exact = Decimal(value)
    if not exact:
        return "0"
    places = exact.adjusted() - _DIGITS + 1
    nearest = exact.quantize(Decimal(1).scaleb(places), rounding=ROUND_HALF_EVEN)
    short = exact.quantize(Decimal(1).scaleb(places), rounding=rounding)
    if abs(nearest - exact) <= abs(exact) * _FLOATS:  # the float beside a short number
        short = nearest
    if short and not _SMALL <= abs(short) < _LARGE:
        return f"{short.normalize():e}".replace("e+", "e")
    return f"{short.normalize():,f}"


def percent_down(share: float) -> str:
    """A share that is left, in per cent, rounded down to a tenth.

    >>> percent_down(0.95263), percent_down(1.0)
    ('95.2 %', '100 %')
    """
    tenths = Decimal(min(max(share, 0.0), 1.0) * 1000).to_integral_value(rounding=ROUND_FLOOR)
    return f"{(tenths / 10).normalize():f} %"


def many(count: int) -> str:
    """How many fit.

    >>> many(41), many(10**15)
    ('41', 'any number')
    """
    return "any number" if count >= MANY else f"{count:,}"


def figure(value: Any) -> str:
    """A figure of an answer; large ones are not written with exponents.

    >>> figure(1644250.75), figure(1234.5), figure(17576)
    ('1,644,250', '1,234.5', '17,576')
    """
    if isinstance(value, float) and 1e6 <= abs(value) < _LARGE:
        value = float(f"{value:.6g}")
    return shown_value(value)


def moment(time: str | None) -> str:
    """A time of the ledger, to the second.

    >>> moment("2026-11-17T23:08:45.916417Z")
    '2026-11-17 23:08:45'
    """
    return "" if not time else time[:19].replace("T", " ")


FILTERS = {
    "up": up,
    "down": down,
    "near": near,
    "percent_down": percent_down,
    "many": many,
    "figure": figure,
    "moment": moment,
}
