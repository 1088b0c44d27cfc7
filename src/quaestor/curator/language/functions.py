"""The functions of the language: what each takes and gives, and its value for every argument.

Every function has an answer for every argument, and the same one on every engine. Numbers are
64-bit floats; ``+ - * /`` and ``sqrt`` round as IEEE 754 says. Logarithms are rounded to multiples
of 2^-20 and ``exp`` to 28 bits, so that the last bits in which engines differ do not show.
``apply`` is the meaning, written in Python: what the engines compute is held against it.

Unless ``nulls`` is set, a function of NULL is NULL, and ``apply`` sees values only.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.language.expressions import Kind, Value

__all__ = [
    "FUNCTIONS",
    "NUMBERS",
    "SMALLEST_DIVISOR",
    "TEXT_DATE",
    "TEXT_NUMBER",
    "Function",
    "divided",
    "rounded",
]

SMALLEST_DIVISOR: Final = 2.0**-40
"""What is divided by less than it (in magnitude) is NULL."""
TEXT_NUMBER: Final = re.compile(
    r" *[+-]?([0-9]{1,60}([.][0-9]{0,60})?|[.][0-9]{1,60})([eE][+-]?[0-9]{1,2})? *"
)
"""A text that is a number, from its first character to its last; any other casts to NULL."""
TEXT_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""A text that may be a date: one of the calendar from the year 1 on."""
NUMBERS: Final[frozenset[Kind]] = frozenset({"integer", "real"})
_MOST_EXPONENT: Final = 64.0
_LOG_STEPS: Final = 2.0**20
_SPLIT: Final = 2.0**25 + 1.0
_ANY: Final[frozenset[Kind]] = frozenset({"integer", "real", "text", "boolean", "date"})
_ORDERED: Final[frozenset[Kind]] = frozenset({"integer", "real", "date"})
_TEXT: Final[frozenset[Kind]] = frozenset({"text"})
_DATE: Final[frozenset[Kind]] = frozenset({"date"})
_INTEGER: Final[frozenset[Kind]] = frozenset({"integer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function. ``gives`` is its kind; ``None`` is the kind of its arguments.

    Of mixed whole and real arguments the kind is real. With ``repeats`` the last entry of ``takes``
    may stand once or more often. Places in ``constant`` must be constants.
    """

    name: str
    takes: tuple[frozenset[Kind], ...]
    gives: Kind | None
    apply: Callable[..., Value]
    says: str
    repeats: bool = False
    nulls: bool = False
    constant: frozenset[int] = frozenset()

    def fits(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        return count >= len(self.takes) if self.repeats else count == len(self.takes)

    def takes_at(self, place: int) -> frozenset[Kind]:
        """The kinds that an argument may have."""
        return self.takes[min(place, len(self.takes) - 1)]


def rounded(number: float) -> int:
    """The nearest whole number; halves go up."""
    return math.floor(number + 0.5)


def divided(left: float, right: float) -> float | None:
    """The quotient; NULL where the divisor is 0 or next to it."""
    return None if abs(right) < SMALLEST_DIVISOR else left / right


def _square_root(x: float) -> float | None:
    return None if x < 0 else math.sqrt(x)


def _logarithm(base: float) -> Callable[[float], float | None]:
    def of(x: float) -> float | None:
        if x <= 0:
            return None
        return math.floor(math.log(x) * (_LOG_STEPS / math.log(base)) + 0.5) / _LOG_STEPS

    return of


def _exponential(x: float) -> float:
    value = math.exp(min(max(x, -_MOST_EXPONENT), _MOST_EXPONENT))
    large = value * _SPLIT  # Veltkamp's splitting: the upper 28 bits
    return large - (large - value)


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _clamp(x: Any, low: Any, high: Any) -> Value:
    return max(low, min(high, x))  # type: ignore[no-any-return]  # two of a kind, the analysis saw to it


def _least(*values: Any) -> Value:
    return min((value for value in values if value is not None), default=None)


def _greatest(*values: Any) -> Value:
    return max((value for value in values if value is not None), default=None)


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _null_if(value: Value, other: Value) -> Value:
    return None if value == other else value


def _upper(text: str) -> str:
    return "".join(chr(ord(c) - 32) if "a" <= c <= "z" else c for c in text)


def _lower(text: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


_ALL: Final = (
    Function(
        name="abs",
        takes=(NUMBERS,),
        gives=None,
        apply=abs,
        says="the size of a number, without its sign",
    ),
    Function(name="sign", takes=(NUMBERS,), gives="integer", apply=_sign, says="-1, 0 or 1"),
    Function(
        name="floor",
        takes=(NUMBERS,),
        gives="integer",
        apply=math.floor,
        says="the largest whole number that is not above",
    ),
    Function(
        name="ceil",
        takes=(NUMBERS,),
        gives="integer",
        apply=math.ceil,
        says="the smallest whole number that is not below",
    ),
    Function(
        name="round",
        takes=(NUMBERS,),
        gives="integer",
        apply=rounded,
        says="the nearest whole number, halves up: floor(x + 0.5)",
    ),
    Function(
        name="sqrt",
        takes=(NUMBERS,),
        gives="real",
        apply=_square_root,
        says="the square root; NULL below 0",
    ),
    Function(
        name="ln",
        takes=(NUMBERS,),
        gives="real",
        apply=_logarithm(math.e),
        says="the natural logarithm, in steps of 2^-20; NULL at 0 and below",
    ),
    Function(
        name="log10",
        takes=(NUMBERS,),
        gives="real",
        apply=_logarithm(10.0),
        says="the logarithm to base 10, in steps of 2^-20; NULL at 0 and below",
    ),
    Function(
        name="exp",
        takes=(NUMBERS,),
        gives="real",
        apply=_exponential,
        says="e to a power moved between -64 and 64, to 28 bits",
    ),
    Function(
        name="clamp",
        takes=(NUMBERS, NUMBERS, NUMBERS),
        gives=None,
        apply=_clamp,
        says="a number moved between two constants; NULL stays NULL",
        constant=frozenset({1, 2}),
    ),
    Function(
        name="least",
        takes=(_ORDERED,),
        gives=None,
        apply=_least,
        says="the least of its arguments that are not NULL",
        repeats=True,
        nulls=True,
    ),
    Function(
        name="greatest",
        takes=(_ORDERED,),
        gives=None,
        apply=_greatest,
        says="the greatest of its arguments that are not NULL",
        repeats=True,
        nulls=True,
    ),
    Function(
        name="coalesce",
        takes=(_ANY,),
        gives=None,
        apply=_coalesce,
        says="its first argument that is not NULL",
        repeats=True,
        nulls=True,
    ),
    Function(
        name="nullif",
        takes=(_ANY, _ANY),
        gives=None,
        apply=_null_if,
        says="its first argument; NULL where both are equal",
        nulls=True,
    ),
    Function(
        name="upper",
        takes=(_TEXT,),
        gives="text",
        apply=_upper,
        says="with a to z as A to Z; all other letters stay",
    ),
    Function(
        name="lower",
        takes=(_TEXT,),
        gives="text",
        apply=_lower,
        says="with A to Z as a to z; all other letters stay",
    ),
    Function(
        name="length",
        takes=(_TEXT,),
        gives="integer",
        apply=len,
        says="how many characters (code points)",
    ),
    Function(
        name="substring",
        takes=(_TEXT, _INTEGER, _INTEGER),
        gives="text",
        apply=lambda text, start, count: text[start - 1 : start - 1 + count],
        says="so many characters from a place on, which counts from 1; both are constants",
        constant=frozenset({1, 2}),
    ),
    Function(
        name="year",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: int(date[:4]),
        says="the year of a date",
    ),
    Function(
        name="quarter",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: (int(date[5:7]) + 2) // 3,
        says="the quarter of a date, 1 to 4",
    ),
    Function(
        name="dow",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: dt.date.fromisoformat(date).isoweekday() % 7,
        says="the day of the week, 0 for Sunday to 6 for Saturday",
    ),
    Function(
        name="month",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: int(date[5:7]),
        says="the month of a date, 1 to 12",
    ),
    Function(
        name="day",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: int(date[8:10]),
        says="the day of the month, 1 to 31",
    ),
    Function(
        name="first_of_month",
        takes=(_DATE,),
        gives="date",
        apply=lambda date: f"{date[:8]}01",
        says="the first day of the date's month: DATE_TRUNC('month', date)",
    ),
    Function(
        name="first_of_year",
        takes=(_DATE,),
        gives="date",
        apply=lambda date: f"{date[:5]}01-01",
        says="the first day of the date's year: DATE_TRUNC('year', date)",
    ),
)
FUNCTIONS: Final = {function.name: function for function in _ALL}
"""By name."""
