"""Two small classifiers in numpy: logistic regression, and a tree of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from quaestor.audit.features import Columns

    Classifier = Callable[[Columns], NDArray[np.float64]]

__all__ = ["grown_tree", "logistic"]

_STEPS = 30
_RIDGE = 1e-4
_FARTHEST = 8.0
_DEPTH = 4
_QUESTIONS = 15
_SMALLEST_LEAF = 50


def logistic(columns: Columns, hidden: NDArray[np.bool_]) -> Classifier:
    """The log-odds of world one as a weighted sum, by Newton's method with a little ridge."""
    centre = np.median(columns, axis=0)
    low, high = np.quantile(columns, (0.1, 0.9), axis=0)
    spread = np.where(high > low, high - low, 1.0)

    def prepared(given: Columns) -> Columns:
        with np.errstate(over="ignore"):
            scaled = np.clip((given - centre) / spread, -_FARTHEST, _FARTHEST)
        return np.concatenate([scaled, np.ones((len(given), 1))], axis=1)

    known, wanted = prepared(columns), hidden.astype(np.float64)
    weights = np.zeros(known.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(known @ weights, -30, 30)))
        slope = known.T @ (wanted - chance) - _RIDGE * weights
        bend = (known * (chance * (1 - chance) + 1e-9)[:, None]).T @ known
        step = np.linalg.solve(bend + _RIDGE * np.eye(weights.size), slope)
        weights = weights + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-6 * (1 + np.abs(weights).max()):
            break
    return lambda given: prepared(given) @ weights


def grown_tree(columns: Columns, hidden: NDArray[np.bool_], depth: int = _DEPTH) -> Classifier:
    """The log-odds of world one in the leaves of a tree of questions "is this number above x?".

    Each question is the one of a few quantiles that gains the most (Gini's index).
    """
    ones, runs = float(hidden.sum()), float(hidden.size)
    leaf = float(np.log((ones + 0.5) / (runs - ones + 0.5)))
    best: tuple[float, int, float] | None = None
    if depth > 0 and runs >= 2 * _SMALLEST_LEAF:
        for i, column in enumerate(columns.T):
            for place in np.unique(np.quantile(column, np.linspace(0, 1, _QUESTIONS + 2)[1:-1])):
                above = column > place
                right = float(above.sum())
                if min(right, runs - right) >= _SMALLEST_LEAF:
                    found = float(hidden[above].sum())
                    gain = found**2 / right + (ones - found) ** 2 / (runs - right)
                    best = max(best or (-1.0, 0, 0.0), (gain, i, float(place)))
    if best is None:
        return lambda given: np.full(len(given), leaf)
    _, index, split = best
    above = columns[:, index] > split
    yes = grown_tree(columns[above], hidden[above], depth - 1)
    no = grown_tree(columns[~above], hidden[~above], depth - 1)
    return lambda given: np.where(given[:, index] > split, yes(given), no(given))
