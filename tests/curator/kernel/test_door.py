"""What the kernel refuses at its door, what it charges, and what it never writes."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
import sqlglot

from quaestor.curator.catalog.model import ENGINES, engine_kind
from quaestor.errors import QuaestorError
from tests.curator.kernel import drawing, gathering, prices, refusals, rowwise
from tests.curator.kernel.attack import MARK, Attacker
from tests.curator.kernel.judging import written
from tests.curator.kernel.tables import TABLES

if TYPE_CHECKING:
    from tests.curator.kernel.tables import Side

OWN = re.compile(
    r"u|t|s|p|r|l|c|f|b|k|q|d|e|h|i|j|g|n|m|v|w|x|y|z|o|nth|place|every|upto|one|binary|C"
    r"|held|pairs|placed|over_limit|over_(u|g|p\d+)"
    r"|[abcdfkpvw]\d+|[xyonsm]\d+(_\d+)?|attached0|whole|dow|date_trunc"
)
OWNERS = {column.name for table in TABLES.values() for column in table.columns} | set(TABLES)
OWNERS |= {name.replace('"', '""') for name in OWNERS}


def test_what_is_not_allowed_is_refused_before_a_row_is_read(on_duckdb: dict[str, Side]) -> None:
    assert len(refusals.NAMES) == len(set(refusals.NAMES)) >= 80
    assert not refusals.wrongs(on_duckdb["whole"])


def test_every_draw_is_charged_for_every_cell() -> None:
    assert not prices.wrongs()


def test_noise_is_of_the_law_that_is_charged_and_on_what_is_shown_only() -> None:
    assert not drawing.wrongs()


def test_whatever_an_engine_returns_becomes_figures_of_the_cells() -> None:
    assert not gathering.wrongs()


@pytest.mark.parametrize("engine", ENGINES)
def test_expressions_are_about_one_row(engine: str) -> None:
    seeds = range(300)
    dialect = engine_kind(engine).dialect
    assert len(list(rowwise.scalars(dialect, seeds))) > 200
    assert not rowwise.wrongs(dialect, seeds)


def test_no_name_of_the_attackers_is_in_a_statement(on_duckdb: dict[str, Side]) -> None:
    seen = 0
    for seed in range(60):
        try:
            measurement = Attacker(random.Random(seed)).measurement()
        except QuaestorError:
            continue
        for sql in written(measurement, on_duckdb["whole"]):
            assert MARK not in sql.lower()
            names = rowwise.identifiers(sqlglot.parse_one(sql, read="duckdb"))
            foreign = {name for name in names if not OWN.fullmatch(name)} - OWNERS
            assert not foreign, (seed, foreign)
            seen += 1
    assert seen > 48
