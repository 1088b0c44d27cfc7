"""Private groups that the engine keeps: the groups, figures and draws of those that all come.

Each test of chance fails once in ten billion runs (6.5 deviations, either way).
"""

from __future__ import annotations

import math
import random
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.kernel.draws import NoisyUnits, ShownGroups
from quaestor.curator.kernel.figures import (
    KeptGroups,
    _released,
    drawn_of_kept,
    prepare,
)
from quaestor.curator.kernel.kept_groups import _runs
from quaestor.curator.kernel.measures import RowCount, Units
from quaestor.curator.language.query import Contribution, Scan
from quaestor.mechanisms import OptimalSelection, PartitionSelection
from quaestor.mechanisms.samplers import randomness
from tests.curator.kernel.judging import mentioned
from tests.curator.kernel.kept_rows import differences, every_row
from tests.curator.kernel.pointed import measured, pointed, private
from tests.curator.kernel.tables import Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from quaestor.curator.kernel.figures import Prepared, Released
    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["drawn_from", "law_wrongs", "same_draws", "wrongs"]

_TIMES, _EACH = 20, 200
_CLASSES = (1, 2, 3, 4, 5, 6, 40)
_THRESHOLD = 4


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """All randomness comes from this seed."""
    before = randomness._from_system
    randomness._block.clear()
    randomness._from_system = random.Random(seed).randbytes
    try:
        yield
    finally:
        randomness._from_system = before
        randomness._block.clear()


def _choices(measurement: Measurement) -> Iterator[NoisyUnits | ShownGroups]:
    spread = measurement.spread
    for scale, threshold in ((2.0, 3), (1.0, 2**40)):
        selection = PartitionSelection(scale=scale, threshold=threshold, contributions=spread)
        yield NoisyUnits(measure=Units(), mechanism=selection)
    some = OptimalSelection(epsilon=1.0, delta=0.2, contributions=spread)
    yield ShownGroups(measure=Units(), mechanism=some)


def _shown(released: Released) -> Any:
    return released.groups, [array.tolist() for array in released.figures.values()]


def same_draws(prepared: Prepared) -> Iterator[str]:
    """Whether the same randomness shows the same groups, with the same figures, both ways.

    That of rows that are kept is for groups in the order of their rows: so all groups that come are
    drawn for in that order, too.
    """
    asked = prepared.measurement
    exact, kept = prepared.exact(), prepared.measured()
    assert isinstance(kept, KeptGroups)
    _, at = kept._fetched(every_row(kept))
    for seed, choice in enumerate(_choices(asked)):
        measurement = replace(asked, choice=choice)
        with drawn_from(seed):
            found = drawn_of_kept(measurement, kept)
        with drawn_from(seed):
            units = [exact.units[place] for place in at.tolist()]
            figures: dict[Any, Any] = {}
            if isinstance(choice, NoisyUnits):
                rows, noisy = choice.draw(units)
                figures[choice] = noisy[np.argsort(at[rows])]
            else:
                rows = choice.draw(units)
            wanted = _released(measurement, exact, np.sort(at[rows]), figures)
        if _shown(found) != _shown(wanted):
            yield f"{type(choice).__name__}: others are shown than if all groups come"
    kept.close()


def _all_same(sides: Mapping[str, Side]) -> Iterator[str]:
    for name, asked in pointed():
        if asked.cells.count is not None:
            continue
        for side in ("whole", "nobody"):
            found = _prepared(asked, sides[side])
            wrong = [*differences(found, found.exact()), *same_draws(found)]
            yield from (f"{name}, {side}: {words}" for words in wrong)


def _prepared(asked: Measurement, side: Side) -> Prepared:
    return prepare(asked, table=side.table, wanted=mentioned(asked), database=side)


class _Lost:
    """Kept rows of an engine that numbers them otherwise than it promises."""

    def __init__(self, rows: list[tuple[int, int, int, int]]) -> None:
        self._rows = rows

    def columns(self, sql: str) -> list[tuple[int, int, int, int]]:
        """Units, first and last number, how many."""
        assert "GROUP BY" in sql
        return self._rows


