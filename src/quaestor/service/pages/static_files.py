"""Style sheets, scripts and bundles: a route for each file, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from quaestor.service.rules import EVERYBODY, RouteFamily

__all__ = ["routes"]

routes = RouteFamily(in_schema=False)
_FOLDER = Path(__file__).parent.parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def _serve(content: bytes, media: str) -> Callable[[Request], Response]:
    tag = f'"{sha256(content).hexdigest()[:32]}"'

    def serve(request: Request) -> Response:
        """A file; browsers keep it, and ask whether it has changed."""
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media, headers=headers)

    return serve


for _file in sorted(_FOLDER.rglob("*")):
    if _file.suffix in _KINDS:
        _path = f"/static/{_file.relative_to(_FOLDER).as_posix()}"
        routes.get(_path, may=EVERYBODY)(_serve(_file.read_bytes(), _KINDS[_file.suffix]))
