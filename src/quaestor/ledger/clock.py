"""Times of events: UTC, to the microsecond, and never backwards."""

from __future__ import annotations

import datetime as dt

from quaestor.errors import ClockWentBack, InvalidParameter

__all__ = ["TOLERANCE", "if_behind", "is_time", "later", "not_before", "now", "parsed"]

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
    raise InvalidParameter("clock", time, f"behind the last event, which is of {last}")
