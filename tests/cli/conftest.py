"""The command line, called as a shell would call it, inside this process."""

import sys

import pytest

from quaestor.cli.app import main
from tests.cli.running import Outcome, Run


@pytest.fixture
def quaestor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; what would be a traceback in a shell is an exception here."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["quaestor", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, printed.out, printed.err)

    return run
