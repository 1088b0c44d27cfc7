"""Values of options that need no conversion, or the plainest: typer imports pydantic for the rest.

That import takes a quarter of the time of a short command. What is read here is read by typer in
the same way; whatever is not as plain goes to typer, which also says what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin

import typer

__all__ = ["read_plainly"]

_NUMBERS = {
    float: re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?"),
    int: re.compile(r"[+-]?[1-9][0-9]{0,14}|0"),
}
_NO_LIMITS = ("min", "max", "parser")


def read_plainly(command: Any) -> None:
    """Have the plain values of a command, and of its commands, read without pydantic.

    A typer that does not read values so, an older one or one to come, is left alone.
    """
    for parameter in command.get_params(typer.Context(command)):  # and --help, which is made there
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or getattr(parameter, "_runtime_param", descriptor) is not None:
            continue
        parameter._runtime_param = _Plain(parameter, descriptor)  # noqa: SLF001
    for each in getattr(command, "commands", {}).values():
        read_plainly(each)


class _Plain:
    """Stands for what typer would convert values with, until one of them needs that."""

    def __init__(self, parameter: Any, descriptor: Any) -> None:
        self._parameter, info = parameter, descriptor.parameter_info
        free = all(getattr(info, limit, None) is None for limit in _NO_LIMITS)
        self._kind: Any = descriptor.annotation if free else None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if _plain(self._kind, value):
            return _read(self._kind, value)
        self._parameter._runtime_param = None  # noqa: SLF001  # typer makes its own
        return self._parameter.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _plain(kind: Any, value: Any) -> bool:
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return type(value) in {list, tuple} and all(_plain(inner, each) for each in value)
    if kind in _NUMBERS:
        written = type(value) is str and _NUMBERS[kind].fullmatch(value) is not None
        return written or type(value) is kind
    return kind in {str, bool} and type(value) is kind


def _read(kind: Any, value: Any) -> Any:
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return [_read(inner, each) for each in value]
    return kind(value)
