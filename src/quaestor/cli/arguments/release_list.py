"""From what was typed for releases to releases: expressions, and files of curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.accounting.expressions import parse_releases
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.releases import Release

__all__ = ["read_releases"]


def read_releases(texts: Iterable[str]) -> list[Release]:
    """Each text is an expression, or ``@curve.csv`` and perhaps ``* count``."""
    releases: list[Release] = []
    for text in texts:
        if not text.startswith("@"):
            if text.partition(" * ")[0].strip().lower().endswith(".csv"):
                meant = f"an expression, or a curve in a file as @{text}"
                raise InvalidParameter("release", text, meant)
            releases += parse_releases(text)
            continue
        from quaestor.interop.curve_file import read_curve

        name, times, count = text[1:].rpartition(" * ")
        if not times:
            name, count = text[1:], "1"
        if not count.isdigit():
            raise InvalidParameter("release", text, "@file.csv, or @file.csv * count")
        releases.append(read_curve(Path(name)) * int(count))
    return releases
