"""All engines give the same whole numbers, and they are what the definitions say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.language.expressions import Call
from quaestor.curator.scalars.functions import FUNCTIONS
from tests.curator.engines.answers import answer, in_order, wanted
from tests.curator.engines.data import DATA
from tests.curator.engines.queries import CASES, NUMBERS, TRUTHS, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from quaestor.curator.engines import Engine
    from quaestor.curator.language.expressions import Expression
    from tests.curator.engines.answers import Answer

# PySpark leaves it to the garbage collector to close the sockets that results come through.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


# Spark takes a second for each, and as long for hundreds of expressions in one statement: the
# ordinary suite has all of them in kernel/test_totality.py. Of the rest it asks Spark one of each
# shape that a statement can have; these have the shape of another.
_LIKE_ANOTHER = (
    "no keys, hardly a limit",
    "declared texts, no limit of groups",
    "NULL alone is declared",
    "declared integers in a row",
    "declared booleans",
    "filtered away",
    "filtered away, private keys",
    "projected",
    "joined twice",
    "units that are texts, private keys",
    "an empty table without keys",
    "grouping sets, part 1",
    "union all, part 1",
    "shares, part 1",
)
_ON_SPARK = tuple(
    name
    for name in CASES
    if not name.startswith(("groups: ", "numbers: ", "conditions: "))
    and not name.endswith((", part 2", ", part 3", ", part 4"))
    and name not in _LIKE_ANOTHER
)


def _answers(engine: Engine, names: Iterable[str]) -> dict[str, Future[Answer]]:
    """All queries at once: Spark mostly waits, and several can wait together.

    All are over before the first test: between two tests warnings of sockets would be errors.
    """
    with ThreadPoolExecutor(4) as pool:  # waits for all of them at its end
        return {name: pool.submit(answer, engine, *CASES[name]) for name in names}


@pytest.fixture(scope="module")
def spark_answers(spark_engine: Engine) -> dict[str, Future[Answer]]:
    """What Spark measures."""
    return _answers(spark_engine, _ON_SPARK)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["duckdb_engine", "postgres_engine"])
def test_engines_measure_what_the_definitions_say(
    engine: str, name: str, request: pytest.FixtureRequest
) -> None:
    query, measures = CASES[name]
    _agree(answer(request.getfixturevalue(engine), query, measures), name)


@pytest.mark.parametrize("name", _ON_SPARK)
def test_spark_measures_what_the_definitions_say(
    name: str, spark_answers: dict[str, Future[Answer]]
) -> None:
    _agree(spark_answers[name].result(), name)


@pytest.mark.slow
def test_spark_measures_everything_else_as_the_definitions_say(spark_engine: Engine) -> None:
    others = [name for name in CASES if name not in _ON_SPARK]
    assert set(_LIKE_ANOTHER) < set(others)
    for name, found in _answers(spark_engine, others).items():
        _agree(found.result(), name)


def _agree(found: Answer, name: str) -> None:
    query, measures = CASES[name]
    assert in_order(found) == in_order(wanted(query, measures, DATA))


OF_TIMES = {"hour", "minute", "second", "first_of_hour", "first_of_minute", "date_of", "time_of"}
"""Held against counts by hand, on every engine, in test_timestamps.py."""


def test_every_function_and_expression_is_among_the_queries() -> None:
    import quaestor.curator.language.expressions as language

    written = [*NUMBERS.values(), *TRUTHS.values(), *(word for word, _ in WORDS.values())]
    parts = [part for expression in written for part in _parts(expression)]
    called = {part.function for part in parts if isinstance(part, Call)}
    assert called | OF_TIMES == set(FUNCTIONS)
    assert not called & OF_TIMES
    kinds = {type(part).__name__ for part in parts}
    nodes = {name for name in language.__all__ if isinstance(getattr(language, name), type)}
    assert kinds == nodes - {"Aggregated", "GroupTotal", "Keyed", "Expression"}


def _parts(part: object) -> Iterator[Expression]:
    from dataclasses import fields, is_dataclass

    if isinstance(part, tuple):
        for one in part:
            yield from _parts(one)
    elif is_dataclass(part):
        yield part  # type: ignore[misc]
        for field in fields(part):
            yield from _parts(getattr(part, field.name))
