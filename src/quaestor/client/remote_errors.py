"""Errors that a service sends, as the errors that they are."""

from __future__ import annotations

from typing import Any

from quaestor import errors
from quaestor.errors import InvalidParameter, QuaestorError

__all__ = ["error_from_problem"]

_BY_CODE: dict[str, type[QuaestorError]] = {
    kind.code: kind for name in errors.__all__ if (kind := getattr(errors, name))
}
_OURS = {"type", "title", "status", "detail", "instance", "code"}


def error_from_problem(problem: dict[str, Any]) -> QuaestorError:
    """The error of a problem: the class by its code, the sentence, and the fields."""
    code, detail = str(problem["code"]), str(problem["detail"])
    kind = _BY_CODE.get(code)
    if kind is None:
        kind = InvalidParameter if problem.get("status") == 422 else QuaestorError
    error = kind.__new__(kind)
    error.args = (detail,)
    if isinstance(error, InvalidParameter):
        error.__dict__.update(field=code, value=None, valid="")
    error.__dict__.update({name: value for name, value in problem.items() if name not in _OURS})
    return error
