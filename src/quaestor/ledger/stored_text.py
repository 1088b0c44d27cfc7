"""Names, purposes, answers, releases and times: texts that every store keeps as they are.

Times are UTC, to the microsecond, and never go backwards.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.releases.codec import release_from_dict
from quaestor.errors import ClockWentBack, InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = [
    "TOLERANCE",
    "PlanPlace",
    "answer_text",
    "canonical",
    "detail_of",
    "digest",
    "if_behind",
    "is_digest",
    "is_time",
    "later",
    "line",
    "name",
    "not_before",
    "now",
    "parsed",
    "parts_of",
    "place_in_plan",
    "query_digest",
    "releases_from_text",
    "releases_to_text",
    "short_digest",
    "short_time",
    "shown_blocks",
    "utc",
]

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_LONGEST_NAME = 200
_LONGEST_LINE = 2000
_DIGITS = 64
_SHORT = 16


def name(field: str, value: object) -> str:
    """A name: one short printable line, not empty, without blanks at its ends."""
    valid = f"a name of at most {_LONGEST_NAME} printable characters"
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME:
        raise InvalidParameter(field, value, valid)
    if not value.isprintable() or value != value.strip() or value == "*":
        raise InvalidParameter(field, value, f"{valid}, other than *, without spaces at either end")
    return value


def line(field: str, value: object) -> str:
    """A text of one line, which may be empty."""
    if not isinstance(value, str) or len(value) > _LONGEST_LINE or not value.isprintable():
        valid = f"one line of at most {_LONGEST_LINE} printable characters"
        raise InvalidParameter(field, value, valid)
    return value


def answer_text(value: object) -> str:
    """A text of any length, of characters that every store keeps."""
    valid = "a text without NUL characters or unpaired surrogates"
    if not isinstance(value, str) or "\0" in value:
        raise InvalidParameter("answer", type(value).__name__, valid)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter("answer", "a text with half a character", valid) from None
    return value


def canonical(value: Any) -> str:
    """JSON with one way to write each value: sorted, compact, ASCII."""
    return _CANONICAL.encode(value)


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def short_digest(digest_: str) -> str:
    """The first digits of a digest, by which something submitted is known."""
    return digest_[:_SHORT]


def is_digest(text: str) -> bool:
    """Whether a text can be what :func:`digest` gives."""
    return len(text) == _DIGITS and set(text) <= set("0123456789abcdef")


def query_digest(query: object) -> str:
    """What a dashboard knows a query by: the SHA-256 of the text of the query itself.

    >>> query_digest("SELECT COUNT(*) FROM visits")[:16]
    '5a66e3537363177b'
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidParameter("query_text", query, "the text of the query itself")
    try:
        return digest(query)
    except UnicodeEncodeError:
        valid = "a text without unpaired surrogates"
        raise InvalidParameter("query_text", "a text with half a character", valid) from None


TOLERANCE = dt.timedelta(seconds=5)
"""How far a clock may be behind the last event: clocks that are kept in step do no worse."""
_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def now() -> str:
    """The time by this computer's clock."""
    return dt.datetime.now(tz=dt.UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def parsed(time: str) -> dt.datetime:
    """Read a time back; a ValueError if it is none."""
    return dt.datetime.strptime(time, _FORMAT).replace(tzinfo=dt.UTC)


def later(time: str, *, seconds: float) -> str:
    """A time so much later."""
    return (parsed(time) + dt.timedelta(seconds=seconds)).strftime(_FORMAT)


def short_time(time: str) -> str:
    """A time for people: without what is below a second."""
    return f"{time[:19]}Z"


def utc(field: str, value: object) -> str:
    """A time in UTC as events have it, from a date (its first moment), a time, or their text."""
    valid = "a date such as 2027-01-31, or a time with its zone such as 2027-01-31T12:00:00Z"
    given = value
    try:
        if isinstance(given, str):
            given = (
                dt.datetime.fromisoformat(given) if "T" in given else dt.date.fromisoformat(given)
            )
        if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
            given = dt.datetime(given.year, given.month, given.day, tzinfo=dt.UTC)
        if isinstance(given, dt.datetime) and given.tzinfo is not None:
            return given.astimezone(dt.UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter(field, value, valid)


def is_time(time: str) -> bool:
    """Whether a text is a time as events have it."""
    try:
        return parsed(time).strftime(_FORMAT) == time
    except ValueError:
        return False


def not_before(last: str, time: str) -> str:
    """The time of the next event: ``time``, or ``last`` again where the clock is a little behind.

    Raises:
        ClockWentBack: the clock is behind by more than a little.
    """
    if time >= last:
        return time
    if parsed(last) - parsed(time) > TOLERANCE:
        raise ClockWentBack(now=time, last=last)
    return last


def if_behind(last: str, time: str) -> str:
    """The time of an event that accepts a clock which is behind the last event.

    Raises:
        InvalidParameter: the clock is not behind: nothing is to be accepted.
    """
    try:
        not_before(last, time)
    except ClockWentBack:
        return time
    valid = f"earlier than the last event, of {last}; it is not, so there is nothing to correct"
    raise InvalidParameter("clock", time, valid)


@lru_cache(maxsize=4096)
def releases_to_text(releases: tuple[Release, ...]) -> str:
    """Releases as the JSON text that an event keeps."""
    return canonical([release.to_dict() for release in releases])


def detail_of(statement: str, blocks: tuple[str, ...]) -> str:
    r"""What a charge's event keeps in its ``detail``: a statement, and blocks of time.

    Each block comes after a tab, which no statement has; without blocks it is as it ever was.

    >>> detail_of("", ("2024-01", "2024-02"))
    '\t2024-01\t2024-02'
    """
    return statement + "".join(f"\t{block}" for block in blocks)


def parts_of(detail: str) -> tuple[str, tuple[str, ...]]:
    """Read back what :func:`detail_of` wrote: the statement, and the blocks."""
    statement, *blocks = detail.split("\t")
    return statement, tuple(blocks)


class PlanPlace(NamedTuple):
    """Which of the questions of a plan something is; a question alone is the first of one."""

    number: int = 1
    total: int = 1

    @property
    def is_last(self) -> bool:
        """Whether the plan ends with it."""
        return self.number >= self.total

    @property
    def text(self) -> str:
        """What its event keeps: nothing, of a question alone."""
        return f"{self.number}/{self.total}" if self.total > 1 else ""


def place_in_plan(said: str) -> PlanPlace:
    """Read back what an event keeps of a plan; what no plan has written is a question alone.

    >>> place_in_plan("2/3").is_last
    False
    """
    number, slash, count = said.partition("/")
    if slash and number.isdecimal() and count.isdecimal():
        place = PlanPlace(int(number), int(count))
        if place.text == said and 0 < place.number <= place.total:
            return place
    return PlanPlace()


def shown_blocks(blocks: tuple[str, ...]) -> str:
    """Blocks of time in words."""
    return " to ".join(dict.fromkeys((*blocks[:1], *blocks[-1:])))


def releases_from_text(text: str) -> tuple[Release, ...]:
    """Read back what :func:`releases_to_text` wrote."""
    return tuple(map(release_from_dict, json.loads(text)))
