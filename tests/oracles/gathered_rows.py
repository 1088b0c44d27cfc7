"""Exact figures of cells from rows, one row after another: the slow obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.measurement import value_of
from quaestor.curator.kernel.measures import Units, ValueCounts

if TYPE_CHECKING:
    from quaestor.curator.kernel.measurement import Cells
    from quaestor.curator.kernel.statement import CellStatement

__all__ = ["gathered_rows"]

_FARTHEST = 2**62


def gathered_rows(  # noqa: C901 (one row after another)
    asked: Cells, answers: list[tuple[CellStatement, list[tuple[Any, ...]]]]
) -> tuple[Any, list[int], list[Any], int]:
    """The keys of groups, their units, their figures, and how often something was corrected."""
    numbered = any(key.codes is not None for key in asked.keys)
    width = int(numbered) + sum(key.codes is None for key in asked.keys)
    if asked.count is None:
        rows = sorted(answers[0][1], key=lambda row: [_place(code) for code in row[:width]])
        cells = {row[:width]: at for at, row in enumerate(rows)}
        groups = [_labels(asked, cell) for cell in cells]
    else:
        cells = {(at,) if numbered else (): at for at in range(asked.count)}
        groups = None
    units, corrected = [0] * len(cells), 0
    figures: list[Any] = []

    def figure(value: Any, low: int) -> int:
        nonlocal corrected
        try:
            number = 0 if value is None else int(value)
        except (TypeError, ValueError, OverflowError):
            corrected += 1
            return 0
        inside = min(max(number, low), _FARTHEST)
        corrected += inside != number
        return inside

    for at, (statement, rows) in enumerate(answers):
        known = [(cells.get(row[:width]), row[width:]) for row in rows]
        corrected += sum(place is None for place, _ in known)
        there = [(place, row) for place, row in known if place is not None]
        if at == 0:
            for place, row in there:
                units[place] = figure(row[0], 0)
        if isinstance(statement.measures[0], ValueCounts):
            counts: list[dict[int, int]] = [{} for _ in cells]
            for place, (value, number) in there:
                counts[place][figure(value, -_FARTHEST)] = figure(number, 0)
            figures.append([dict(sorted(each.items())) for each in counts])
            continue
        for column, measure in enumerate(statement.measures, 1):
            listed = [0] * len(cells)
            for place, row in there:
                listed[place] = figure(row[column], 0 if type(measure) is Units else -_FARTHEST)
            figures.append(listed)
    return groups, units, figures, corrected


def _place(code: Any) -> tuple[bool, bool, Any]:
    return code is None, isinstance(code, str), 0 if code is None else code


def _labels(asked: Cells, cell: tuple[Any, ...]) -> tuple[Any, ...]:
    codes, labels = list(cell), []
    number = codes.pop(0) if any(key.codes is not None for key in asked.keys) else 0
    for key in reversed(asked.keys):
        if key.codes is None:
            labels.append(value_of(codes.pop(), key.kind))
        else:
            number, place = divmod(number, len(key.codes))
            labels.append(place)
    return tuple(reversed(labels))
