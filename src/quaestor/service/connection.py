"""One connection of a client: how long it may take to say what it wants, and to read the answer.

uvicorn itself waits for ever for the end of a request's headers, and for a client that does not
read. The time for bodies and for whole requests is limited in :mod:`quaestor.service.limits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["PatientConnection"]


class PatientConnection(H11Protocol):
    """A connection that is cut when its client is too slow."""

    headers_within = 10.0
    """Seconds from the connection, or from the last answer, to the end of a request's headers."""
    read_within = 60.0
    """Seconds in which a client has to read something of what waits for it."""

    _headers_timer: asyncio.TimerHandle | None = None
    _reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expect_headers(0.0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for timer in (self._headers_timer, self._reading_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._expect_headers(self.timeout_keep_alive + 1.0)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._reading_timer = self.loop.call_later(self.read_within, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting: the client reads."""
        if self._reading_timer is not None:
            self._reading_timer.cancel()
        super().resume_writing()

    def _expect_headers(self, least: float) -> None:
        if self._headers_timer is not None:
            self._headers_timer.cancel()
        seconds = max(self.headers_within, least)
        self._headers_timer = self.loop.call_later(seconds, self._cut_unless_asked)

    def _cut_unless_asked(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
