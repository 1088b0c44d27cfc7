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
        raise error_of_invalid(list(wrong.errors())) from None
