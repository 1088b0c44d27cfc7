"""An aggregate is one file and one line: this one is added here alone, asked, and taken away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

import quaestor.curator
from quaestor.curator import Curator, col, table
from quaestor.curator.aggregates import AGGREGATES
from quaestor.curator.aggregates.aggregate_kind import (
    OfNumbers,
    Spelling,
    Stepped,
    of_one_operand,
    rows_of,
    total_of,
)
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe, approximate_reach
from quaestor.curator.language.expressions import Arithmetic
from quaestor.curator.language.terms import measured
from quaestor.errors import RefusedQuery
from tests.curator.hospital import VISITS, WARDS, write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.kernel.measures import Measure, RowCount, Total
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

# What a file of curator/aggregates holds.


def root_mean_square(of: Termlike) -> Term:
    """The root of the mean of the squares."""
    return measured("root_mean_square", of)


class RootMeanSquareKind(OfNumbers):
    """The root of the mean of a number's squares."""

    name, word = "root_mean_square", "ROOT_MEAN_SQUARE"
    spellings = (Spelling("root_mean_square", of_one_operand(name), arguments=1),)
    functions = (root_mean_square,)

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """The total of the squares, and the rows."""
        del centred
        square = Stepped(
            operand=Arithmetic("*", whole.operand, whole.operand),
            low=0,
            high=whole.reach**2,
            step=whole.step**2,
        )
        return RootOfMean(
            aggregate=aggregate,
            total=total_of(square, rows),
            rows=rows_of(whole.operand, rows),
            largest=whole.reach * whole.step,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RootOfMean(Recipe):
    """The root of a total over its rows, with the error of the linearised figure."""

    total: Total
    rows: RowCount
    largest: float

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The total and the rows."""
        return (self.total, self.rows)

    @property
    def weights(self) -> tuple[float, ...]:
        """As for a mean whose squares are uniform."""
        return (1.0, 1 / 3)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The root, and its interval cut to what is possible."""
        total, rows = noised[self.total], noised[self.rows]
        number = np.maximum(rows.values, 1).astype(np.float64)
        square = np.clip(total.values * self.total.step / number, 0.0, self.largest**2)
        errors = np.hypot(
            self.total.step * total.scatter.standard_error, square * rows.scatter.standard_error
        )
        errors /= number
        reach = approximate_reach([total.scatter, rows.scatter], confidence=confidence) * errors
        root = np.sqrt(square)
        return Estimates(
            values=root,
            errors=errors / np.maximum(2 * root, np.sqrt(errors)),
            lower=np.sqrt(np.maximum(square - reach, 0.0)),
            upper=np.minimum(np.sqrt(square + reach), self.largest),
            approximate=True,
        )

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What the square's error is at most, times the rows."""
        total, rows = (scatters[measure] for measure in self.measures)
        error = math.hypot(
            self.total.step * total.standard_error, self.largest**2 * rows.standard_error
        )
        reach = approximate_reach([total, rows], confidence=confidence) * error
        words = f"its square is within about {reach:.6g} / n"
        return Expected(name=name, standard_error=None, half_width=None, words=words)


# What is seen of it.

SQL = "SELECT ward, ROOT_MEAN_SQUARE(CLAMP(age - 50, -3, 3)) AS size FROM visits GROUP BY ward"
BUILT = (
    table("visits")
    .group_by("ward")
    .aggregate(size=root_mean_square(quaestor.curator.clamp(col("age") - 50, -3, 3)))
)
SURE = 900.0  # an epsilon with which all noise is 0 but for a chance of 1e-9
ACCOUNT = """
[accounts.research]
epsilon = 1000.0
delta = 1e-6
"""


@pytest.fixture
def curator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    """A curator who knows the new aggregate, by one line."""
    monkeypatch.setitem(AGGREGATES, RootMeanSquareKind.name, RootMeanSquareKind())
    with Curator.from_file(write_hospital(tmp_path, ACCOUNT)) as opened:
        opened.open_account("research")
        yield opened


def truth(ward: str, low: int, high: int, middle: int) -> float:
    """The root mean square in one ward, in plain Python."""
    held = [min(max(age - middle, low), high) for _, at, age in VISITS if at == ward]
    return math.sqrt(sum(value**2 for value in held) / len(held))


def test_it_is_asked_in_sql_previewed_charged_and_right(curator: Curator) -> None:
    seen = curator.preview(SQL, epsilon=SURE)
    assert seen.fits
    assert seen.question.startswith("ROOT_MEAN_SQUARE(CLAMP(age - 50, -3, 3)) of visits by ward")
    assert [one.words.split(" / ")[1] for one in seen.expected] == ["n"]
    answer = curator.ask(SQL, epsilon=SURE)
    assert answer.releases == seen.releases
    assert answer.epsilon is not None
    assert SURE * 0.99 < answer.epsilon <= SURE
    (entry,) = curator.account("research").entries()
    assert entry.releases == answer.releases
    column = answer.column("size")
    assert column.standard_errors is not None
    assert column.lower is not None
    assert column.upper is not None
    assert len(answer) == len(WARDS)
    for at, row in enumerate(answer.rows()):
        low, high = column.lower[at], column.upper[at]
        assert low is not None
        assert high is not None
        assert low <= truth(str(row["ward"]), -3, 3, 50) <= high
        assert high - low < 0.1


def test_the_builder_asks_the_same_question(curator: Curator) -> None:
    first = curator.ask(SQL, epsilon=SURE)
    again = curator.ask(BUILT, epsilon=SURE)
    assert again.repeated
    assert again.columns == first.columns
    assert len(list(curator.account("research").entries())) == 1


def test_its_errors_are_those_of_its_noise(curator: Curator) -> None:
    answer = curator.ask("SELECT ROOT_MEAN_SQUARE(age) FROM visits", epsilon=2.0)
    column = answer.column("root_mean_square")
    ages = [age for _, _, age in VISITS]
    exact = math.sqrt(sum(age**2 for age in ages) / len(ages))
    assert column.standard_errors is not None
    (error,), (value,) = column.standard_errors, column.values
    assert error is not None
    assert isinstance(value, float)
    assert 0.05 < error < 2.0
    assert abs(value - exact) < 20 * error  # beyond: one in 10^11, noise being Laplace


def test_it_goes_where_aggregates_go(curator: Curator) -> None:
    answer = curator.ask(
        "SELECT size / 2 AS half FROM (SELECT ward, ROOT_MEAN_SQUARE(CLAMP(age, 0, 3)) "
        "FILTER (WHERE age > 30) AS size FROM visits GROUP BY ward) AS inside ORDER BY half",
        epsilon=40.0,
    )
    assert len(answer) == len(WARDS)
    for refused in (
        "SELECT COUNT(*) FROM visits WHERE ROOT_MEAN_SQUARE(age) > 3",
        "SELECT ROOT_MEAN_SQUARE(ward) FROM visits",
        "SELECT ROOT_MEAN_SQUARE(age, 2) FROM visits",
    ):
        with pytest.raises(RefusedQuery):
            curator.preview(refused, epsilon=1.0)


def test_its_function_is_a_public_name_while_it_is_there(curator: Curator) -> None:
    assert curator is not None
    assert "root_mean_square" in dir(quaestor.curator)
    assert quaestor.curator.root_mean_square is root_mean_square


def test_without_its_line_nobody_knows_it(tmp_path: Path) -> None:
    assert "root_mean_square" not in dir(quaestor.curator)
    with pytest.raises(AttributeError):
        _ = quaestor.curator.root_mean_square
    with Curator.from_file(write_hospital(tmp_path, ACCOUNT)) as opened:
        opened.open_account("research")
        with pytest.raises(RefusedQuery, match="no function ROOT_MEAN_SQUARE"):
            opened.preview(SQL, epsilon=1.0)
