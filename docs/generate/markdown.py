"""Text that means the same in Markdown as it does in a docstring."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NOTICE", "escaped", "one_line", "table"]

NOTICE = "Written by `python -m docs.generate` from the code; do not edit."


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


def escaped(text: str) -> str:
    """Plain text, with code of docstrings and of rich as Markdown's, and nothing else special."""
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"``\1``", text)
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)
    pieces = re.split(r"``(.+?)``", text)
    for i, piece in enumerate(pieces):
        pieces[i] = f"`{piece}`" if i % 2 else re.sub(r"([*_<>\[\]`|$\\])", r"\\\1", piece)
    return "".join(pieces)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table; a bar in a cell stays in its cell."""
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(cell.strip() for cell in line) + " |" for line in lines] + [""]
