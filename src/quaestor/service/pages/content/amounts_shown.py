"""Amounts as pages show them: few digits, rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded, rounded_down, rounded_up
from quaestor.curator.answers.shown import shown_value
from quaestor.ledger.price import MANY

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FILTERS", "down", "figure", "many", "moment", "percent_down", "up"]

_LARGE = 10**15


def up(value: Any) -> str:
    """An amount that must not look smaller than it is.

    >>> up(0.32445201), up(4.99999281), up(None), up(1e-7)
    ('0.3245', '5', '-', '1e-7')
    """
    return _amount(value, rounded_up)


def down(value: Any) -> str:
    """An amount that must not look larger than it is.

    >>> down(999.6755412), down(0), down(4.9999999999999998e-7)
    ('999.6', '0', '5e-7')
    """
    return _amount(value, rounded_down)


def near(value: Any) -> str:
    """An amount for which neither side is safe.

    >>> near(9.67756)
    '9.678'
    """
    return _amount(value, rounded)


def _amount(value: Any, shown: Callable[..., str]) -> str:
    if value is None or isinstance(value, str):
        return "-" if value is None else "no finite amount"
    return shown(value, grouped=True) if isfinite(value) else "no finite amount"


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
