"""What a form sent, read as the API's own shapes."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import Depends
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData
from starlette.requests import Request

from quaestor.service.problems import error_of_invalid

__all__ = ["SentForm", "read_shape", "text_of"]

Shape = TypeVar("Shape", bound=BaseModel)
_LABELS = {
    "sql": "Question",
    "within": "Within ±",
    "confidence": "with probability",
    "epsilon": "ε",
    "rho": "ρ",
    "delta": "δ",
    "scopes": "For these roles",
}
_WORDS = {
    "missing": "fill this in",
    "float_parsing": "write a number, such as 0.5",
    "float_type": "write a number, such as 0.5",
    "finite_number": "write a finite number",
    "greater_than": "write a number above {gt:g}",
    "greater_than_equal": "write a number that is at least {ge:g}",
    "less_than": "write a number below {lt:g}",
    "less_than_equal": "write a number that is at most {le:g}",
    "too_short": "choose or write at least {min_length}",
    "string_too_long": "write at most {max_length} letters",
}


async def _form(request: Request) -> FormData:
    return await request.form()


SentForm = Annotated[FormData, Depends(_form)]
"""The fields of a form."""


def text_of(form: FormData, name: str) -> str:
    """One field, without blanks around it; empty if it is not there."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def read_shape(shape: type[Shape], values: dict[str, Any]) -> Shape:
    """One of the API's shapes, of fields; those that are empty were not filled in.

    Raises:
        InvalidRequest: a field is missing, or not of the right kind.
    """
    given = {name: value for name, value in values.items() if value not in ("", None)}
    try:
        return shape.model_validate(given)
    except ValidationError as wrong:
        raise error_of_invalid([_in_words(each) for each in wrong.errors()]) from None


def _in_words(wrong: Any) -> dict[str, Any]:
    """What is wrong with a field, by its label and in a form's words."""
    name = str(next((each for each in reversed(wrong["loc"]) if isinstance(each, str)), "form"))
    said = _WORDS.get(wrong["type"], "{msg}")
    words = said.format(msg=wrong["msg"], **wrong.get("ctx", {}))
    return {"loc": (_LABELS.get(name, name.capitalize()),), "msg": words}
