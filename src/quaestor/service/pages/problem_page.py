"""A problem as the answer to a request: a page for browsers, RFC 9457 for everybody else."""

from __future__ import annotations

from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from quaestor.errors import NotSignedIn, QuaestorError, RequestRefused
from quaestor.service.pages.layout import fragment, page
from quaestor.service.problems import Problem, error_of_http, error_of_invalid, problem_of

__all__ = ["answer_error", "answer_http", "answer_invalid", "answer_problem", "wants_page"]

_TITLES = {401: "Sign in first", 403: "Not allowed", 404: "Not found", 429: "Too many requests"}


def wants_page(request: Request) -> bool:
    """Whether a browser shows the answer to a person."""
    if request.url.path.startswith("/api/"):
        return False
    return "text/html" in request.headers.get("accept", "")


def answer_problem(
    error: QuaestorError, request: Request, *, headers: dict[str, str] | None = None
) -> Response:
    """What is said of an error."""
    problem = Problem(error, headers=headers)
    if not wants_page(request):
        return problem
    in_place = request.headers.get("hx-request", "") == "true"
    if isinstance(error, NotSignedIn) and not in_place:
        back = request.url.path if request.method == "GET" else "/"
        return RedirectResponse(f"/sign-in?next={quote(back, safe='/')}", status_code=303)
    status = problem.status_code
    title = _TITLES.get(status, "Something went wrong" if status >= 500 else "This did not work")
    detail = problem_of(error)["detail"]
    if isinstance(error, RequestRefused) and error.reason == "not_found":
        detail = "There is no page at this address."
    values = {"title": title, "detail": detail, "code": error.code}
    if in_place:
        answer = fragment("problem_part.html", request, status=status, **values)
    else:
        answer = page("problem.html", request, status=status, **values)
    if "Retry-After" in problem.headers:
        answer.headers["Retry-After"] = problem.headers["Retry-After"]
    return answer


async def answer_error(request: Request, error: Exception) -> Response:
    """One of our own errors."""
    assert isinstance(error, QuaestorError)  # noqa: S101  # it is registered for these alone
    return answer_problem(error, request)


async def answer_http(request: Request, error: Exception) -> Response:
    """An error of the framework: an unknown path or method, a body that cannot be read."""
    assert isinstance(error, HTTPException)  # noqa: S101
    return answer_problem(error_of_http(error), request, headers=dict(error.headers or {}))


async def answer_invalid(request: Request, error: Exception) -> Response:
    """A request whose parts are not of the right kind; its values are not repeated."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return answer_problem(error_of_invalid(list(error.errors())), request)
