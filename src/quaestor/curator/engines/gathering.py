"""What the engine's statements yield, put together as one :class:`Measured`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.base import Measured
from quaestor.curator.engines.codes import decoded, encoded
from quaestor.curator.measures import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.curator.engines.planning import Step
    from quaestor.curator.language.expressions import Value
    from quaestor.curator.measures import Measure
    from quaestor.curator.query import Query

__all__ = ["gathered"]

Codes = tuple[Any, ...]


def gathered(query: Query, answers: Sequence[tuple[Step, list[tuple[Any, ...]]]]) -> Measured:
    """Every group of the query with all its measures, zero where the engine has no row."""
    width = len(query.keys)
    first = {_codes(row[:width], query): row[width:] for row in answers[0][1]}
    codes, groups = _groups(query, first)
    places = {code: place for place, code in enumerate(codes)}
    units = [int(first[code][0] or 0) if code in first else 0 for code in codes]
    values: dict[Measure, list[int]] = {}
    histograms: dict[Histogram, list[dict[int, int]]] = {}
    for at, measure in enumerate(answers[0][0].measures, start=1):
        values[measure] = [int(first[c][at] or 0) if c in first else 0 for c in codes]
    for step, rows in answers[1:]:
        (measure,) = step.measures
        found = [(places.get(_codes(row[:width], query)), row[width:]) for row in rows]
        if isinstance(measure, Histogram):
            histograms[measure] = _histograms(found, len(codes))
        else:
            values[measure] = _column(found, len(codes))
    return Measured(groups=groups, values=values, units=units, histograms=histograms)


def _codes(row: tuple[Any, ...], query: Query) -> Codes:
    return tuple(
        encoded(decoded(code, key.kind), key.kind)
        for code, key in zip(row, query.keys, strict=True)
    )


def _groups(query: Query, found: Iterable[Codes]) -> tuple[list[Codes], list[tuple[Value, ...]]]:
    kinds = [key.kind for key in query.keys]
    listed = [key.values for key in query.keys]
    if all(values is not None for values in listed):
        groups = list(product(*(dict.fromkeys(values or ()) for values in listed)))
        codes = [tuple(encoded(v, k) for v, k in zip(g, kinds, strict=True)) for g in groups]
        return codes, groups
    codes = sorted(found, key=lambda code: [(one is not None, _sortable(one)) for one in code])
    decoding = [tuple(_value(c, k) for c, k in zip(code, kinds, strict=True)) for code in codes]
    return codes, decoding


def _sortable(code: Any) -> tuple[int, str]:
    return (code, "") if isinstance(code, int) else (0, str(code))


def _value(code: Any, kind: Any) -> Value:
    return decoded(code, kind)


def _column(found: list[tuple[int | None, tuple[Any, ...]]], size: int) -> list[int]:
    column = [0] * size
    for place, row in found:
        if place is not None:
            column[place] = int(row[0] or 0)
    return column


def _histograms(found: list[tuple[int | None, tuple[Any, ...]]], size: int) -> list[dict[int, int]]:
    counts: list[dict[int, int]] = [{} for _ in range(size)]
    for place, (value, count) in sorted(
        (place, (int(row[0]), int(row[1]))) for place, row in found if place is not None
    ):
        counts[place][value] = count
    return counts
