"""What is audited: anything that takes a database and gives an output."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Outputs = NDArray[Any] | list[Any]

__all__ = ["Coin", "FourPoints", "Raised", "Target", "Timed", "Vectorised", "target_of"]


class Target(ABC):
    """Answers about a database, each time with fresh randomness.

    ``in_turn`` says that outputs may depend on when they are made, as times do: then runs of both
    worlds are played in turn, in random order, and never in blocks. ``one_by_one`` says that
    blocks save no time: then runs are played in their order, too, so that a target that remembers
    its last calls is not mistaken for one that tells the worlds apart.

    >>> class Constant(Target):
    ...     def many(self, database, count):
    ...         return [0] * count
    >>> target_of(Constant()).many("anything", 2)
    [0, 0]
    """

    in_turn = False
    one_by_one = False

    @abstractmethod
    def many(self, database: Any, count: int) -> Outputs:
        """So many independent outputs: an array with one row for each, or a list."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An error in place of an output: what an attacker sees of it is its kind.

    >>> def broken(database):
    ...     raise KeyError(database)
    >>> target_of(broken).many("anything", 1)
    [Raised(kind='KeyError')]
    """

    kind: str


@dataclass(frozen=True, slots=True)
class _Called(Target):
    """A function of the database, called once for each output."""

    function: Callable[[Any], Any]
    one_by_one = True

    def many(self, database: Any, count: int) -> Outputs:
        return [self._one(database) for _ in range(count)]

    def _one(self, database: Any) -> Any:
        try:
            return self.function(database)
        except Exception as error:  # noqa: BLE001  # whatever it is, the attacker sees it
            return Raised(type(error).__name__)


@dataclass(frozen=True, slots=True)
class Vectorised(Target):
    """A function of the database and a count that gives an array of independent outputs.

    >>> coins = np.random.default_rng()
    >>> noisy = Vectorised(lambda value, count: value + coins.laplace(size=count))
    >>> len(noisy.many(0.0, 5))
    5
    """

    function: Callable[[Any, int], Outputs]

    def many(self, database: Any, count: int) -> Outputs:
        """One call for all outputs."""
        outputs = self.function(database, count)
        if len(outputs) != count:
            raise InvalidParameter("outputs", len(outputs), f"{count} of them, as asked for")
        return outputs


@dataclass(frozen=True, slots=True)
class _Elementwise(Target):
    """A mechanism that draws independently for each entry of an array."""

    mechanism: Any

    def many(self, database: Any, count: int) -> Outputs:
        drawn: NDArray[Any] = self.mechanism.release(np.full(count, database))
        return drawn


@dataclass(frozen=True, slots=True)
class Timed(Target):
    """How long an answer takes, in nanoseconds, in place of the answer.

    >>> len(Timed(sorted).many([3, 1, 2], 5))
    5
    """

    target: Callable[[Any], Any]
    in_turn = True

    def many(self, database: Any, count: int) -> Outputs:
        """Time so many calls."""
        elapsed = np.empty(count, np.int64)
        for i in range(count):
            start = time.perf_counter_ns()
            self.target(database)
            elapsed[i] = time.perf_counter_ns() - start
        return elapsed


class Coin(Target):
    """A coin whose odds are the database: 1 with that probability.

    The worst of bounded range is a pair of such coins [Dong, Durfee, Rogers, Lemma 4.1].

    >>> Coin().many(1.0, 3).tolist()
    [1, 1, 1]
    """

    def many(self, database: Any, count: int) -> Outputs:
        """Draw from the system's randomness, to 53 bits."""
        shown: NDArray[np.bool_] = np.random.default_rng().random(count) < database
        return shown.astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True)
class FourPoints(Target):
    """The most revealing target that is (epsilon, delta)-DP; a database is one bit.

    0 and 3 tell all, with probability delta; else it is randomized response [Kairouz, Oh,
    Viswanath, proof of Theorem 3.3].

    >>> FourPoints(epsilon=0.0, delta=1.0).many(1, 3).tolist()
    [3, 3, 3]
    """

    epsilon: float
    delta: float = 0.0

    def many(self, database: Any, count: int) -> Outputs:
        """Draw from the system's randomness, to 53 bits."""
        uniform = np.random.default_rng().random((2, count))
        lies = uniform[0] >= 1 / (1 + np.exp(-self.epsilon))
        told: NDArray[Any] = np.where(lies, 2, 1)
        told[uniform[1] < self.delta] = 0
        return 3 - told if database else told


def target_of(thing: Any) -> Target:
    """Whatever it is, as a target.

    Ours (vectorised where the mechanism is), any callable of one database (an opendp measurement
    is one), an object with ``release`` or with ``randomise`` (as in diffprivlib).

    >>> target_of(lambda database: sum(database)).many([1, 2], 3)
    [3, 3, 3]
    """
    if isinstance(thing, Target):
        return thing
    by_entry = thing.by_entry() if isinstance(thing, Mechanism) else None
    if by_entry is not None:
        return _Elementwise(by_entry)
    if hasattr(thing, "release"):
        return _Called(thing.release)
    if hasattr(thing, "randomise"):
        return _Called(thing.randomise)
    if callable(thing):
        return _Called(thing)
    raise InvalidParameter("target", thing, "something that can be called with a database")