def _misnumbered() -> Iterator[str]:
    for rows in (
        [(1, 0, 9, 9)],  # a gap
        [(1, 0, 7, 9)],  # a number twice
        [(1, 0, 4, 5), (2, 4, 7, 4)],  # two runs share a row
    ):
        try:
            _runs(_Lost(rows), "k", "h1", "({0} // {1})")  # type: ignore[arg-type]
        except ValueError:
            continue
        yield f"rows that are numbered as {rows} are taken"


# The law


def _counted(folder: Path) -> Side:
    """Groups of as many units as their class says, whose codes are in another order."""
    import duckdb

    rows = [(n, at) for n in _CLASSES for at in range(_EACH)]
    random.Random(5).shuffle(rows)
    with duckdb.connect(str(folder / "classes.duckdb")) as connection:
        connection.execute("CREATE TABLE classes (u BIGINT, k BIGINT, n BIGINT)")
        made = [(f"({code * 100 + u}, {code}, {n})") for code, (n, _) in enumerate(rows)
                for u in range(n)]  # fmt: skip
        connection.execute(f"INSERT INTO classes VALUES {', '.join(made)}")
    place = Source(engine="duckdb", connection="classes.duckdb", table="classes")
    table = Table(
        name="classes",
        source=place,
        unit="u",
        dataset="d",
        contribution=Contribution(rows=1, groups=1),
        columns=tuple(ColumnFacts(name=name, kind="integer") for name in "ukn"),
    )
    opened = DuckConnection(Catalog(tables=(), ledger="", folder=str(folder)))
    return Side(opened, {"classes": table})


def _off(seen: int, times: int, chance: float) -> bool:
    return abs(seen - times * chance) > 6.5 * math.sqrt(times * chance * (1 - chance)) + 1


def law_wrongs(folder: Path) -> list[str]:
    """Whether groups are shown with the chances of their class, wherever they are kept."""
    side = _counted(folder)
    keys = (private("k", "integer"),)
    kept = _prepared(measured(Scan("classes"), RowCount(rows=1), keys=keys), side).measured()
    assert isinstance(kept, KeptGroups)
    partition = PartitionSelection(scale=1.0, threshold=_THRESHOLD)
    optimal = OptimalSelection(epsilon=1.0, delta=0.05)
    q = math.exp(-1)
    wrong = [
        *_law_of(
            kept,
            NoisyUnits(measure=Units(), mechanism=partition),
            {n: _reaches(_THRESHOLD - n, q) for n in _CLASSES},
        ),
        *_law_of(
            kept,
            ShownGroups(measure=Units(), mechanism=optimal),
            {n: float(optimal.chance(n).mid()) for n in _CLASSES},
        ),
    ]
    kept.close()
    side.close()
    return wrong


def _law_of(
    kept: KeptGroups, choice: NoisyUnits | ShownGroups, chances: Mapping[int, float]
) -> Iterator[str]:
    """Of each class, both halves of its rows are shown with the chance; classes are stretches."""
    every, at = kept._fetched(every_row(kept))
    assert every.groups is not None
    row_of = {every.groups[place]: row for row, place in enumerate(at.tolist())}
    seen = {n: [0, 0] for n in _CLASSES}
    still = 0
    for _ in range(_TIMES):
        shown, noisy = kept.shown(choice)
        for place, group in enumerate(shown.groups or ()):
            n = shown.units[place]
            seen[n][row_of[group] % _EACH < _EACH // 2] += 1
            still += noisy is not None and n == max(_CLASSES) == noisy[place]
        if noisy is not None and (noisy < _THRESHOLD).any():
            yield "a group is shown with a number below the threshold"
    for n, halves in seen.items():
        if any(_off(half, _TIMES * _EACH // 2, chances[n]) for half in halves):
            yield f"{halves} groups of {n} are shown, of a chance of {chances[n]:.3f}"
    if isinstance(choice, NoisyUnits) and _off(still, _TIMES * _EACH, math.tanh(0.5)):
        yield f"{still} of {_TIMES * _EACH} numbers of units have no noise"


def _reaches(least: int, q: float) -> float:
    """The chance that noise of scale 1 is at least this: the sum of its geometric series."""
    above = q ** abs(least) / (1 + q)
    return above if least >= 0 else 1 - above * q


def wrongs(sides: Mapping[str, Side], folder: Path) -> list[str]:
    """What is wrong with private groups that are kept."""
    return [*_misnumbered(), *law_wrongs(folder), *_all_same(sides)]
