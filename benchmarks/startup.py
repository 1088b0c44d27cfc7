"""What a user waits for before the first answer: imports, and the command line from cold."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

__all__ = ["COMMAND_LINE", "STARTUPS", "Startup", "median_seconds"]

_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """Something to start: its name, and what follows ``python`` on the command line."""

    name: str
    arguments: tuple[str, ...]


def _statement(code: str) -> Startup:
    return Startup(name=code, arguments=("-c", code))


COMMAND_LINE = Startup(
    name='quaestor epsilon --delta 1e-6 "ApproxDP(epsilon=0.1, delta=1e-8) * 30"',
    arguments=(
        *("-m", "quaestor", "epsilon", "--delta", "1e-6"),
        "ApproxDP(epsilon=0.1, delta=1e-8) * 30",
    ),
)

STARTUPS = (
    _statement("pass"),
    _statement("import quaestor"),
    _statement("import dp_accounting"),
    _statement("from dp_accounting.pld import privacy_loss_distribution"),
    COMMAND_LINE,
)


def median_seconds(startup: Startup) -> float:
    """The median of five runs in fresh processes, after one that warms the disk's cache."""
    command = (sys.executable, *startup.arguments)
    seconds = []
    for _ in range(_RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])
