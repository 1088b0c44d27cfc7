"""The application: every family of routes, the errors, the limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import quaestor
from quaestor.curator.catalog.catalog_file import find_catalog, read_catalog
from quaestor.curator.session import Curator
from quaestor.errors import QuaestorError
from quaestor.service.core import ServiceCore
from quaestor.service.limits import LimitsMiddleware
from quaestor.service.pages.families import PAGES
from quaestor.service.pages.problem_page import answer_error, answer_http, answer_invalid
from quaestor.service.routes import FAMILIES
from quaestor.service.rules import RouteFamily, refuse_unguarded
from quaestor.service.settings import ServiceSettings

__all__ = ["ALL_FAMILIES", "app_from_environment", "build_app", "open_curator"]

_THREADS = 8  # for requests: more would queue for the ledger's connections
_ABOUT = (
    "Questions about private tables, answered with noise, charged to a ledger. Send a token in the "
    "header `Authorization: Bearer TOKEN`. Errors are RFC 9457 problems with a `code`."
)


ALL_FAMILIES: tuple[RouteFamily, ...] = (*FAMILIES, *PAGES)
"""The API, and the pages."""


def build_app(core: ServiceCore, *, families: tuple[RouteFamily, ...] = ALL_FAMILIES) -> FastAPI:
    """The application of a service; every route of it has a rule."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await anyio.to_thread.run_sync(core.start)
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(core.close)

    app = FastAPI(
        title="Quaestor",
        version=quaestor.__version__,
        description=_ABOUT,
        lifespan=lifespan,
        openapi_url=None,  # served by a route of our own, as everything is
        redirect_slashes=False,
    )
    app.state.service = core
    for family in families:
        family.register(app)
    refuse_unguarded(app)
    app.add_exception_handler(QuaestorError, answer_error)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_middleware(LimitsMiddleware, settings=core.settings, counts=core.counts)
    return app


def open_curator(settings: ServiceSettings) -> Curator:
    """The curator of the catalog that is to be served."""
    path = Path(settings.catalog) if settings.catalog else find_catalog()
    return Curator(read_catalog(path), time_step=settings.time_step)


def app_from_environment() -> FastAPI:
    """The application, in a process that ``quaestor serve`` has started."""
    settings = ServiceSettings.from_environment()
    return build_app(ServiceCore(open_curator(settings), settings))
