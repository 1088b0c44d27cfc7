"""Errors as RFC 9457 problems: our code and fields, and never a word of what an engine said."""

from __future__ import annotations

import math
from typing import Any

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from quaestor import errors
from quaestor.errors import QuaestorError, RequestRefused
from quaestor.errors.base import shown

__all__ = [
    "PROBLEM_RESPONSES",
    "PROBLEM_SCHEMA",
    "InvalidRequest",
    "Problem",
    "error_of_http",
    "error_of_invalid",
    "plain",
    "problem_of",
    "status_of",
]

MEDIA_TYPE = "application/problem+json"

_STATUS: dict[type[QuaestorError], int] = {
    errors.NotSignedIn: 401,
    errors.SignInFailed: 401,
    errors.IdentityRefused: 401,
    errors.NotAllowed: 403,
    errors.UnknownAnalyst: 403,
    errors.UnknownAccount: 404,
    errors.UnknownJob: 404,
    errors.UnknownPerson: 404,
    errors.AccountClosed: 409,
    errors.AccountExists: 409,
    errors.AnswerPending: 409,
    errors.ApprovalNeeded: 409,
    errors.BudgetExceeded: 409,
    errors.ChargeSettled: 409,
    errors.EngineFailed: 409,
    errors.JobUnfinished: 409,
    errors.KeyReused: 409,
    errors.TooManyJobs: 429,
    errors.TooManySignIns: 429,
    errors.InvalidParameter: 422,
    errors.BeyondFloats: 422,
    errors.TargetOutOfReach: 422,
    errors.TheoremDoesNotApply: 422,
    errors.MissingExtra: 501,
    errors.LedgerUnavailable: 503,
    errors.ProviderUnavailable: 503,
    errors.SourceUnavailable: 503,
}
_REASONS = {
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 504,
    "too_large": 413,
    "too_often": 429,
    "not_acceptable": 406,
}
_RESERVED = {"type", "title", "status", "detail", "instance", "code"}


_PROBLEM_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "A problem (RFC 9457): see `code`.", "content": _PROBLEM_CONTENT},
    "503": {"description": "Something is down: try again later.", "content": _PROBLEM_CONTENT},
}
"""What every route may answer beside what it declares."""
PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "An RFC 9457 problem: a stable `code`, and fields that depend on it.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "code": {"type": "string"},
    },
    "additionalProperties": True,
}


class Problem(JSONResponse):
    """A problem as the answer to a request."""

    media_type = MEDIA_TYPE

    def __init__(self, error: QuaestorError, *, headers: dict[str, str] | None = None) -> None:
        """What is to be said of an error."""
        said = problem_of(error)
        more = dict(headers or {})
        if said["status"] == 401:
            more["WWW-Authenticate"] = 'Bearer realm="quaestor"'
        if said["status"] == 429:
            more.setdefault("Retry-After", str(said.get("seconds", 1)))
        super().__init__(said, status_code=said["status"], headers=more)


def problem_of(error: QuaestorError) -> dict[str, Any]:
    """The members of a problem: a type, a title, a status, a sentence, our code and its fields."""
    if isinstance(error, errors.UnknownAnalyst):  # who else has a quota is not theirs to know
        error = errors.UnknownAnalyst(error.analyst, account=error.account, near=None)
    kind = type(error)
    status = status_of(kind)
    if isinstance(error, RequestRefused):
        status = _REASONS.get(error.reason, 400)
    more = {name: value for name, value in error.fields().items() if name not in _RESERVED}
    return {
        "type": f"urn:quaestor:problem:{error.code}",
        "title": (kind.__doc__ or error.code).strip().splitlines()[0],
        "status": status,
        "detail": str(error),
        "code": error.code,
        **plain(more),
    }


def status_of(kind: type[QuaestorError]) -> int:
    """The HTTP status of an error; of a refused request it also depends on the reason."""
    known = [_STATUS[each] for each in kind.__mro__ if each in _STATUS]
    return known[0] if known else 400 if kind is RequestRefused else 500


def plain(value: Any) -> Any:
    """Strict JSON: infinities, which it cannot write, become the text "Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return shown(value)


def error_of_http(error: HTTPException) -> RequestRefused:
    """An error of the framework: an unknown path or method, a body that cannot be read."""
    reason, sentence = {
        404: ("not_found", "there is nothing at this path; see /api/v1/openapi.json for the API"),
        405: ("method_not_allowed", "this path does not take this method"),
    }.get(error.status_code, ("bad_request", "the request cannot be read"))
    return RequestRefused(reason, sentence)


def error_of_invalid(wrong: list[Any]) -> InvalidRequest:
    """What pydantic says of a request; its values are not repeated."""
    listed = [
        {"where": ".".join(map(str, each["loc"])), "problem": each["msg"]} for each in wrong[:20]
    ]
    first = listed[0] if listed else {"where": "request", "problem": "it cannot be read"}
    return InvalidRequest(first["where"], first["problem"], listed)


class InvalidRequest(errors.InvalidParameter):
    """A part of the request is missing, or not of the right kind."""

    code = "invalid_request"

    def __init__(self, where: str, problem: str, listed: list[dict[str, str]]) -> None:
        ValueError.__init__(self, f"{shown(where)[1:-1]}: {problem}")
        self.field, self.value, self.valid = where, None, problem
        self.listed = listed

    def fields(self) -> dict[str, Any]:
        """Every part that is wrong, and why."""
        return {"errors": self.listed}
