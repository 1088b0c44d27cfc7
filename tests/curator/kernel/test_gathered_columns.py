"""Figures gathered in columns are those that are gathered row by row."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from quaestor.curator.kernel.engine_columns import EngineColumns
from quaestor.curator.kernel.figures import gathered
from quaestor.curator.kernel.measurement import Cells
from quaestor.curator.kernel.measures import Total, Units, ValueCounts
from quaestor.curator.kernel.statement import CellStatement
from quaestor.curator.language.expressions import Column
from tests.curator.kernel.pointed import declared, private
from tests.oracles.gathered_rows import gathered_rows

_TOTAL = Total(operand=Column("g"), low=-5, high=5, step=1.0, rows=1)
_RANKS = ValueCounts(operand=Column("g"), low=0, high=9, step=1.0, rows=3)
_STATEMENTS = [
    CellStatement(sql="", measures=(Units(), _TOTAL)),
    CellStatement(sql="", measures=(_RANKS,)),
]
_KEYS = {
    "no keys": (),
    "declared": (declared("c0", "text", "a", "b"), declared("c1", "text", "x", "y", "z")),
    "whole numbers": (private("k0", "integer"),),
    "texts": (private("c0", "text"),),
    "dates and truths": (private("d0", "date"), private("b0", "boolean")),
    "mixed": (private("c0", "text"), declared("c1", "text", "x", "y"), private("k0", "integer")),
}
_LARGE = [2**53 + 1, -(2**53) - 1, 2**62 - 1, 2**63 - 1, -(2**63), 0, 1]
_ODD = [None, 10**40, Decimal(2), float("nan"), "x", 1.5]


def _code(key: Any, chosen: random.Random) -> Any:
    if chosen.random() < 0.2:
        return None
    if key.kind == "text":
        return chosen.choice(["", "a", "ä", "A", "a ", "\U0001f600"]).encode().hex().upper()
    return chosen.randrange(2) if key.kind == "boolean" else chosen.choice([-3, 0, 7, 2**40])


def _answers(cells: Cells, chosen: random.Random, *, odd: bool) -> list[Any]:
    """Rows as engines return them: each cell once, in any order; in histograms, each value once."""
    keys = cells.keys
    numbers = [key.codes for key in keys if key.codes is not None]
    declared_cells = int(np.prod([len(codes) for codes in numbers])) if numbers else 0
    there: dict[tuple[Any, ...], None] = {}
    for _ in range(chosen.randrange(12)):
        number = [chosen.randrange(declared_cells)] if declared_cells else []
        codes = [_code(key, chosen) for key in keys if key.codes is None]
        there[(*number, *codes)] = None
    figures = _LARGE + _ODD * odd
    plain = [(*cell, *(chosen.choice(figures) for _ in range(3))) for cell in there]
    counts = [
        (*cell, value, chosen.choice(figures))
        for cell in there
        for value in chosen.sample(range(-4, 12), chosen.randrange(4))
    ]
    if declared_cells == 6:  # of cells that are none
        plain += [(6, 1, 1, 1), (-1, 1, 1, 1), (None, 1, 1, 1)]
    elif keys:  # of groups that have no units
        codes = ["FF" if key.kind == "text" else 99 for key in keys if key.codes is None]
        counts.append((*([0] if declared_cells else []), *codes, 1, 1))
    return [plain, counts]


def _in_arrays(rows: list[tuple[Any, ...]], wide: int) -> EngineColumns:
    """As DuckDB hands columns over: 64-bit numbers or objects, masked where there are NULLs."""
    columns = []
    for column in zip(*rows, strict=True) if rows else [()] * wide:
        nulls = [value is None for value in column]
        texts = any(isinstance(value, str) for value in column)
        nothing = "" if texts else 0
        filled = [nothing if value is None else value for value in column]
        array = np.array(filled, object if texts else np.int64)
        columns.append(np.ma.array(array, mask=nulls) if any(nulls) else array)
    return EngineColumns(tuple(columns))


@pytest.mark.parametrize("which", _KEYS)
def test_columns_have_the_figures_of_rows(which: str) -> None:
    keys = _KEYS[which]
    cells, seen = Cells(keys=keys, groups=1), 0
    wide = any(key.codes is not None for key in keys) + sum(key.codes is None for key in keys)
    for seed in range(150):
        odd = bool(seed % 2)
        answers = _answers(cells, random.Random(f"{which} {seed}"), odd=odd)
        if not keys:
            answers = [answers[0][:1], answers[1]]
        rows = list(zip(_STATEMENTS, answers, strict=True))
        groups, units, figures, corrected = gathered_rows(cells, rows)
        ways = [gathered(cells, rows)]
        if not odd:
            arrays = [
                _in_arrays(each, wide + extra) for each, extra in zip(answers, (3, 2), strict=True)
            ]
            ways.append(gathered(cells, list(zip(_STATEMENTS, arrays, strict=True))))
        for found in ways:
            assert found.groups == groups
            assert (found.units, list(found.values.values())) == (units, figures)
            assert found.corrections == corrected
            seen += bool(units) and any(units)
    assert seen > 50


def test_columns_of_another_number_are_refused() -> None:
    cells = Cells(keys=(private("c0", "text"),), groups=1)
    short = EngineColumns((np.array(["41"], object), np.array([1])))
    with pytest.raises(ValueError, match="another number"):
        gathered(cells, [(_STATEMENTS[0], short)])
