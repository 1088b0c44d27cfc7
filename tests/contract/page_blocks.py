"""Code blocks of the pages: found, followed in a folder, and compared with what commands print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quaestor.cli.app import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str], list[str]]

__all__ = ["ROOT", "comparable", "fences", "follow", "running_in"]

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
DRAWN = set("┏┃┡│└")
NOISY = ("query", "audit", "release", "people link", "token create")
"""Commands whose figures differ from run to run."""
VARIES = (
    (re.compile(r"\bqs[tl]_[\w-]+"), "SECRET"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "HASH"),
    (re.compile(r"\d{4}(-\d\d){2}"), "DATE"),
    (re.compile(r"[█░]+"), "BAR"),
    (re.compile(r"-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?"), "0"),
)


def fences(page: str) -> list[tuple[str, str]]:
    """The blocks of a page: what each is written in, and its text."""
    return FENCE.findall((ROOT / page).read_text(encoding="utf-8"))


def comparable(command: str, lines: list[str]) -> list[str]:
    """What a command prints, without the figures if noise or secrets are in them.

    Of a noisy table only the words are compared, for where its cells are broken depends on noise.
    """
    if not command.removeprefix("quaestor ").startswith(NOISY):
        return lines
    words = re.findall(r"[A-Za-z]+", " ".join(line for line in lines if line[:1] in DRAWN))
    said = "\n".join(line for line in lines if line[:1] not in DRAWN)
    for pattern, word in VARIES:
        said = pattern.sub(word, said)
    return [line for line in said.splitlines() if "cut by caps or bounds" not in line] + words


def running_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """What runs a command in a folder, which is called by its name; the lines that it prints."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)

    def running(command: str) -> list[str]:
        words = shlex.split(command)
        if words[0] != "quaestor":
            assert words[0] == "python", command
            done = subprocess.run(
                [sys.executable, *words[1:]], capture_output=True, text=True, check=True
            )
            return done.stdout.splitlines()
        monkeypatch.setattr(sys, "argv", words)
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        printed = capsys.readouterr()
        text = (printed.out + printed.err).replace(str(folder), folder.name)
        return [line.rstrip() for line in text.splitlines()]

    return running


def follow(run: Run, kind: str, block: str) -> int:
    """Do what a block says; how many outputs were compared.

    A block of text starts with a command after a dollar, and shows what it prints. One of Python or
    TOML names its file in the first line; TOML is added to it. Commands of other blocks must work.
    """
    first, _, rest = block.partition("\n")
    if kind == "text" and first.startswith("$ "):
        command = first.removeprefix("$ ")
        assert comparable(command, run(command)) == comparable(command, rest.splitlines())
        return 1
    if kind == "python" and first.startswith("# "):
        Path(first.removeprefix("# ")).write_text(rest, encoding="utf-8")
    elif kind == "python" and not first.startswith(">>>"):
        Path("asked.py").write_text(block, encoding="utf-8")
        assert "| visits (0.95) |" in "\n".join(run("python asked.py"))
        return 1
    elif kind == "toml":
        with Path("quaestor.toml").open("a", encoding="utf-8") as catalog:
            catalog.write(f"\n{rest}")
    elif kind == "console":
        for line in block.splitlines():
            if not line.startswith("pip "):
                assert not any(said.startswith("quaestor: ") for said in run(line))
    return 0
