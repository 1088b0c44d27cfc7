"""``quaestor --install-completion``: a shell then completes commands and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ASKED = """
source "$HOME/.bashrc"
ask() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _quaestor_completion quaestor
  echo "${COMPREPLY[@]}"
}
ask quaestor acc
ask quaestor account ch
ask quaestor epsilon --de
"""


def test_bash_completes_commands_and_options_once_completion_is_installed(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent  # where the command is installed
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",  # the shell is named
    }
    install = [str(programs / "quaestor"), "--install-completion", "bash"]
    subprocess.run(install, env=env, check=True, capture_output=True)
    done = subprocess.run(
        ["bash", "-c", ASKED],  # noqa: S607  # whichever bash there is
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["account", "charge", "--delta"]
