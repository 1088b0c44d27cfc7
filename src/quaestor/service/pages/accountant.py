"""The accountant: releases composed in a form, every theorem side by side, and the region."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from starlette.requests import Request

from quaestor.errors import QuaestorError
from quaestor.service.core import TheService
from quaestor.service.pages.content.charts import region_chart
from quaestor.service.pages.content.form_fields import SentForm, read_shape, text_of
from quaestor.service.pages.layout import page
from quaestor.service.problems import problem_of
from quaestor.service.routes.accountant import epsilon, explain, region
from quaestor.service.rules import SIGNED_IN, RouteFamily
from quaestor.service.shapes import AccountantBody

__all__ = ["routes"]

routes = RouteFamily("/accountant", in_schema=False)
_EXAMPLE = "Gaussian(sigma=50) * 100\nPureDP(epsilon=0.1)"


@routes.get("", may=SIGNED_IN)
def accountant_page(request: Request) -> Response:
    """An example to change."""
    return _page(request, releases=_EXAMPLE, delta="1e-6")


@routes.post("", may=SIGNED_IN)
async def compose_by_form(request: Request, service: TheService, form: SentForm) -> Response:
    """What these releases lose together; nothing is charged."""
    releases, delta = text_of(form, "releases"), text_of(form, "delta")
    lines = [line.strip() for line in releases.splitlines() if line.strip()]
    try:
        body = read_shape(AccountantBody, {"releases": lines, "delta": delta})
        found = await epsilon(body, service)
        explained, picture = await explain(body, service), await region(body, service)
    except QuaestorError as problem:
        said = problem_of(problem)
        shown = {"problem": said["detail"], "status": said["status"]}
        return _page(request, releases=releases, delta=delta, **shown)
    chart = region_chart(picture["vertices"])
    return _page(
        request,
        releases=releases,
        delta=delta,
        found={
            **found,
            "rows": explained["rows"],
            "region": chart,
            "belief": picture["belief"],
        },
    )


def _page(  # noqa: PLR0913  # what the page shows
    request: Request,
    *,
    releases: str,
    delta: str,
    found: dict[str, Any] | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    return page(
        "accountant.html",
        request,
        status=status,
        releases=releases,
        delta=delta,
        found=found,
        problem=problem,
    )
