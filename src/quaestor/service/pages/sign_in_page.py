"""The sign-in page: a form for a link or a password, and a way to the identity provider."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quaestor.service.pages.layout import page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from quaestor.service.core import ServiceCore

__all__ = ["place_here", "show_sign_in"]

_PART = r"[A-Za-z0-9_~%-][A-Za-z0-9_.~%-]*"  # no dots alone, and none that is empty
_PATH = re.compile(rf"/(?:{_PART}(?:/{_PART})*)?", re.ASCII)


def show_sign_in(  # noqa: PLR0913  # what the page shows
    service: ServiceCore,
    request: Request,
    *,
    link: str = "",
    next_: str = "/",
    problem: str = "",
    status: int = 200,
) -> Response:
    """The page, without script. The provider's button is a link: forms stay on this service."""
    return page(
        "sign_in.html",
        request,
        status=status,
        link=link,
        next=place_here(next_),
        problem=problem,
        provider=service.provider_name,
    )


def place_here(place: str) -> str:
    """A path of this service, or the first page: a link must not send people elsewhere."""
    return place if _PATH.fullmatch(place) else "/"
