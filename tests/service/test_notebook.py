"""Notebooks and terminals: ``%%quaestor`` in a real shell, against a real service."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import quaestor as q
from quaestor.curator.answers.answer import Answer
from quaestor.curator.preview import Preview
from tests.service.running import COUNT, RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """The shell of a notebook, without its kernel."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        _run(made, "%load_ext quaestor.notebook")
        yield made
    finally:
        InteractiveShell.clear_instance()


def _run(shell: InteractiveShell, cell: str) -> tuple[Any, str]:
    """What a cell comes to, and all that it shows as text."""
    with capture_output() as shown:
        done = shell.run_cell(cell)  # type: ignore[no-untyped-call]
    outputs = [str(each.data.get("text/plain", "")) for each in shown.outputs]
    return done, "\n".join([shown.stdout, shown.stderr, *outputs])


def test_a_cell_asks_a_service_and_shows_the_answer(
    service: RunningService, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUAESTOR_TOKEN", service.tokens["ann"])
    asked = f"--account research --server {service.url}"
    seen, _ = _run(shell, f"%%quaestor --epsilon 0.9 {asked} --preview\n{WARDS}")
    assert isinstance(seen.result, Preview)
    done, shown = _run(shell, f"%%quaestor --epsilon 0.9 {asked} --into wards\n{WARDS}\n")
    done.raise_error()
    answer = shell.user_ns["wards"]
    assert isinstance(answer, Answer)
    assert done.result is answer
    formatter: Any = shell.display_formatter
    assert "<table" in formatter.format(answer)[0]["text/html"]
    assert answer == q.connect(service.url, token=service.tokens["ann"]).ask(
        WARDS, epsilon=0.9, account="research"
    )
    assert service.tokens["ann"] not in shown


def test_what_is_wrong_is_one_line_that_says_what_to_do(
    service: RunningService, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUAESTOR_TOKEN", raising=False)
    asked = f"--account research --server {service.url}"
    done, shown = _run(shell, f"%%quaestor --epsilon 1 {asked}\n{COUNT}")
    assert isinstance(done.error_in_exec, q.InvalidParameter)
    assert "QUAESTOR_TOKEN" in shown
    assert "Traceback" not in shown
    monkeypatch.setenv("QUAESTOR_TOKEN", service.tokens["ann"])
    done, shown = _run(shell, f"%%quaestor --epsilon 1 {asked}\nSELECT patient FROM visits")
    assert isinstance(done.error_in_exec, q.RefusedQuery)
    assert "Traceback" not in shown
    for line in (f"{asked} --into 1x", f"{asked} --catalog {service.catalog}", "--epsilon x"):
        done, _ = _run(shell, f"%%quaestor --epsilon 1 {line}\n{COUNT}")
        assert done.error_in_exec is not None


def test_a_cell_asks_a_catalog_in_this_process(
    service: RunningService, shell: InteractiveShell
) -> None:
    asked = f"--within 500 --account research --catalog {service.catalog} --into n"
    done, _ = _run(shell, f"%%quaestor {asked}\n{COUNT}")
    done.raise_error()
    assert shell.user_ns["n"].account == "research"


def test_without_ipython_the_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['IPython'] = None\n"
        "from quaestor.notebook import load_ipython_extension\n"
        "load_ipython_extension(None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtra" in done.stderr
    assert "[notebook]" in done.stderr


TELL = """
from quaestor.client.progress_line import shown_progress
with shown_progress({0}) as tell:
    tell("planning")
    tell("computing")
"""


def test_a_notebook_shows_how_far_it_is_in_one_output(shell: InteractiveShell) -> None:
    with capture_output() as shown:
        done = shell.run_cell(TELL.format(None))  # type: ignore[no-untyped-call]
    done.raise_error()
    told = [each.data["text/plain"] for each in shown.outputs]
    assert told == ["planning ...", "computing ...", ""]
    assert not shown.stderr


@pytest.mark.parametrize("progress", [None, False])
def test_a_terminal_shows_how_far_it_is_and_clears_the_line(progress: object) -> None:
    mine, theirs = pty.openpty()
    script = [sys.executable, "-c", TELL.format(progress)]
    done = subprocess.run(script, stderr=theirs, check=False)
    os.write(theirs, b"end")
    shown = ""
    while not shown.endswith("end"):
        shown += os.read(mine, 10_000).decode()
    os.close(theirs)
    os.close(mine)
    line = "\r\x1b[2Kplanning ...\r\x1b[2Kcomputing ...\r\x1b[2K" if progress is None else ""
    assert shown == f"{line}end"
    assert done.returncode == 0
