"""Is it alive, is it ready, what has it counted, and what can it do."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.requests import Request

from quaestor.errors import LedgerUnavailable
from quaestor.service.core import TheService
from quaestor.service.problems import PROBLEM_SCHEMA
from quaestor.service.rules import EVERYBODY, RouteFamily, only

__all__ = ["routes"]

routes = RouteFamily(tag="operations")


@routes.get("/health", may=EVERYBODY)
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@routes.get(
    "/ready",
    may=EVERYBODY,
    responses={"503": {"description": "Not yet.", "content": {"application/json": {}}}},
)
def ready(service: TheService) -> Response:
    """Questions can be asked: the service is warm, and its ledger answers."""
    try:
        service.ledger.heads()
        well = service.ready
    except LedgerUnavailable:
        well = False
    return JSONResponse({"status": "ready" if well else "not ready"}, 200 if well else 503)


@routes.get("/metrics", may=only("owner", "auditor"), response_class=PlainTextResponse)
def metrics(service: TheService) -> Response:
    """Counts for Prometheus: requests by route and status, nothing of single questions."""
    text = service.counts.text(under_way=service.runner.count)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@routes.get("/api/v1/work", may=only("owner"))
def work(service: TheService) -> dict[str, Any]:
    """What engines have under way in this process, in tasks: Spark tells, others do not.

    It depends on private data; analysts see the phases of their own questions only.
    """
    return {"work": [each._asdict() for each in service.curator.work()]}


@routes.get("/api/v1/openapi.json", may=EVERYBODY, include_in_schema=False)
def openapi(request: Request) -> dict[str, Any]:
    """What this service can do, as OpenAPI 3.1."""
    app = request.app
    schema: dict[str, Any] = app.openapi()
    components = schema.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "quaestor_session"},
    }
    return schema
