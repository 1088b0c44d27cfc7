"""Recorded and played back: one pair of runs shows what depends on the data and must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor import InvalidParameter, PureDP
from quaestor.audit import Primitive, record_play
from quaestor.curator import Curator
from quaestor.mechanisms import Geometric, Laplace, OptimalSelection, PartitionSelection
from tests.curator.hospital import COLUMNS, VISITS, write_hospital

if TYPE_CHECKING:
    from pathlib import Path

COINS = np.random.default_rng(53)


class Noise:
    """A primitive as other libraries have them."""

    def __init__(self, epsilon: float, sensitivity: float) -> None:
        self.epsilon, self.sensitivity = epsilon, sensitivity

    def add(self, value: Any) -> Any:
        """Laplace noise."""
        return value + COINS.laplace(scale=self.sensitivity / self.epsilon, size=np.shape(value))


class Weak(Noise):
    """Half of the noise that it should be."""

    def add(self, value: Any) -> Any:
        """Too little."""
        return value + COINS.laplace(scale=self.sensitivity / self.epsilon / 2)


ADDED = Primitive(
    owner=Noise,
    name="add",
    sensitivity=lambda noise: noise.sensitivity,
    parameters=lambda noise: (noise.epsilon, noise.sensitivity),
    claim=lambda noise: PureDP(epsilon=noise.epsilon),
)
NEIGHBOURS = ([1.0, 2.0, 50.0], [1.0, 2.0])


def clipped(rows: list[float]) -> float:
    return float(np.clip(rows, 0, 10).sum())


def problems(algorithm: Any, primitive: Primitive = ADDED) -> tuple[str, ...]:
    return record_play(algorithm, neighbours=NEIGHBOURS, primitives=[primitive]).problems


def test_a_sound_algorithm_has_no_problems() -> None:
    recorded = record_play(
        lambda rows: Noise(0.5, 10.0).add(clipped(rows)) / Noise(0.5, 1.0).add(len(rows)),
        neighbours=NEIGHBOURS,
        primitives=[ADDED],
    )
    assert recorded.problems == ()
    assert [call.distance for call in recorded.calls] == [10.0, 1.0]
    assert [call.sensitivity for call in recorded.calls] == [10.0, 1.0]
    assert [call.inputs for call in recorded.calls] == [(13.0, 3.0), (3, 2)]


BROKEN: dict[str, tuple[Any, str]] = {
    "clipping forgotten": (lambda rows: Noise(1.0, 10.0).add(sum(rows)), "inputs differ by 50"),
    "scale from the data": (
        lambda rows: Noise(1.0, 10.0 / len(rows)).add(clipped(rows) / 3),
        "parameters depend on the data",
    ),
    "epsilon from the data": (
        lambda rows: Noise(len(rows), 10.0).add(clipped(rows)),
        "parameters depend on the data",
    ),
    "noise for each row": (
        lambda rows: sum(Noise(1.0, 10.0).add(0.0) for _ in rows),
        "3 calls on one database and 2 on the other",
    ),
    "divided by the true count": (
        lambda rows: Noise(1.0, 10.0).add(clipped(rows)) / len(rows),
        "the result differs",
    ),
    "an error on rare data": (
        lambda rows: Noise(1.0, 10.0).add(clipped(rows)) / (max(rows) < 40),
        "the result differs",
    ),
    "a vector of another length": (
        lambda rows: Noise(1.0, 10.0).add(np.clip(rows, 0, 10)),
        "inputs of another form",
    ),
    "nan on rare data": (
        lambda rows: Noise(1.0, 10.0).add(float("nan") if 50.0 in rows else 1.0),
        "inputs differ by inf",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_depends_on_the_data_and_must_not_is_found(name: str) -> None:
    algorithm, words = BROKEN[name]
    found = problems(algorithm)
    assert any(words in problem for problem in found), found


def test_calls_on_the_second_database_only_are_found() -> None:
    found = record_play(
        lambda rows: sum(Noise(1.0, 10.0).add(0.0) for _ in rows),
        neighbours=(NEIGHBOURS[1], NEIGHBOURS[0]),
        primitives=[ADDED],
    ).problems
    assert found[0] == "call 3, Noise.add: made on the second database only"


def test_another_primitive_on_the_other_database_is_found() -> None:
    weak = Primitive(owner=Weak, name="add")
    recorded = record_play(
        lambda rows: (Noise if len(rows) == 3 else Weak)(1.0, 10.0).add(clipped(rows)),
        neighbours=NEIGHBOURS,
        primitives=[ADDED, weak],
    )
    assert "the data decide what is drawn" in recorded.problems[0]


def test_primitives_are_as_before_when_it_is_over() -> None:
    before = Noise.add
    with pytest.raises(KeyboardInterrupt):
        record_play(_interrupted, neighbours=NEIGHBOURS, primitives=[ADDED])
    assert Noise.add is before


def _rounded(kind: type[Noise]) -> Any:
    return lambda rows: round(float(kind(1.0, 10.0).add(clipped(rows))))


def _interrupted(rows: Any) -> None:
    raise KeyboardInterrupt(rows)


def test_a_primitive_that_is_too_weak_is_found_on_the_inputs_it_got() -> None:
    for kind, violated in ((Noise, False), (Weak, True)):
        primitive = Primitive(
            owner=kind, name="add", claim=lambda noise: PureDP(epsilon=noise.epsilon)
        )
        recorded = record_play(
            _rounded(kind),
            neighbours=NEIGHBOURS,
            primitives=[primitive],
        )
        assert recorded.problems == ()
        if violated:
            [report] = recorded.audits()
            assert report.violated


def test_functions_and_objects_without_arguments_are_primitives_too() -> None:
    import tests.audit.gallery as module

    plain = Primitive(owner=module, name="noisy", sensitivity=lambda rest: rest[0][0])
    assert problems(lambda rows: module.noisy(clipped(rows), 10.0), plain) == ()
    assert (
        "declared sensitivity is 1"
        in problems(lambda rows: module.noisy(clipped(rows), 1.0), plain)[0]
    )


def test_an_algorithm_of_which_nothing_is_seen_is_not_cleared() -> None:
    assert problems(clipped)[0].startswith("no primitive was called")
    with pytest.raises(InvalidParameter, match="both databases end in"):
        problems(lambda rows: Noise(1.0, 10.0).add(len(rows)) / 0)


def test_nothing_to_record_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="primitives"):
        record_play(clipped, neighbours=NEIGHBOURS, primitives=[])


QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY ward",
    "SELECT SUM(age) AS s FROM visits WHERE age > 30",
]
CURATOR = [
    Primitive(
        owner=kind,
        name="release",
        sensitivity=lambda mechanism: float(getattr(mechanism, "sensitivity", 1)),
        parameters=repr,
        by_entry=True,
    )
    for kind in (Geometric, Laplace, PartitionSelection, OptimalSelection)
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_curator_has_no_problems(question: str, tmp_path: Path) -> None:
    """SQL, plan, price, engine and answer of two tables that differ by one patient."""

    def asked(visits: list[tuple[int, str, int]]) -> Any:
        folder = tmp_path / str(len(visits))
        folder.mkdir()
        catalog = write_hospital(folder, columns=COLUMNS)
        _fill(folder, visits)
        with Curator.from_file(catalog) as curator:
            curator.open_account("research")
            answer = curator.ask(question, epsilon=1.0)
            return [list(row.values()) for row in answer.rows()]

    without = [visit for visit in VISITS if visit[0] != 59]
    assert len(without) < len(VISITS)
    recorded = record_play(asked, neighbours=(VISITS, without), primitives=CURATOR)
    assert recorded.problems == ()
    assert recorded.calls
    assert any(call.distance for call in recorded.calls)
    assert all(call.distance <= call.sensitivity for call in recorded.calls)  # type: ignore[operator]


def _fill(folder: Path, visits: list[tuple[int, str, int]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = zip(("patient", "ward", "age"), map(list, zip(*visits, strict=True)), strict=True)
    parquet.write_table(pa.table(dict(columns)), folder / "visits.parquet")
