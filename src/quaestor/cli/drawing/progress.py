"""Progress on long questions: a spinner on standard error, for people, after half a second."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["waiting"]

_PATIENCE = 0.5


@contextmanager
def waiting() -> Iterator[Callable[[str], None]]:
    """Give a function that is told what is being done; it is shown if it takes long."""
    if not sys.stderr.isatty():
        yield lambda _doing: None
        return
    from rich.console import Console

    status = Console(stderr=True).status("working ...")
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda doing: status.update(f"{doing} ...")
    finally:
        timer.cancel()
        timer.join()
        status.stop()
