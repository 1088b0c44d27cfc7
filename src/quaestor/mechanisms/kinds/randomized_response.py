"""Randomized response: every person's own answer, told or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from flint import arb

from quaestor.accounting import releases
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_count
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import DescribedMechanism, check_confidence
from quaestor.mechanisms.grid import is_scalar, whole, wholes
from quaestor.mechanisms.samplers.inversion import Inversion
from quaestor.mechanisms.samplers.randomness import uniform_below, uniforms_below
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["RandomizedResponse"]


class _Honesty:
    """The truth (0), against any of the other categories (1)."""

    size = 2

    def __init__(self, epsilon: float, others: int) -> None:
        self._epsilon, self._others = epsilon, others

    def weight(self, outcome: int) -> arb:
        return arb(self._others) * (-arb(self._epsilon)).exp() if outcome else arb(1)

    def total(self) -> arb:
        return self.weight(0) + self.weight(1)


@lru_cache(maxsize=64)
def _honesty(epsilon: float, others: int) -> Inversion:
    return Inversion(_Honesty(epsilon, others))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(DescribedMechanism):
    r"""Tell one's category with odds :math:`e^\varepsilon` against each other one.

    A value is a category, ``0`` to ``categories - 1``; an array holds one for each person. Whether
    the truth is told is drawn exactly, by inversion, and another category uniformly, so that each
    has exactly :math:`e^{-\varepsilon}` times the probability of the truth.

    >>> print(RandomizedResponse(epsilon=1.0).loss)
    RandomizedResponse(epsilon=1.0, categories=2)
    """

    description = releases.RandomizedResponse

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = self.loss
        object.__setattr__(self, "epsilon", described.epsilon)
        categories = check_count("categories", self.categories, smallest=2, largest=2**53)
        object.__setattr__(self, "categories", categories)

    @property
    def loss(self) -> releases.RandomizedResponse:
        """What one person's answer costs that person."""
        return releases.RandomizedResponse(epsilon=self.epsilon, categories=self.categories)

    @property
    def neighbours(self) -> tuple[int, int]:
        """Two categories."""
        return 0, 1

    def by_entry(self) -> RandomizedResponse:
        """Itself: an array holds one category for each person."""
        return self

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: NDArray[Any] | Sequence[int]) -> NDArray[np.int64]: ...
    def release(self, value: int | ArrayLike) -> int | NDArray[np.int64]:
        """The category of each person, or another one in its place."""
        if is_scalar(value):
            truth = whole(value)
            self._check(truth, truth, value)
            if _honesty(self.epsilon, self.categories - 1).one() == 0:
                return truth
            other = uniform_below(self.categories - 1)
            return other + (other >= truth)
        truths = wholes(value)
        if truths.size:
            self._check(int(truths.min()), int(truths.max()), value)
        lies = _honesty(self.epsilon, self.categories - 1).many(truths.size).reshape(truths.shape)
        places = np.nonzero(lies)
        answers = truths.copy()
        others = uniforms_below(np.full(places[0].size, self.categories - 1, np.int64))
        answers[places] = others + (others >= truths[places])
        return answers

    def shares(self, answers: ArrayLike) -> NDArray[np.float64]:
        """Unbiased estimates of how many hold each category, as shares, from released answers."""
        given = wholes(answers)
        if not given.size:
            raise InvalidParameter("answers", 0, "at least one answer")
        self._check(int(given.min()), int(given.max()), answers)
        told = np.bincount(given.ravel(), minlength=self.categories) / given.size
        return (told - self._other) / self._contrast

    @property
    def standard_error(self) -> float:
        """At most that of a share estimated from one answer; from n answers, over sqrt(n)."""
        return 0.5 / self._contrast

    def interval(self, *, confidence: float, answers: int = 1) -> Bounds:
        """Where ``estimated - true share`` lies with at least this probability.

        By Hoeffding's inequality over the answers' own randomness: each is within [0, 1].
        """
        missing = float(check_confidence(confidence))
        number = check_count("answers", answers)
        reach = math.sqrt(math.log(2 / missing) / (2 * number)) / self._contrast
        return Bounds(lower=-reach, upper=reach)

    @property
    def _other(self) -> float:
        """The probability of each category that is not the truth."""
        fall = math.exp(-self.epsilon)
        return fall / (1 + (self.categories - 1) * fall)

    @property
    def _contrast(self) -> float:
        fall = math.exp(-self.epsilon)
        return -math.expm1(-self.epsilon) / (1 + (self.categories - 1) * fall)

    def _check(self, least: int, largest: int, value: object) -> None:
        if not 0 <= least <= largest < self.categories:
            raise InvalidParameter(
                "value", Undisclosed(value), f"a category from 0 to {self.categories - 1}"
            )
