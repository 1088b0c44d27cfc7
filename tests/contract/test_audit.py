"""What ``quaestor.audit`` promises: its names, and their words."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from quaestor import audit

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "auditing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", audit.__all__)
def test_every_name_is_documented(name: str) -> None:
    value = getattr(audit, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert len(inspect.cleandoc(value.__doc__ or "").split("\n")[0]) > 15
    assert f"`{name}" in PAGE or f"audit.{name}" in PAGE


def test_the_command_line_does_without_the_auditor_until_it_is_asked_for() -> None:
    code = (
        "import sys, quaestor.cli.app\n"
        "print([name for name in sys.modules if name.startswith('quaestor.audit')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
