"""Bounds of a number column in the catalog: where values lie, and in which steps they count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.catalog.steps import (
    FINEST,
    LARGEST,
    MOST_STEPS,
    coarse_enough,
    default_granularity,
    in_steps,
    outward,
    plain,
)

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.language.expressions import Kind

__all__ = ["Bounds", "read_bounds"]

_NAMES = ("low", "high", "granularity")
_BOTH = "write both, such as  low = 0, high = 120"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Every value is moved between ``low`` and ``high``, and rounded to the granularity."""

    low: float
    high: float
    granularity: float

    def may_be(self, value: float) -> bool:
        """Whether a value can be the same after it has been moved and rounded."""
        return self.low <= value <= self.high and _is_whole(value, self.granularity)


def read_bounds(column: Section, kind: Kind) -> Bounds | None:
    """The bounds of a column, in whole steps; None where it has none."""
    if not any(name in column.values for name in _NAMES):
        return None
    if kind not in {"integer", "real"}:
        name = next(name for name in _NAMES if name in column.values)
        raise column.wrong(name, f"{name} says nothing of a column of kind {kind}", "take it away")
    low, high = _bound(column, "low", kind), _bound(column, "high", kind)
    if low is None or high is None:
        lacking = [name for name in ("low", "high") if name not in column.values]
        verb = "is" if len(lacking) == 1 else "are"
        raise column.wrong(None, f"{' and '.join(lacking)} {verb} missing", _BOTH)
    if not low < high:
        problem = f"low ({plain(low)}) must be below high ({plain(high)})"
        raise column.wrong("low", problem, "correct one of them")
    granularity = _granularity(column, kind)
    if granularity is None and kind == "real":
        granularity = default_granularity(low, high)
        low, high = outward(low, high, granularity)
    elif granularity is None:
        granularity = 1.0
    _check_steps(column, low, high, granularity)
    return Bounds(low=low, high=high, granularity=granularity)


def _bound(column: Section, name: str, kind: Kind) -> float | None:
    valid = f"a {'whole ' if kind == 'integer' else ''}number from -1e15 to 1e15"
    value = column.number(name, valid=valid, remedy=_BOTH)
    if value is None:
        return None
    if not -LARGEST <= value <= LARGEST or (kind == "integer" and value != int(value)):
        raise column.wrong(name, f"{name} must be {valid}, not {value!r}", _BOTH)
    return value


def _granularity(column: Section, kind: Kind) -> float | None:
    least = 1.0 if kind == "integer" else FINEST
    valid = (
        "a whole number from 1 to 1e15"
        if kind == "integer"
        else f"a number from 2**-40 ({FINEST!r}) to 1e15"
    )
    remedy = "values are rounded to its multiples; write  granularity = 1  for whole numbers"
    value = column.number("granularity", valid=valid, remedy=remedy)
    if value is None:
        return None
    if not least <= value <= LARGEST or (kind == "integer" and value != int(value)):
        raise column.wrong("granularity", f"granularity must be {valid}, not {value!r}", remedy)
    return value


def _check_steps(column: Section, low: float, high: float, granularity: float) -> None:
    largest = max(abs(low), abs(high))
    key = "granularity" if "granularity" in column.values else "high"
    if in_steps(largest, granularity) > MOST_STEPS:
        enough = coarse_enough(largest / MOST_STEPS)
        problem = f"bounds of more than 2**24 steps of {plain(granularity)} could overflow in sums"
        raise column.wrong(key, problem, f"write  {_facts(low, high, enough)}")
    if not (_is_whole(low, granularity) and _is_whole(high, granularity)):
        problem = (
            f"low ({plain(low)}) and high ({plain(high)}) must be whole multiples of the "
            f"granularity ({plain(granularity)})"
        )
        raise column.wrong(key, problem, f"write  {_facts(low, high, granularity)}")


def _is_whole(number: float, granularity: float) -> bool:
    return in_steps(number, granularity).denominator == 1


def _facts(low: float, high: float, granularity: float) -> str:
    below, above = outward(low, high, granularity)
    return f"low = {plain(below)}, high = {plain(above)}, granularity = {plain(granularity)}"
