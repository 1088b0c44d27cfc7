"""Tests that tell two worlds apart: each gives runs a score, larger where world one is likelier.

They are learned on some runs and judged on others, so that nothing here needs to be right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from quaestor.audit.classifiers import grown_tree, logistic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from quaestor.audit.features import Columns, Sample
    from quaestor.audit.targets import Outputs

    Score = Callable[[Sample], NDArray[np.float64]]

__all__ = [
    "DISTINGUISHERS",
    "Distinguisher",
    "Histogram",
    "Joint",
    "Learned",
    "LikelihoodRatio",
    "LowestBits",
    "Threshold",
]

_MOST_BINS = 64
_MOST_COLUMNS_ALONE = 16


class Distinguisher(ABC):
    """A way to learn scores.

    >>> [each.name for each in DISTINGUISHERS]
    ['threshold', 'histogram', 'joint histogram', 'lowest bits', 'classifier']
    """

    name: str

    @abstractmethod
    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """Scores learned from a sample, each with words that say what it looks at."""


class Threshold(Distinguisher):
    """Each output as it is, and their sum.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> told, tests = RandomizedResponse(epsilon=1.0), [Threshold()]
    >>> report = audit(told, neighbours=(0, 1), runs=1000, distinguishers=tests)
    >>> {finding.test for finding in report.findings}
    {'threshold'}
    """

    name = "threshold"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """One score for each of the first columns."""
        width = sample.columns.shape[1]
        for i in range(min(width, _MOST_COLUMNS_ALONE)):
            yield sample.names[i], partial(_column, place=i)
        if width > 1:
            yield "the sum of the outputs", lambda seen: seen.columns.sum(axis=1)


class Histogram(Distinguisher):
    """How likely the value of each column is in either world; logarithms are added up.

    For independent rounds this is the likelihood ratio, as far as it can be learned.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> told, tests = RandomizedResponse(epsilon=1.0), [Histogram()]
    >>> report = audit(told, neighbours=(0, 1), runs=1000, distinguishers=tests)
    >>> {finding.test for finding in report.findings}
    {'histogram'}
    """

    name = "histogram"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """One score for all columns together."""
        tables = [_RatioTable.learned(column, sample.hidden) for column in sample.columns.T]

        def score(seen: Sample) -> NDArray[np.float64]:
            ratios = [t.ratio(c) for t, c in zip(tables, seen.columns.T, strict=True)]
            return reduce(np.add, ratios)

        yield "how likely each number is in either world", score


class Joint(Distinguisher):
    """How likely the whole output is in either world, where there are few different ones.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> told, tests = RandomizedResponse(epsilon=1.0), [Joint()]
    >>> report = audit(told, neighbours=(0, 1), rounds=2, runs=1000, distinguishers=tests)
    >>> {finding.test for finding in report.findings}
    {'joint histogram'}
    """

    name = "joint histogram"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """A score only where whole outputs repeat."""
        if sample.columns.shape[1] > 1:
            codes = _codes(sample.columns)
            if np.unique(codes).size <= max(codes.size // 20, 2):
                table = _RatioTable.learned(codes, sample.hidden, exact=True)
                words = "how likely the whole output is in either world"
                yield words, lambda seen: table.ratio(_codes(seen.columns))


class LowestBits(Distinguisher):
    """The lowest bits of floats, by their size [Mironov 2012].

    Noise that was drawn as a float and added to a value leaves traces of the value in them: which
    powers of two divide the sum, given its magnitude.

    >>> LowestBits().name
    'lowest bits'
    """

    name = "lowest bits"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """A score only where there are numbers that are not whole."""
        if np.all(sample.columns == np.floor(sample.columns)):
            return
        tables = [
            _RatioTable.learned(_bits(column), sample.hidden, exact=True)
            for column in sample.columns.T
        ]

        def score(seen: Sample) -> NDArray[np.float64]:
            ratios = [t.ratio(_bits(c)) for t, c in zip(tables, seen.columns.T, strict=True)]
            return reduce(np.add, ratios)

        yield "which powers of two divide the output, given its size", score


class Learned(Distinguisher):
    """A classifier of outputs that are several numbers: logistic regression, and a tree.

    >>> Learned().name
    'classifier'
    """

    name = "classifier"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """Two scores, where there is more than one column."""
        if sample.columns.shape[1] > 1 and np.unique(sample.hidden).size > 1:
            line = logistic(sample.columns, sample.hidden)
            yield "a weighted sum of the outputs", lambda seen: line(seen.columns)
            tree = grown_tree(sample.columns, sample.hidden)
            yield "a tree of questions about the outputs", lambda seen: tree(seen.columns)


@dataclass(frozen=True, slots=True)
class LikelihoodRatio(Distinguisher):
    """The logarithm of the ratio of the two worlds' densities, where these are known.

    ``of`` takes the outputs of all rounds and gives one number for each run.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> def known(rounds):
    ...     return np.where(np.asarray(rounds[0]) == 1, 1.0, -1.0)
    >>> told, tests = RandomizedResponse(epsilon=1.0), [LikelihoodRatio(known)]
    >>> audit(told, neighbours=(0, 1), runs=1000, distinguishers=tests).runs
    1000
    """

    of: Callable[[tuple[Outputs, ...]], NDArray[np.float64]]
    name = "likelihood ratio"

    def scores(self, sample: Sample) -> Iterable[tuple[str, Score]]:
        """The ratio, as it was given."""
        del sample
        yield "the likelihood ratio", lambda seen: np.asarray(self.of(seen.outputs), np.float64)


@dataclass(frozen=True, slots=True)
class _RatioTable:
    """The logarithm of the ratio of smoothed frequencies in cells."""

    edges: NDArray[np.float64]
    logs: NDArray[np.float64]
    exact: bool

    @classmethod
    def learned(
        cls, column: NDArray[np.float64], hidden: NDArray[np.bool_], *, exact: bool = False
    ) -> _RatioTable:
        values = np.unique(column)
        exact = exact or values.size <= _MOST_BINS
        edges = values if exact else np.unique(np.quantile(column, np.linspace(0, 1, _MOST_BINS)))
        table = cls(edges, np.zeros(edges.size + 1), exact)
        cells = table._cells(column)
        ones = np.bincount(cells[hidden], minlength=table.logs.size) + 0.5
        zeros = np.bincount(cells[~hidden], minlength=table.logs.size) + 0.5
        runs = (max(int(hidden.sum()), 1), max(int((~hidden).sum()), 1))
        table.logs[:] = np.log(ones / runs[0]) - np.log(zeros / runs[1])
        return table

    def _cells(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        places = np.searchsorted(self.edges, column, side="right")
        if self.exact:  # what was never seen has a cell of its own
            known = self.edges[np.maximum(places - 1, 0)] == column
            places = np.where(known, places, 0)
        return places

    def ratio(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.logs[self._cells(column)]


def _column(seen: Sample, *, place: int) -> NDArray[np.float64]:
    return seen.columns[:, place]


def _codes(columns: Columns) -> NDArray[np.float64]:
    """A number for each row, equal for equal rows, and all but surely different for others."""
    weights = np.random.default_rng(0).random(columns.shape[1]) + 0.5
    scale = np.maximum(np.abs(columns), 1e-300)
    signed = np.sign(columns) * np.log1p(scale)
    return signed @ weights


def _bits(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponent and the lowest bit of each float, as one number."""
    mantissa, exponent = np.frexp(column)
    digits = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = digits & -digits
    level = exponent - 53 + np.log2(np.maximum(lowest, 1)).astype(np.int64)
    level = np.where(lowest == 0, 5000, level)
    return exponent * 10_000.0 + level


DISTINGUISHERS: tuple[Distinguisher, ...] = (
    Threshold(),
    Histogram(),
    Joint(),
    LowestBits(),
    Learned(),
)
"""All those that need not be told anything about the target."""
