"""Every command and every option explains itself, in words that need no glossary."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from quaestor.cli.app import app

# STYLE's table: words that read as translated, or that only the project's own glossary explains
FORBIDDEN = (
    r"\bwhom\b",
    r"\breckon",
    r"\bspeaks?\b",
    r"\bhold(s)? together\b",
    r"\bin one voice\b",
    r"\btold\b",
    r"\bnobody\b",
    r"\bsomebody\b",
    r"\bmoments?\b",
    r"\bmeters?\b",
    r"\bhand(s|ed)? over\b",
    r"\bfor good\b",
    r"\bof no use\b",
    r"\bthere is none\b",
    r"(?<!-)\banew\b",
    r"^(such as|if not|why|of|or)\b",
)
SHORTEST = 12


def _walk(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, Any, Any]]:
    context = typer.Context(command, info_name=path, parent=parent)
    yield path, command, context
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walk(inner, f"{path} {name}", context)


COMMANDS = tuple(_walk(typer.main.get_command(app), "quaestor"))


def _forbidden(text: str) -> list[str]:
    return [word for word in FORBIDDEN if re.search(word, text, re.IGNORECASE)]


def test_all_commands_are_walked() -> None:
    walked = {path for path, _, _ in COMMANDS}
    assert {"quaestor epsilon", "quaestor dataset add", "quaestor token revoke"} <= walked
    assert len(walked) > 50


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=[c[0] for c in COMMANDS])
def test_a_command_and_its_options_say_what_they_do(path: str, command: Any, context: Any) -> None:
    assert command.help, path
    assert command.help.split("\n")[0].endswith("."), f"{path}: {command.help}"
    assert _forbidden(command.help) == [], f"{path}: {command.help}"
    for option in command.get_params(context):
        if "--help" in option.opts:
            continue
        help_text = getattr(option, "help", None)
        where = f"{path} {option.opts[0]}: {help_text}"
        assert help_text, where
        assert len(help_text) >= SHORTEST, where
        assert help_text[0].isupper(), where
        assert _forbidden(help_text) == [], where


@pytest.mark.parametrize(
    "bad",
    ["The column that says whom.", "Why, in one line.", "left (moment 23.5)", "Paid anew."],
)
def test_the_check_sees_what_it_is_for(bad: str) -> None:
    assert _forbidden(bad) != []
