"""Why a text is not a value of its kind, and which option of ``dataset add`` would read it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Kind

__all__ = ["TextProblem", "text_problem"]


class TextProblem(NamedTuple):
    """What is wrong, in words, and the option and value that would read such texts."""

    words: str
    option: str | None = None
    value: str = ""


_ABSENT: Final = frozenset(
    {"na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", ".", "?", "#n/a", "missing"}
    | {"unknown", "k.a.", "inconnu", "<na>"}
)
_NUMBERS: Final = (
    (r"[+-]?\d+,\d+|[+-]?\d{1,3}(\.\d{3})+,\d*", "a decimal comma", "--decimal", ","),
    (r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", "commas between thousands", "--thousands", ","),
    (r"[+-]?\d{1,3}(\.\d{3}){2,}", "points between thousands", "--thousands", "."),
    (r"[+-]?\d{1,3}( \d{3})+([.,]\d*)?", "blanks between thousands", "--thousands", " "),
    (r"[+-]?\d{1,3}('\d{3})+([.,]\d*)?", "apostrophes between thousands", "--thousands", "'"),
)
_DATES: Final = (
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "a date with points", "%d.%m.%Y"),
    (r"(1[3-9]|2\d|3[01])/\d{1,2}/\d{4}", "a date with slashes, the day first", "%d/%m/%Y"),
    (r"\d{1,2}/(1[3-9]|2\d|3[01])/\d{4}", "a date with slashes, the month first", "%m/%d/%Y"),
    (r"\d{1,2}/\d{1,2}/\d{4}", "a date with slashes (the day or the month first)", "%d/%m/%Y"),
    (r"\d{1,2}-\d{1,2}-\d{4}", "a date with dashes, the year last", "%d-%m-%Y"),
    (r"\d{4}/\d{1,2}/\d{1,2}", "a date with slashes, the year first", "%Y/%m/%d"),
    (r"\d{8}", "a date without marks", "%Y%m%d"),
)
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}.*")


def text_problem(text: str, kind: Kind) -> TextProblem:
    """What is wrong with a text that is not of a kind.

    >>> text_problem("1.234,5", "real")
    TextProblem(words='a decimal comma', option='--decimal', value=',')
    >>> text_problem("11.01.2024", "date").value
    '%d.%m.%Y'
    """
    bare = text.strip()
    if bare.lower() in _ABSENT:
        return TextProblem("a word for a missing value", "--null", bare)
    if kind in {"integer", "real"}:
        return _of_number(bare)
    if kind in {"date", "timestamp"}:
        return _of_date(bare)
    if kind == "boolean":
        return TextProblem("neither true nor false", "--kind", "text")
    return TextProblem("not text in the file's encoding, or too long", "--encoding", "latin-1")


def _of_number(text: str) -> TextProblem:
    for pattern, words, option, value in _NUMBERS:
        if re.fullmatch(pattern, text):
            return TextProblem(words, option, value)
    if re.match(r"[+-]?[\d.,]+\s*\D+$", text):
        return TextProblem("a number followed by other text", "--kind", "text")
    return TextProblem("not a number", "--kind", "text")


def _of_date(text: str) -> TextProblem:
    if _TIME.fullmatch(text):
        return TextProblem("a date with a time of day", "--kind", "timestamp")
    for pattern, words, value in _DATES:
        if re.fullmatch(pattern, text):
            return TextProblem(words, "--date-format", value)
    return TextProblem("not a date", "--kind", "text")
