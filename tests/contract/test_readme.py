"""What the README and the pages about accounting show is what the commands print."""

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
PAGES = (
    "README.md",
    "docs/start/first-epsilon.md",
    "docs/guide/accounting.md",
    "docs/guide/batches.md",
    "docs/guide/matrix-mechanisms.md",
)
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
SHOWN = list(dict.fromkeys(block for text in TEXTS.values() for block in BLOCK.findall(text)))
FILES = [file for text in TEXTS.values() for file in FILE.findall(text)]


def test_every_page_shows_commands_and_together_they_show_all() -> None:
    assert all(BLOCK.search(text) for text in TEXTS.values())
    commands = {command.split()[1] for command, _ in SHOWN}
    assert commands >= {"epsilon", "delta", "explain", "calibrate", "count"}
    assert commands >= {"across", "variance", "region", "demo", "matrix"}


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_its_page_shows(command: str, output: str, tmp_path: Path) -> None:
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
