"""Server-sent events, and how many streams one person may have open: each costs looks at a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from quaestor.errors import RequestRefused

__all__ = ["EventStream", "StreamLimit"]


class StreamLimit:
    """Counts the open streams of each person, in this process."""

    def __init__(self, most: int) -> None:
        """Let everybody have so many."""
        self._most, self._open = most, Counter[str]()

    @contextmanager
    def one_more(self, person: str) -> Iterator[None]:
        """A stream of somebody's, while it is open.

        Raises:
            RequestRefused: they have as many as they may have.
        """
        if self._open[person] >= self._most:
            sentence = (
                f"you are watching {self._most} questions, the most allowed: close one, or "
                "request its state instead"
            )
            raise RequestRefused("too_often", sentence)
        self._open[person] += 1
        try:
            yield
        finally:
            self._open[person] -= 1
            if not self._open[person]:
                del self._open[person]


class EventStream(StreamingResponse):
    """A stream of events for one person."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], *, limit: StreamLimit, person: str) -> None:
        """Send these, once there is room for one more."""
        super().__init__(events, headers={"X-Accel-Buffering": "no"})
        self._limit, self._person = limit, person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over, or nobody listens."""
        with self._limit.one_more(self._person):
            await super().__call__(scope, receive, send)
