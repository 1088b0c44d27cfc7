"""Private groups that the engine keeps: drawn and shown as if all of them came to the curator."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.kernel import kept_groups
from quaestor.curator.kernel.draws import NoisyUnits, ShownGroups
from quaestor.curator.kernel.figures import KeptGroups
from quaestor.curator.kernel.kept_groups import Runs, chosen_rows
from quaestor.curator.kernel.measures import RowCount, Units
from quaestor.curator.language.query import Scan
from quaestor.mechanisms import OptimalSelection, PartitionSelection
from tests.curator.kernel import keeping
from tests.curator.kernel.pointed import measured, private
from tests.curator.kernel.tables import Side

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000
_CHOICES = (
    NoisyUnits(measure=Units(), mechanism=PartitionSelection(scale=2.0, threshold=4)),
    ShownGroups(measure=Units(), mechanism=OptimalSelection(epsilon=1.0, delta=0.1)),
)


def test_the_same_randomness_shows_the_same_groups_and_figures(on_duckdb: dict[str, Side]) -> None:
    assert not list(keeping._all_same(on_duckdb))


def test_groups_are_shown_with_the_chance_of_their_class_wherever_they_are(tmp_path: Path) -> None:
    assert not keeping.law_wrongs(tmp_path)


def _runs(*runs: tuple[int, int, int]) -> Runs:
    return Runs(*(np.array(each, np.int64) for each in zip(*runs, strict=True)))


@pytest.mark.parametrize("choice", _CHOICES, ids=["noise", "coins"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 2**20])
def test_rows_are_drawn_for_in_chunks_of_any_size(
    choice: NoisyUnits | ShownGroups, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond 32 bits, in several stretches, and runs that chunks cut anywhere."""
    monkeypatch.setattr(kept_groups, "_CHUNK", chunk)
    runs = _runs((1, 0, 30), (5, 30, 1), (40, 31, 9), (1, 2**33, 8), (3, 2**40, 25), (90, 2**41, 2))
    numbers = np.concatenate([first + np.arange(n) for first, n in zip(runs.first, runs.count,
                                                                      strict=True)])  # fmt: skip
    units = np.repeat(runs.units, runs.count)
    parts = list(kept_groups._chunks(runs))
    assert [len(each) for each, _ in parts[:-1]] == [chunk] * (len(parts) - 1)
    assert np.concatenate([each for each, _ in parts]).tolist() == units.tolist()
    assert np.concatenate([each for _, each in parts]).tolist() == numbers.tolist()
    rows, noisy = chosen_rows(choice, runs)
    assert set(numbers[units >= 90].tolist()) <= set(rows.tolist()) <= set(numbers.tolist())
    assert (np.diff(rows) > 0).all()
    assert noisy is None or (noisy.size == rows.size and (noisy >= 4).all())
    if chunk > units.size:  # one draw: that for all groups at once
        with keeping.drawn_from(3):
            rows, noisy = chosen_rows(choice, runs)
        with keeping.drawn_from(3):
            drawn = choice.draw(units)
        places, counts = drawn if isinstance(drawn, tuple) else (drawn, None)
        assert rows.tolist() == numbers[places].tolist()
        assert noisy is None or counts is None or noisy.tolist() == counts.tolist()


@pytest.mark.parametrize("choice", _CHOICES, ids=["noise", "coins"])
def test_without_groups_nothing_is_shown(choice: NoisyUnits | ShownGroups) -> None:
    nothing = Runs(*(np.zeros(0, np.int64) for _ in range(3)))
    assert chosen_rows(choice, nothing)[0].tolist() == []


def _many(folder: Path) -> Side:
    """A table in which every row is a unit, and a group."""
    import duckdb

    with duckdb.connect(str(folder / "many.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT range AS u, range * 7 AS n FROM range({ROWS})"
        )
    table = Table(
        name="rows",
        source=Source(engine="duckdb", connection="many.duckdb", table="t"),
        unit="u",
        dataset="d",
        columns=tuple(ColumnFacts(name=name, kind="integer") for name in "un"),
    )
    return Side(DuckConnection(Catalog(tables=(), ledger="", folder=str(folder))), {"rows": table})


def test_rows_that_are_not_numbered_by_units_are_refused() -> None:
    assert not list(keeping._misnumbered())


def test_kept_groups_do_not_show_themselves(on_duckdb: dict[str, Side]) -> None:
    asked = measured(Scan("people"), RowCount(rows=2), keys=(private("c0", "text"),))
    kept = keeping._prepared(asked, on_duckdb["whole"]).measured()
    assert isinstance(kept, KeptGroups)
    assert repr(kept) == str(kept) == "KeptGroups(private)"
    kept.close()


def test_the_curator_holds_chunks_and_what_is_shown_and_not_all_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many groups as 60 MB of figures and codes; of Python and numpy less than 8 are held."""
    monkeypatch.setattr(kept_groups, "_CHUNK", 2**15)
    side = _many(tmp_path)
    asked = measured(Scan("rows"), RowCount(rows=3), keys=(private("n", "integer"),))
    choice = NoisyUnits(measure=Units(), mechanism=PartitionSelection(scale=1.0, threshold=9))
    prepared = keeping._prepared(asked, side)
    tracemalloc.start()
    try:
        kept = prepared.measured()
        assert isinstance(kept, KeptGroups)
        assert kept.runs.count.tolist() == [ROWS]
        shown, noisy = kept.shown(choice)
        kept.close()
        _, peak = tracemalloc.get_traced_memory()
        assert noisy is not None
        assert 0 < noisy.size == len(shown.units) < ROWS // 1000
        tracemalloc.reset_peak()
        prepared.exact()  # as all of them came
        _, before = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    side.close()
    assert peak < 8e6
    assert before > 60e6
