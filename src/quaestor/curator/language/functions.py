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
    "LONGEST_JOINED",
    "NUMBERS",
    "SMALLEST_DIVISOR",
    "TEXT_DATE",
    "TEXT_NUMBER",
    "TEXT_TIME",
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
TEXT_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?"
)
"""A text that may be a time, without a zone."""
LONGEST_JOINED: Final = 10_000
"""So many characters of a text remain where it is joined with another."""
NUMBERS: Final[frozenset[Kind]] = frozenset({"integer", "real"})
_MOST_EXPONENT: Final = 64.0
_LOG_STEPS: Final = 2.0**20
_LAST_DAY: Final = dt.date.max.toordinal()
_SPLIT: Final = 2.0**25 + 1.0
_ORDERED: Final[frozenset[Kind]] = frozenset({"integer", "real", "date", "timestamp"})
_ANY: Final[frozenset[Kind]] = _ORDERED | {"text", "boolean"}
_TEXT: Final[frozenset[Kind]] = frozenset({"text"})
_DATE: Final[frozenset[Kind]] = frozenset({"date"})
_TIME: Final[frozenset[Kind]] = frozenset({"timestamp"})
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


def _later(date: str, days: int) -> str | None:
    ordinal = dt.date.fromisoformat(date).toordinal() + days
    return dt.date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= _LAST_DAY else None


def _months_later(date: str, months: int) -> str | None:
    """The same day of another month, or its last one."""
    place = int(date[:4]) * 12 + int(date[5:7]) - 1 + months
    if not 12 <= place <= 9999 * 12 + 11:
        return None
    year, month = divmod(place, 12)
    last = 31 if month == 11 else (dt.date(year, month + 2, 1) - dt.timedelta(days=1)).day
    return f"{year:04}-{month + 1:02}-{min(int(date[8:10]), last):02}"


def _monday(date: str) -> str:
    day = dt.date.fromisoformat(date)
    return (day - dt.timedelta(days=day.weekday())).isoformat()


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
        name="trim",
        takes=(_TEXT,),
        gives="text",
        apply=lambda text: text.strip(" "),
        says="without blanks at its ends; no other white space is taken away",
    ),
    Function(
        name="ltrim",
        takes=(_TEXT,),
        gives="text",
        apply=lambda text: text.lstrip(" "),
        says="without blanks at its beginning",
    ),
    Function(
        name="rtrim",
        takes=(_TEXT,),
        gives="text",
        apply=lambda text: text.rstrip(" "),
        says="without blanks at its end",
    ),
    Function(
        name="concat",
        takes=(_TEXT, _TEXT),
        gives="text",
        apply=lambda left, right: left[:LONGEST_JOINED] + right[:LONGEST_JOINED],
        says="one text after the other, 10,000 characters of each",
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
        name="week",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: dt.date.fromisoformat(date).isocalendar().week,
        says="the week of the year by ISO 8601, 1 to 53",
    ),
    Function(
        name="doy",
        takes=(_DATE,),
        gives="integer",
        apply=lambda date: dt.date.fromisoformat(date).timetuple().tm_yday,
        says="the day of the year, 1 to 366",
    ),
    Function(
        name="days_between",
        takes=(_DATE, _DATE),
        gives="integer",
        apply=lambda first, last: (dt.date.fromisoformat(last) - dt.date.fromisoformat(first)).days,
        says="the days from one date to another: DATE_DIFF('day', first, last)",
    ),
    Function(
        name="add_days",
        takes=(_DATE, _INTEGER),
        gives="date",
        apply=_later,
        says="the date so many days later; NULL outside the years 1 to 9999",
    ),
    Function(
        name="add_months",
        takes=(_DATE, _INTEGER),
        gives="date",
        apply=_months_later,
        says="the date so many months later, or the last day of that month; NULL outside the "
        "years 1 to 9999",
    ),
    Function(
        name="first_of_week",
        takes=(_DATE,),
        gives="date",
        apply=_monday,
        says="the Monday of the date's week: DATE_TRUNC('week', date)",
    ),
    Function(
        name="first_of_quarter",
        takes=(_DATE,),
        gives="date",
        apply=lambda date: f"{date[:5]}{(int(date[5:7]) - 1) // 3 * 3 + 1:02}-01",
        says="the first day of the date's quarter: DATE_TRUNC('quarter', date)",
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
_TIMES: Final = (
    Function(
        name="date_of",
        takes=(_TIME,),
        gives="date",
        apply=lambda time: time[:10],
        says="the date of a time, in UTC",
    ),
    Function(
        name="time_of",
        takes=(_DATE,),
        gives="timestamp",
        apply=lambda date: f"{date} 00:00:00",
        says="the midnight with which a date begins",
    ),
    *(
        Function(
            name=part,
            takes=(_TIME,),
            gives="integer",
            apply=lambda time, at=at: int(time[at : at + 2]),
            says=f"the {part} of a time, {last}",
        )
        for part, at, last in (
            ("hour", 11, "0 to 23"),
            ("minute", 14, "0 to 59"),
            ("second", 17, "0 to 59"),
        )
    ),
    Function(
        name="first_of_hour",
        takes=(_TIME,),
        gives="timestamp",
        apply=lambda time: f"{time[:13]}:00:00",
        says="the beginning of the time's hour: DATE_TRUNC('hour', time)",
    ),
    Function(
        name="first_of_minute",
        takes=(_TIME,),
        gives="timestamp",
        apply=lambda time: f"{time[:16]}:00",
        says="the beginning of the time's minute: DATE_TRUNC('minute', time)",
    ),
)
FUNCTIONS: Final = {function.name: function for function in (*_ALL, *_TIMES)}
"""By name."""
