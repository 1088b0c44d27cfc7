"""How far a question is, for a person who waits: one line in a terminal or a notebook."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["shown_progress"]

_WORDS = {
    "queued": "waiting for a free place",
    "waiting": "waiting for a free place",
    "planning": "planning",
    "computing": "computing",
}


class _ShownLine(Protocol):
    def say(self, phase: str) -> None: ...

    def clear(self) -> None: ...


@contextmanager
def shown_progress(
    progress: Callable[[str], None] | bool | None,  # noqa: FBT001
) -> Iterator[Callable[[str], None]]:
    """Whom to tell how far a question is: somebody's own function, a line on the screen, or nobody.

    None shows a line where a person watches, True always, False never.
    """
    if callable(progress):
        yield progress
        return
    line = None if progress is False else _line(always=progress is True)
    if line is None:
        yield _ignore
        return
    try:
        yield line.say
    finally:
        line.clear()


def _line(*, always: bool) -> _ShownLine | None:
    shell = _notebook_shell()
    if shell is not None:
        return _NotebookLine()
    return _TerminalLine() if always or sys.stderr.isatty() else None


def _notebook_shell() -> Any | None:
    """The shell of a notebook's kernel, if this process is one; nothing is imported for it."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    shell = get_ipython()
    return None if isinstance(shell, TerminalInteractiveShell) else shell


class _TerminalLine:
    """The last line of a terminal, written over and over."""

    def say(self, phase: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{_WORDS.get(phase, phase)} ...")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class _NotebookLine:
    """One output below a cell, replaced by the next phase and empty at the end."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._said = ""

    def say(self, phase: str) -> None:
        if phase != self._said:
            self._said = phase
            self._show(f"{_WORDS.get(phase, phase)} ...")

    def clear(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        from IPython.display import DisplayHandle

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = DisplayHandle()  # type: ignore[no-untyped-call]
            self._handle.display(data, raw=True)
        else:
            self._handle.update(data, raw=True)


def _ignore(_phase: str) -> None:
    """Tell nobody."""
