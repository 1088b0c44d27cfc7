"""The rows of an answer: public, or released; and how quickly they are made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.measures import RowCount
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Comparison,
    Constant,
    Keyed,
)
from quaestor.curator.pricing.offers import offer
from tests.curator.pricing.tables import Exact, aggregate, constant, exact, query, release
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    import pytest

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.language.query import Query


def test_declared_groups_are_all_there_whatever_the_data() -> None:
    asked = query(aggregate("count"), aggregate("mean"), aggregate("quantile"), keys=(3, 1, 2))
    offered = offer(asked, epsilon=1.0)
    for table in ([], [{"u": 1, "k": 2, "x": 5}], [{"u": 1, "k": 9, "x": 5}]):
        answer = release(asked, offered, exact(asked, offered.measuring.measures, table))
        assert answer.column("k").values == (3, 1, 2)
        assert [column.kind for column in answer.columns] == ["integer", "integer", "real", "real"]
    joint, histogram = offered.measuring.measures
    left_out = Exact(
        [(2,)],
        {joint: [[25 * joint.sensitivity], [25 * joint.sensitivity], [0]]},
        [5],
        {histogram: [{4: 9}]},  # type: ignore[dict-item]
    )
    counts = release(asked, offered, left_out).column("a0").values
    assert counts[2] == max(counts, key=lambda count: count or 0)


def test_having_order_and_limit_see_released_figures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 21)
    asked = query(
        aggregate("count"),
        keys=range(200),
        having=Comparison(">", Aggregated(0), Constant(2, "integer")),
        order=((Aggregated(0), True), (Keyed(0), False)),
        limit=7,
    )
    answer = by_group_of(asked, {RowCount: 0})
    counts = answer.column("a0").values
    assert len(answer) == 7
    assert list(counts) == sorted(counts, reverse=True)  # type: ignore[type-var]
    assert all(count > 2 for count in counts)  # type: ignore[operator]
    ties = [(count, key) for count, key in zip(counts, answer.column("k").values, strict=True)]
    assert ties == sorted(ties, key=lambda pair: (-pair[0], pair[1]))  # type: ignore[operator]


def by_group_of(asked: Query, numbers: dict[Any, int]) -> Answer:
    offered = offer(asked, epsilon=0.5)
    return release(asked, offered, constant(offered, 200, numbers))


def test_rows_without_a_value_to_sort_by_come_last() -> None:
    share = Arithmetic(
        "/", Constant(1, "integer"), Arithmetic("-", Keyed(0), Constant(1, "integer"))
    )
    for descending in (True, False):
        asked = query(aggregate("count"), keys=range(4), order=((share, descending),))
        keys = by_group_of(asked, {RowCount: 5}).column("k").values
        assert keys[-1] == 1
        assert keys[:3] == ((2, 3, 0) if descending else (0, 3, 2))


def test_the_best_groups_come_in_the_order_of_their_released_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 22)
    scores = [900 + 7 * g for g in range(30)]
    for keys in (range(30), None):
        asked = query(aggregate("count"), keys=keys, top=5)
        offered = offer(asked, epsilon=1.0, delta=1e-6)
        table = Exact(
            [(g,) for g in range(30)], dict.fromkeys(offered.measuring.measures, scores), scores
        )
        answer = release(asked, offered, table)
        assert len(answer) == 5
        counts = answer.column("a0").values
        assert list(counts) == sorted(counts, reverse=True)  # type: ignore[type-var]


def test_private_groups_come_in_an_order_of_their_names() -> None:
    asked = query(keys=None)
    offered = offer(asked, epsilon=5.0, delta=1e-6)
    names: list[Any] = [10, "b", None, 9, "a"]
    table = Exact([(name,) for name in names], {}, [1000] * 5)
    assert release(asked, offered, table).column("k").values == (9, 10, "a", "b", None)


def test_the_same_is_drawn_whatever_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    # with the same bits, neighbours differ by the data alone: noise has the same path
    asked = query(aggregate("count"), aggregate("sum"), aggregate("mean"), keys=range(4))
    offered = offer(asked, epsilon=1.0)
    answers = []
    for extra in (0, 1):
        seed(monkeypatch, 99)
        [joint] = offered.measuring.measures
        more = [100 + extra * joint.sensitivity, 100, 100, 100]
        values: dict[Any, list[Any]] = {joint: [more, [100] * 4, [100] * 4]}
        table = Exact([(g,) for g in range(4)], values, [100] * 4)
        answers.append(release(asked, offered, table))
    one, other = answers
    for name in ("a0", "a1", "a2"):
        assert one.column(name).values[1:] == other.column(name).values[1:]
    assert other.column("a0").values[0] - one.column("a0").values[0] == 1  # type: ignore[operator]


def test_a_thousand_groups_take_milliseconds() -> None:
    asked = query(aggregate("count"), aggregate("sum"), aggregate("mean"), keys=range(1000))
    either: list[dict[str, Any]] = [{"epsilon": 1.0}, {"rho": 0.1}]
    for terms in either:
        offered = offer(asked, **terms)
        table = constant(offered, 1000, {RowCount: 500})
        taken = []
        for _ in range(8):
            start = time.thread_time()
            release(asked, offered, table)
            taken.append(time.thread_time() - start)
        assert min(taken) < 0.030  # of CPU time: eight times what is usual
