"""Who follows the README, or the guide, from a Parquet file gets to a first private answer."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
README = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Ask a private table\n")[1]
TEXTS = {
    "README": README.split("\n## ")[0],
    "guide": (ROOT / "docs/guide/first-private-answer.md").read_text(encoding="utf-8"),
}


def run(folder: Path, command: str) -> list[str]:
    """The lines that a command prints in a folder, which is called clinic."""
    done = subprocess.run(
        [sys.executable, *(["-m"] * command.startswith("quaestor")), *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = (done.stdout + done.stderr).replace(str(folder), "clinic")
    return [line.rstrip() for line in printed.splitlines()]


def comparable(command: str, lines: list[str]) -> list[str]:
    """Of an answer's table, whose figures are noise, only the words; everything else as it is."""
    if not command.startswith("quaestor query"):
        return lines
    drawn = [line for line in lines if line[:1] in {"┃", "│"}]
    return [line for line in lines if line[:1] not in set("┏┃┡│└")] + [
        " ".join(re.findall(r"[A-Za-z]+", line)) for line in drawn
    ]


def follow(folder: Path, kind: str, block: str) -> int:
    """Do what a block says; how many outputs were compared."""
    first, _, rest = block.partition("\n")
    if kind == "text":
        command = first.removeprefix("$ ")
        shown = comparable(command, rest.splitlines())
        assert comparable(command, run(folder, command)) == shown
        return 1
    if kind == "python" and first.startswith("# "):
        (folder / first.removeprefix("# ")).write_text(rest, encoding="utf-8")
    elif kind == "python":
        (folder / "asked.py").write_text(block, encoding="utf-8")
        assert "visits_error" in "\n".join(run(folder, "asked.py"))
        return 1
    elif kind == "toml":
        with (folder / "quaestor.toml").open("a", encoding="utf-8") as catalog:
            catalog.write(f"\n{rest}")
    elif kind == "console":
        for line in block.splitlines():
            enter(folder, line)
    return 0


def enter(folder: Path, line: str) -> None:
    """A line of which no output is shown."""
    if not line.startswith("pip "):
        assert "Traceback (most recent call last):" not in run(folder, line.removeprefix("python "))


@pytest.mark.parametrize("name", TEXTS)
def test_every_step_to_a_first_answer_works_and_prints_what_is_shown(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "clinic"
    folder.mkdir()
    compared = sum(follow(folder, kind, block) for kind, block in FENCE.findall(TEXTS[name]))
    assert compared >= 4
