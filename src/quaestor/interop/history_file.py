"""A history that was released elsewhere, read from a file, a line for each release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quaestor.accounting.expressions import parse_releases
from quaestor.accounting.releases import counts_of
from quaestor.accounting.releases.codec import release_from_json
from quaestor.errors import InvalidHistory, InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.accounting.releases import Release

__all__ = ["read_history"]

_EVENT = re.compile(r"\w+DpEvent\b")


def read_history(path: Path) -> tuple[Release, ...]:
    """The releases of a file: equal ones are counted, empty lines and ``#`` lines left out.

    A line is an event as dp-accounting prints it, or a release as JSON, or a release as an
    expression. Events are read as promises about one person who comes or goes, which is what the
    releases of an account are about.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        raise InvalidParameter(
            "file", str(path), f"a file that can be read ({problem.strerror})"
        ) from None
    except UnicodeDecodeError:
        raise InvalidParameter("file", str(path), "a text in UTF-8") from None
    releases: list[Release] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            releases += _of_line(text, number, file=str(path))
    if not releases:
        raise InvalidParameter("file", str(path), "a history of at least one release")
    return tuple(release * count for release, count in counts_of(releases).items())


def _of_line(text: str, number: int, *, file: str) -> tuple[Release, ...]:
    try:
        if text.startswith("{"):
            return (release_from_json(text),)
        if _EVENT.match(text):
            from quaestor.interop.dp_accounting import event_from_text, from_dp_event

            return from_dp_event(event_from_text(text))
        return tuple(parse_releases(text))
    except InvalidParameter as problem:
        raise InvalidHistory(file=file, line=number, problem=str(problem)) from None
