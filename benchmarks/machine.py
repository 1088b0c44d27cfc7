"""What the numbers were measured on: hardware and versions, nothing that names a host."""

from __future__ import annotations

import datetime as dt
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.source import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["load", "machine"]

_LIBRARIES = ("quaestor-dp", "python-flint", "numpy", "dp-accounting", "prv-accountant", "scipy")
_CPU = Path("/proc/cpuinfo")


def machine(libraries: Sequence[str] = _LIBRARIES) -> dict[str, str]:
    """Name and value of everything worth knowing about this run."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in libraries),
        "quaestor's source": fingerprint("quaestor"),
    }


def load() -> str:
    """How many processes wanted a core in the last minute; the benchmark itself is one of them."""
    return f"{os.getloadavg()[0]:.2f}"


def _processor() -> str:
    if _CPU.exists():
        for line in _CPU.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
