"""Sessions in the documentation, played from their beginning to their end in one folder.

All console blocks of a page are one session. Times and hashes differ from run to run, and nothing
else may.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from quaestor.cli.app import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
FILE = re.compile(r"```(?:toml|text)\n# (\S+\.(?:toml|txt))\n(.*?)```", re.DOTALL)
ONCE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\d{4}(-\d\d){2} \d\d:\d\d"), "TIME"),
)


class Session(NamedTuple):
    """Commands with what they print, and the files that they need."""

    steps: tuple[tuple[str, list[str]], ...]
    files: tuple[tuple[str, str], ...]


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Commands after a dollar, each with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def session(page: Path) -> Session:
    """What is played on a page."""
    text = page.read_text(encoding="utf-8")
    played = tuple(step for block in BLOCK.findall(text) for step in steps(block))
    return Session(played, tuple(FILE.findall(text)))


PAGES = ("guide/ledger", "guide/ci")
SESSIONS = {name: session(ROOT / "docs" / f"{name}.md") for name in PAGES}


def as_always(lines: list[str]) -> list[str]:
    """The lines without what differs from run to run."""
    text = "\n".join(line.rstrip() for line in lines)
    for pattern, word in ONCE:
        text = pattern.sub(word, text)
    return text.splitlines()


def test_the_guide_to_the_ledger_plays_every_command() -> None:
    assert all(each.steps for each in SESSIONS.values())
    played = {" ".join(step.split()[1:3]) for step, _ in SESSIONS["guide/ledger"].steps}
    account = {"account open", "account show", "account list", "account charge", "account close"}
    assert played >= account | {"ledger log", "ledger verify", "ledger export", "ledger import"}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_prints_what_is_shown(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    for file, text in SESSIONS[name].files:
        Path(file).write_text(text, encoding="utf-8")
    status: object = 0
    for command, shown in SESSIONS[name].steps:
        words = shlex.split(command)
        if words[0] == "export":
            variable, _, value = words[1].partition("=")
            monkeypatch.setenv(variable, value)
            printed = ""
        elif command == "echo $?":
            printed = f"{status}\n"
        else:
            assert words[0] == "quaestor", command
            monkeypatch.setattr(sys, "argv", words)
            with pytest.raises(SystemExit) as left:
                main()
            status, streams = left.value.code, capsys.readouterr()
            printed = streams.out + streams.err
        assert as_always(printed.splitlines()) == as_always(shown), command
