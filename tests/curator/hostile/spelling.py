"""Near misses: constants that are nearly one another, and names that nearly are.

Nothing here is an attack. It is what a reader of any SQL engine tries: other ways to write a value,
values beside it, spellings that some collation takes for the same, names that code may use itself.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

__all__ = ["alike", "constant", "misspelt", "name_near", "quoted", "text"]

NUMBERS = (
    "0", "0.0", "-0.0", "1", "1.0", "-1", "2", "0.5", "0.1", "100", "1000", "1e6", "9999", "10000",
    "40", "41", "-40", "7", "0.25", "1e-20", "1e-99", "2147483648",
)  # fmt: skip
WILD = (
    "1e15", "-1e15", "1e308", "-1e308", "1.7976931348623157e308", "5e-324", "-5e-324", "2.2e-308",
    "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1e999",
    "999999999999999", "NULL",
)  # fmt: skip
"""Most of these are refused wherever they stand."""
TEXTS = ("", " ", "Rome", "ROME", "%", "_", "1", "true", "nan", "2024-01-15", "A", "north", "\\")
DAYS = ("2024-01-15", "2024-02-15", "0001-01-01", "9999-12-31", "1970-01-01", "2024-02-29")
HIDDEN = (
    "unit of the row", "u", "k0", "k1", "o0", "o1", "s0", "n", "m0", "m1", "c0", "c", "g", "g0",
    "v", "v0", "mark", "place", "rank", "t0", "t1", "units", "after", "all", "unit", "key", "group",
    "value", "rows", "count", "weight", "step", "steps", "rowid", "id", "row", "_", "x",
)  # fmt: skip
PATTERNS = ("{} in steps", "{}_2", "{}_1", "{} ", " {}", "{}", "_{}", "{}_right", "{} steps",
            "{} in steps_2", "hidden {}", "{}_in_steps", "{}.{}", "quaestor_{}")  # fmt: skip
_TWINS = {"k": "\u212a", "s": "\u017f", "i": "\u0131", "I": "\u0130", "a": "\uff41", "o": "\u03bf"}


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it when it may be anything."""
    return '"' + name.replace('"', '""') + '"'


def misspelt(draw: random.Random, word: str) -> str:
    """The word in another case or form; sometimes as it is."""
    ways = (
        str.lower,
        str.upper,
        str.capitalize,
        str.swapcase,
        lambda w: w,
        lambda w: w + " ",
        lambda w: unicodedata.normalize("NFD", w),
        lambda w: unicodedata.normalize("NFC", w),
        lambda w: w.casefold(),
        lambda w: "".join(_TWINS.get(c, c) for c in w),
        lambda w: w[:1].upper() + w[1:],
        lambda w: w[:-1] + w[-1:].swapcase(),
        str.title,
        str.upper,
        lambda w: w + "\u200d",
    )
    return draw.choice(ways)(word)


def name_near(draw: random.Random, columns: list[str]) -> str:
    """A name that the code behind the question may be using too."""
    if columns and draw.random() < 0.75:
        own = draw.choice(columns)
        made = draw.choice((*PATTERNS, *PATTERNS[:2] * 7)).replace("{}", own)
    else:
        made = draw.choice(HIDDEN)
    return misspelt(draw, made) if draw.random() < 0.8 else made


def constant(kind: str, value: Any) -> str:
    """A value of a row as a constant of its kind."""
    if value is None:
        return "NULL"
    if kind in {"integer", "real"}:
        written = str(value)
        sane = _is_number(written) and (float(written) == 0 or 1e-90 < abs(float(written)) < 1e15)
        return written if sane else "0"
    if kind == "boolean":
        return "TRUE" if value else "FALSE"
    if kind == "date":
        written = str(value)[:10]
        return f"DATE {text(written if written[4:5] == written[7:8] == '-' else DAYS[0])}"
    return text("".join(c for c in str(value)[:60] if c.isprintable()))


def _is_number(written: str) -> bool:
    try:
        float(written)
    except ValueError:
        return False
    return written.strip().lower().lstrip("+-") not in {"nan", "inf", "infinity"}


def alike(draw: random.Random, kind: str, base: str, count: int) -> list[str]:
    """Constants that some comparison takes for the first one, or nearly."""
    made = [base]
    for _ in range(count - 1):
        made.append(_variant(draw, kind, base, len(made)))
    return made


def _variant(draw: random.Random, kind: str, base: str, place: int) -> str:
    if draw.random() < 0.02:
        return draw.choice((*NUMBERS[:8], "TRUE", "FALSE", "NULL", "'1'", "'true'"))
    if kind in {"integer", "real"} and _is_number(base):
        return _number(draw, base, place)
    if kind == "text":
        return text(misspelt(draw, base.strip("'")))
    if kind == "date":
        return _day(draw, base.removeprefix("DATE ").strip("'"))
    odd = ("1", "0", "1.0", "'true'", "'t'", "NOT TRUE", "1 = 1")
    return draw.choice(odd if draw.random() < 0.1 else ("TRUE", "FALSE"))


def _day(draw: random.Random, day: str) -> str:
    ways = (f"'{day}'", f"DATE '{day}'", f"CAST('{day}' AS DATE)")
    odd = (
        f"'{day} 00:00:00'",
        f"TIMESTAMP '{day} 10:00:00'",
        f"'{day.replace('-0', '-')}'",
        f"' {day}'",
        f"DATE '{day} 12:00'",
        f"DATE_TRUNC('month', DATE '{day}')",
    )
    return draw.choice(odd if draw.random() < 0.1 else ways)


def _number(draw: random.Random, base: str, place: int) -> str:
    value = float(base)
    near = (1e-3, 1e-2, 0.4, 1e-9, 1e-13)
    ways = (
        lambda: f"{value + place * draw.choice(near)!r}",
        lambda: f"{value - place * draw.choice(near)!r}",
        lambda: f"{value:.1f}",
        lambda: f"{value:.{draw.randint(1, 12)}f}",
        lambda: f"{value!r}",
        lambda: f"-{base}" if not base.startswith("-") else base[1:],
        lambda: f"{base} + 0",
        lambda: f"CAST({base} AS {draw.choice(('DOUBLE', 'INTEGER'))})",
        lambda: f"{value + draw.choice((-1, 1)):.0f}",
        lambda: f"{value}e0" if abs(value) < 1e15 else base,
    )
    return draw.choice(ways)()
