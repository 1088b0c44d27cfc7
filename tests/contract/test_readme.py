"""What the README shows is what the commands print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```console\n\$ (quaestor [^\n]*)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"```toml\n# (\S+\.toml)\n(.*?)```", re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN, FILES = BLOCK.findall(README), FILE.findall(README)


def test_the_readme_shows_every_command() -> None:
    commands = {command.split()[1] for command, _ in SHOWN}
    assert commands >= {"epsilon", "delta", "explain", "calibrate", "count"}
    assert commands >= {"across", "variance", "region", "demo"}


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_of_the_readme_prints_what_it_shows(
    command: str, output: str, tmp_path: Path
) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    assert lines == output.splitlines()
