"""Requests to a service, over HTTP, with the standard library alone."""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from quaestor.client.remote_errors import error_from_problem
from quaestor.errors import InvalidParameter, ServiceUnreachable

if TYPE_CHECKING:
    from quaestor.errors import QuaestorError

__all__ = ["ServiceWire"]

_TRIES = 4
_PAUSE = 0.5
_TIMEOUT = 60.0
_AGAIN = {429, 502, 503, 504}


class _Stay(HTTPRedirectHandler):
    """Follow no redirection: the token would travel to wherever it points."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class ServiceWire:
    """One service, and the token that is sent to it and to nobody else."""

    def __init__(self, url: str, token: str, *, insecure: bool = False) -> None:
        """Check the address; nothing is sent yet."""
        parts = urlsplit(url if isinstance(url, str) else "")
        near = _is_near(parts.hostname or "")
        if parts.scheme not in {"https", "http"} or not parts.hostname:
            raise InvalidParameter("url", url, "an address such as https://data.example.org")
        if parts.scheme == "http" and not near and not insecure:
            valid = "an https address: without TLS others can read the token (or insecure=True)"
            raise InvalidParameter("url", url, valid)
        if (
            not isinstance(token, str)
            or not token.isascii()
            or not token.isprintable()
            or not token
        ):
            raise InvalidParameter("token", "another text", "what quaestor token create printed")
        self.url = url.rstrip("/")
        self._token = token
        self._opener = build_opener(_Stay, *([ProxyHandler({})] if near else []))

    def __repr__(self) -> str:
        """The address; never the token."""
        return f"<service at {self.url}>"

    def get(self, path: str) -> dict[str, Any]:
        """What is at a path."""
        return self._json("GET", path, None, {})

    def post(self, path: str, body: dict[str, Any], *, key: str = "") -> dict[str, Any]:
        """What comes of sending this; with a key, sending it twice does no harm."""
        return self._json("POST", path, body, {"Idempotency-Key": key} if key else {})

    def delete(self, path: str) -> None:
        """End what is at a path."""
        self._json("DELETE", path, None, {})

    def _json(
        self, method: str, path: str, body: dict[str, Any] | None, more: dict[str, str]
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **more}
        if data is not None:
            headers["Content-Type"] = "application/json"
        for left in reversed(range(_TRIES)):
            problem: QuaestorError
            try:
                request = Request(self.url + path, data, headers, method=method)  # noqa: S310
                with self._opener.open(request, timeout=_TIMEOUT) as answer:
                    read: dict[str, Any] = json.loads(answer.read() or b"{}")
                    return read
            except HTTPError as error:
                with error:
                    problem = _problem(error)
                if error.code not in _AGAIN or not left:
                    raise problem from None
            except (URLError, HTTPException, OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or type(error).__name__
                problem = ServiceUnreachable(
                    f"{self.url} does not answer as a Quaestor service ({reason}); check the "
                    "address, and that the service is running"
                )
                if not left:
                    raise problem from None
            time.sleep(_PAUSE * 2 ** (_TRIES - 1 - left))
        raise ServiceUnreachable(self.url)


def _problem(error: HTTPError) -> QuaestorError:
    """The service's own error; or that something else has answered."""
    try:
        said = json.loads(error.read(1_000_000))
        return error_from_problem(said)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return ServiceUnreachable(
            f"it answered with status {error.code}, not as a Quaestor service; check the address"
        )


def _is_near(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
