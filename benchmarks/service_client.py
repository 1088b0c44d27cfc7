"""A lean HTTP client for load: one connection each, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Self

__all__ = ["LoadClient"]

_FIRST, _LONGEST = 0.05, 0.25  # seconds between two looks at a job, as quaestor.connect waits


class LoadClient:
    """One analyst with one connection that is kept open."""

    def __init__(self, port: int, token: str = "") -> None:
        """Keep where to go; nothing is opened yet."""
        self._port = port
        self._headers = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        self.statuses: dict[int, int] = {}

    async def __aenter__(self) -> Self:
        """Connect."""
        opened = await asyncio.open_connection("127.0.0.1", self._port)
        self._reader, self._writer = opened
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hang up."""
        self._writer.close()

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """What a request brings: JSON, whatever the status."""
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else "Content-Type: application/json\r\n"
        head = (
            f"{method} {path} HTTP/1.1\r\n{self._headers}{kind}Content-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        status = int(lines[0].split()[1])
        size = next(int(s[15:]) for s in lines if s.lower().startswith(b"content-length:"))
        self.statuses[status] = self.statuses.get(status, 0) + 1
        return json.loads(await self._reader.readexactly(size))

    async def ask(self, sql: str, **more: Any) -> tuple[str, float]:
        """Ask, wait, fetch: the job's state or the problem's code, and how long it all took."""
        begun, pause = time.perf_counter(), _FIRST
        job = await self.send("POST", "/api/v1/questions", {"sql": sql, **more})
        if "id" not in job:
            return str(job.get("code")), time.perf_counter() - begun
        while job["state"] == "open":
            await asyncio.sleep(pause)
            pause = min(_LONGEST, 1.5 * pause)
            job = await self.send("GET", job["links"]["self"])
        if job["state"] == "answered":
            await self.send("GET", job["links"]["answer"])
        return str(job["state"]), time.perf_counter() - begun
