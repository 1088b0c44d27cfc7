"""Values that are read without typer are read as typer reads them, or by typer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer

from quaestor.cli.app import app
from quaestor.cli.plain_values import read_plainly

if TYPE_CHECKING:
    from collections.abc import Iterator

# fmt: off
WRITTEN = (
    "", " ", "0", "00", "-0", "+0", "1", "01", "-1", "+1", "1.", ".5", "0.5", "-0.0", "1e3", "1e",
    "1E-3", "1e-400", "1e400", "9" * 14, "9" * 16, "9" * 40, "1_000", "1,5", "0x10", "nan", "-inf",
    "Infinity", "\u0661", "\uff11", "1\n", " 1", "1 ", "true", "False", "no", "None", "text", "--",
    "\u00e9", "\ud800", "1/3", "5.0", "a,b", "{}",
)
# fmt: on
GIVEN: tuple[Any, ...] = (None, True, False, 0, 1, -3, 0.0, -0.0, 2.5, 10**30, b"1", (), [], ("1",))


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, f"{path} {name}")


def parameters() -> dict[str, tuple[Any, Any]]:
    """Of each kind of value that some command takes, one parameter and its command."""
    found: dict[str, tuple[Any, Any, Any]] = {}
    for path, command in commands(typer.main.get_command(app)):
        for parameter in command.get_params(typer.Context(command)):
            descriptor = parameter.type_descriptor
            if descriptor.is_path or descriptor.is_file:  # typer looks at files: nothing is plain
                continue
            info = descriptor.parameter_info
            kind = (descriptor.annotation, info.min, info.max, info.parser, parameter.nargs)
            found.setdefault(f"{path} {parameter.name}: {kind}", (kind, parameter, command))
    once = {repr(kind): (parameter, command) for kind, parameter, command in found.values()}
    assert len(once) > 5
    return once


def outcome(parameter: Any, command: Any, value: Any) -> tuple[str, str]:
    context = typer.Context(command)
    try:
        made = parameter.get_runtime_param().coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return "refused", error.format_message()
    except Exception as error:  # noqa: BLE001  # whatever typer does with what no line can hold
        return "failed", type(error).__name__
    return "read", f"{type(made).__name__} {made!r}"


@pytest.mark.parametrize(("kind", "place"), parameters().items())
def test_a_value_is_read_as_typer_reads_it(kind: str, place: tuple[Any, Any]) -> None:
    del kind
    parameter, command = place
    values = [*WRITTEN, *GIVEN, *((each,) for each in WRITTEN), *([each] for each in GIVEN)]
    for value in values:
        parameter._runtime_param = None
        by_typer = outcome(parameter, command, value)
        parameter._runtime_param = None
        read_plainly(command)
        assert type(parameter._runtime_param).__name__ == "_Plain"
        assert outcome(parameter, command, value) == by_typer, value
