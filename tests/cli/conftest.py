"""The command line, called as a shell would call it, inside this process."""

import pytest

from tests.cli.running import Run, run_here


@pytest.fixture
def quaestor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; what would be a traceback in a shell is an exception here."""
    return run_here(monkeypatch, capsys)
