"""Every command with its arguments and options, as ``--help`` says them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from docs.generate.markdown import NOTICE, escaped, one_line, table
from quaestor.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["commands_page"]

_INTRODUCTION = """\
Every command with its options, as `quaestor COMMAND --help` prints them. How releases, plan files,
JSON and exit status work is on [the command line](cli.md)."""


def commands_page() -> str:
    """The page of all commands."""
    root: Any = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        _INTRODUCTION,
        "",
        f"*{NOTICE}*",
        "",
        *table(("command", "what it does"), list(_overview(root))),
        "## Options of `quaestor` itself",
        "",
        *_parameters(root),
    ]
    for name, command in root.commands.items():
        lines += _section(f"quaestor {name}", command, "##")
    return "\n".join(lines).rstrip() + "\n"


def _overview(root: Any) -> Iterator[tuple[str, str]]:
    for name, command in root.commands.items():
        first = escaped(one_line((command.help or "").split("\n\n")[0]))
        yield f"[`{name}`](#quaestor-{name})", first


def _section(path: str, command: Any, level: str) -> list[str]:
    lines = [f"{level} `{path}`", ""]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [escaped(one_line(paragraph)), ""]
    inner: dict[str, Any] = getattr(command, "commands", {})
    if inner:
        for name, each in inner.items():
            lines += _section(f"{path} {name}", each, level + "#")
        return lines
    pieces = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    lines += ["```text", " ".join([path, "[OPTIONS]", *pieces]), "```", ""]
    return lines + _parameters(command)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name.strip('[]')}]"


def _parameters(command: Any) -> list[str]:
    rows = [
        (_names(each), _meaning(each))
        for each in command.params
        if not each.hidden and each.name != "help"
    ]
    return table(("option", "meaning"), rows) if rows else []


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_argument(parameter)}`"
    longest_first = sorted(parameter.opts, key=len, reverse=True)
    kind = "" if parameter.is_flag else f" {_kind(parameter)}"
    return ", ".join(f"`{name}{kind}`" for name in [*longest_first, *parameter.secondary_opts])


def _kind(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    shown = parameter.type_descriptor.annotation
    names = {float: "NUMBER", int: "NUMBER", str: "TEXT"}
    values = [each.value for each in shown] if hasattr(shown, "__members__") else []
    word = "/".join(values) or names.get(shown, "PATH")
    return " ".join([word] * max(1, parameter.nargs))


def _meaning(parameter: Any) -> str:
    told = [escaped(one_line(parameter.help or ""))]
    if parameter.required and parameter.param_type_name == "option":
        told.append("Required.")
    if parameter.multiple:
        told.append("May be repeated.")
    if parameter.envvar:
        told.append(f"Environment: `{parameter.envvar}`.")
    default = parameter.default
    if parameter.show_default and default not in (None, False, True, "", [], ()):
        told.append(f"Default: `{getattr(default, 'value', default)}`.")
    return " ".join(told)
