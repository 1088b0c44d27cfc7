"""Who follows the README, or the guide, from a Parquet file gets to a first private answer."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quaestor.cli.app import main

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
README = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Ask a private table\n")[1]
TEXTS = {
    "README": README.split("\n## ")[0],
    "guide": (ROOT / "docs/guide/first-private-answer.md").read_text(encoding="utf-8"),
}


Run = Callable[[str], list[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a new folder, which is called clinic; the lines that it prints."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)

    def running(command: str) -> list[str]:
        words = shlex.split(command)
        if words[0] != "quaestor":
            done = subprocess.run(
                [sys.executable, *words], capture_output=True, text=True, check=True
            )
            return done.stdout.splitlines()
        monkeypatch.setattr(sys, "argv", words)
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        printed = capsys.readouterr()
        text = (printed.out + printed.err).replace(str(folder), "clinic")
        return [line.rstrip() for line in text.splitlines()]

    return running


def comparable(command: str, lines: list[str]) -> list[str]:
    """Of an answer's table, whose figures are noise, only the words; everything else as it is."""
    if not command.startswith("quaestor query"):
        return lines
    drawn = [line for line in lines if line[:1] in {"┃", "│"}]
    beyond = re.compile(r"(?<=beyond them: )[0-9,]+ to [0-9,]+")
    said = [beyond.sub("...", line) for line in lines if line[:1] not in set("┏┃┡│└")]
    words = re.findall(r"[A-Za-z]+", " ".join(drawn))  # long cells are broken where noise has it
    return [line for line in said if "cut by caps or bounds" not in line] + sorted(words)


def follow(run: Run, kind: str, block: str) -> int:
    """Do what a block says; how many outputs were compared."""
    first, _, rest = block.partition("\n")
    if kind == "text":
        command = first.removeprefix("$ ")
        assert comparable(command, run(command)) == comparable(command, rest.splitlines())
        return 1
    if kind == "python" and first.startswith("# "):
        Path(first.removeprefix("# ")).write_text(rest, encoding="utf-8")
    elif kind == "python":
        Path("asked.py").write_text(block, encoding="utf-8")
        assert "visits_error" in "\n".join(run("asked.py"))
        return 1
    elif kind == "toml":
        with Path("quaestor.toml").open("a", encoding="utf-8") as catalog:
            catalog.write(f"\n{rest}")
    elif kind == "console":
        for line in block.splitlines():
            if not line.startswith("pip "):
                assert not any(said.startswith("quaestor: ") for said in run(_bare(line)))
    return 0


def _bare(line: str) -> str:
    return line.removeprefix("python ")


@pytest.mark.parametrize("name", TEXTS)
def test_every_step_to_a_first_answer_works_and_prints_what_is_shown(name: str, run: Run) -> None:
    compared = sum(follow(run, kind, block) for kind, block in FENCE.findall(TEXTS[name]))
    assert compared >= 4
