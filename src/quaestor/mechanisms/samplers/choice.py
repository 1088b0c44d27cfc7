r"""One of finitely many candidates, exactly in proportion to weights :math:`n_ie^{rs_i}`.

The scores, the rate r and the multiplicities n are exact numbers; their weights are not, so they
are computed in floats with a stated error. A uniform number decides by inversion unless it falls
within that error of a boundary; then balls of as many bits as it takes decide
(:func:`quaestor.mechanisms.samplers.inversion.exactly`). So the law is exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.numerics.balls import ZERO, rational
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.grid import as_floats, were_rounded
from quaestor.mechanisms.samplers.inversion import exactly, happens
from quaestor.mechanisms.samplers.randomness import WORD, word
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb
    from numpy.typing import NDArray

__all__ = ["check_scores", "choose", "flip"]

_RELATIVE = 2.0**-40  # error of a weight down to e^-700
_SCORES = "a list of finite numbers that floats can hold, at least one"


def check_scores(value: Any) -> NDArray[np.float64]:
    """The scores of the candidates, at least one, finite."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("scores", Undisclosed(value), _SCORES) from None
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iuf":
        raise InvalidParameter("scores", Undisclosed(value), _SCORES)
    scores = as_floats(given)
    if scores is None or were_rounded(value, given) or not np.all(np.isfinite(scores)):
        raise InvalidParameter("scores", Undisclosed(value), _SCORES)
    return scores


class _Candidates:
    """The weights in balls."""

    def __init__(
        self, scores: NDArray[np.float64], rate: Fraction, multiples: Sequence[int] | None
    ) -> None:
        self.size = len(scores)
        self._scores, self._rate, self._multiples = scores, rate, multiples
        self._best = Fraction(float(np.max(scores)))

    def weight(self, outcome: int) -> arb:
        behind = Fraction(float(self._scores[outcome])) - self._best
        weight = rational(self._rate * behind).exp()
        return weight if self._multiples is None else weight * self._multiples[outcome]

    def total(self) -> arb:
        summed = ZERO
        for outcome in range(self.size):
            summed += self.weight(outcome)
        return summed


def choose(
    scores: NDArray[np.float64], *, rate: Fraction, multiples: Sequence[int] | None = None
) -> int:
    """The index of one candidate.

    The relative error of a weight is at most 8 units in the last place for the operations and
    ``exp``, and 3e units for its exponent -e. With e up to 700 that is below 2^-41 together;
    weights beyond are counted as 0, which is by far less than the best weight, at least 1, may be
    off by. Sums of n terms add n units. Two such sums are compared: four times the error of one
    covers both, and the bits of U that are not known yet.
    """
    with np.errstate(over="ignore"):  # scores that far behind weigh nothing
        exponents = float(rate) * (scores - np.max(scores))
    weights = np.where(exponents > -700.0, np.exp(np.maximum(exponents, -700.0)), 0.0)
    if multiples is not None:
        weights *= np.array([float(multiple) for multiple in multiples])
    sums = np.cumsum(weights)
    drawn = word()
    error = 4 * (_RELATIVE + 2.0**-52 * scores.size) * float(sums[-1])
    mark = drawn / 2**WORD * float(sums[-1])
    found = int(np.searchsorted(sums, mark, side="right"))
    far_from_below = found == 0 or mark - float(sums[found - 1]) > error
    far_from_above = found == scores.size - 1 or (
        found < scores.size and float(sums[found]) - mark > error
    )
    if far_from_below and far_from_above:
        return found
    if scores.size == 1:
        return 0
    return exactly(_Candidates(scores, rate, multiples), drawn)


def flip(scores: NDArray[np.float64], *, rate: Fraction) -> Callable[[int], bool]:
    """A coin for every candidate: heads with probability exp(rate * (score - best score)).

    The float exponent -e has an error of at most 3e units in the last place, so that the
    probability is off by far less than 2^-40; a coin that falls closer than that is decided by
    balls.
    """
    candidates = _Candidates(scores, rate, None)
    with np.errstate(over="ignore"):
        chances = np.exp(float(rate) * (scores - np.max(scores))).tolist()

    def coin(candidate: int) -> bool:
        drawn = word()
        chance = chances[candidate]
        if (drawn + 1) / 2**WORD <= chance - _RELATIVE:
            return True
        if drawn / 2**WORD >= chance + _RELATIVE:
            return False
        return happens(lambda: candidates.weight(candidate), drawn=drawn)

    return coin
