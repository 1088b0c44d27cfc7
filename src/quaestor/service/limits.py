"""One pure ASGI middleware: limits on body, rate and time; safe headers; logs; no bare failure."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request

from quaestor.errors import QuaestorError, RequestRefused
from quaestor.service.identity.callers import place_of_client
from quaestor.service.pages.problem_page import answer_problem
from quaestor.service.request_log import log_event, log_failure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from quaestor.service.metrics import RequestCounts
    from quaestor.service.settings import ServiceSettings

__all__ = ["LimitsMiddleware"]

_MOST_ADDRESSES = 10_000
_BURST = 2.0  # seconds' worth of requests at once
_STREAMS = ("/events", "/export")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class InternalFault(QuaestorError):
    """Something went wrong that nobody has foreseen; the log says where."""

    code = "internal_fault"

    def __init__(self) -> None:
        super().__init__(
            "the service failed with an internal error: its operator can find it in the log"
        )


class LimitsMiddleware:
    """Everything passes here, before it is read and after it is answered."""

    def __init__(self, app: ASGIApp, *, settings: ServiceSettings, counts: RequestCounts) -> None:
        """Keep what is behind, and the limits."""
        self._app, self._settings, self._counts = app, settings, counts
        self._rates = _Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        begun = time.monotonic()
        try:
            await self._limited(scope, receive, answer)
        except RequestRefused as refused:
            await answer.instead(refused, scope, receive)
        except TimeoutError:
            late = RequestRefused(
                "timeout",
                "this took too long and was cancelled: try again, or ask a simpler question",
            )
            await answer.instead(late, scope, receive)
        except Exception as problem:  # noqa: BLE001  # what it says may be about somebody
            log_failure("fault", problem)
            await answer.instead(InternalFault(), scope, receive)
        self._note(scope, answer.status, time.monotonic() - begun)

    async def _limited(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        client = scope.get("client")
        if not self._rates.admits(place_of_client(client[0] if client else "")):
            raise RequestRefused("too_often", "too many requests: wait a second, then try again")
        stream = scope["method"] == "GET" and scope["path"].endswith(_STREAMS)
        async with asyncio.timeout(self._settings.patience) as limit:
            body = await _body(scope, receive, most=self._settings.most_bytes)
            if stream:
                limit.reschedule(None)
            await self._app(scope, _replayed(body, receive), answer.send)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"].isalpha() else "other"
        self._counts.note(method[:10], route, status)
        caller: Any = scope.get("state", {}).get("caller")
        log_event(
            "request",
            method=method[:10],
            route=route,
            status=status,
            milliseconds=round(1000 * seconds),
            person=None if caller is None else caller.name,
        )


class _Answer:
    """What is sent back, with safe headers; whether it has begun, and with which status."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun, self.status = send, False, 500

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def instead(self, error: QuaestorError, scope: Scope, receive: Receive) -> None:
        """Answer with a problem, unless something else has begun."""
        if not self.begun:
            await answer_problem(error, Request(scope))(scope, receive, self.send)


async def _body(scope: Scope, receive: Receive, *, most: int) -> bytes:
    """The whole body, however it comes: none of ours is long.

    Raises:
        RequestRefused: it is longer; nothing more of it is read.
    """
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not said.isdigit() or len(said) > 18 or int(said) > most:
        raise _too_large(most)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> RequestRefused:
    return RequestRefused("too_large", f"the body has more than {most} bytes")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What was read, once; afterwards whatever comes."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Rates:
    """How many requests each address may make now: a bucket that fills by itself."""

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(1.0, _BURST * rate)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, address: str) -> bool:
        now = time.monotonic()
        left, last = self._buckets.pop(address, (self._most, now))
        left = min(self._most, left + (now - last) * self._rate)
        admitted = left >= 1.0
        self._buckets[address] = (left - 1.0 if admitted else left, now)
        while len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return admitted
