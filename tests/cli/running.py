"""What a run of the command line leaves behind, and the ways to start one."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import pytest

from quaestor.cli.app import main

__all__ = ["Outcome", "Run", "run_here", "run_process", "strict_json"]

_WITHIN_LIMITS = """\
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
del sys.argv[1]
from quaestor.cli.app import main
sys.argv[0] = "quaestor"
main()
"""


class Outcome(NamedTuple):
    """The exit status and all that was printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one line of strict JSON with nothing beside it."""
        assert self.status == 0, self.err
        assert self.err == ""
        assert self.out.count("\n") == 1
        return strict_json(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """Standard error, which must be one JSON object that describes the error."""
        assert self.out == ""
        described = strict_json(self.err)
        assert set(described) == {"error"}
        error: dict[str, Any] = described["error"]
        assert {"code", "message"} <= set(error)
        return error


Run = Callable[..., Outcome]


def strict_json(text: str) -> Any:
    """Read JSON that other languages can read too: no bare NaN or Infinity."""

    def refuse(name: str) -> NoReturn:
        message = f"{name} is not JSON"
        raise AssertionError(message)

    return json.loads(text, parse_constant=refuse)


def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process; a traceback in a shell is an exception here."""
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


def run_process(*arguments: str, cpu_seconds: int = 60) -> Outcome:
    """Run the command in a process of its own, with 4 GiB of memory and so much CPU time."""
    process = subprocess.run(
        [sys.executable, "-c", _WITHIN_LIMITS, str(cpu_seconds), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return Outcome(process.returncode, process.stdout, process.stderr)
