"""Who plays: adversaries that fix everything in advance, and adversaries that adapt."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count, check_real
from quaestor.audit.game import Adversary, Challenge
from quaestor.audit.targets import Coin, target_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from quaestor.audit.targets import Outputs

__all__ = ["Adaptive", "Fixed", "RangeSeeker", "always"]


@dataclass(frozen=True, slots=True)
class Fixed(Adversary):
    """Challenges that were fixed before the first output, one for each round.

    Where each target is a black box, such an adversary is optimal: with :class:`FourPoints` in
    every round no adaptive one gains more [Kairouz, Oh, Viswanath, Theorem 3.3].

    >>> from quaestor.audit import FourPoints
    >>> challenge = Challenge(target=FourPoints(epsilon=1.0), zero=0, one=1)
    >>> Fixed((challenge, challenge)).rounds
    2
    """

    planned: tuple[Challenge, ...]

    @property
    def rounds(self) -> int:  # type: ignore[override]
        """As many as challenges."""
        return len(self.planned)

    def challenges(
        self, past: tuple[Outputs, ...], runs: int, coins: Generator
    ) -> Iterable[tuple[NDArray[np.intp], Challenge]]:
        """The same for every run."""
        del coins
        return [(np.arange(runs), self.planned[len(past)])]


def always(target: Any, neighbours: tuple[Any, Any], *, rounds: int = 1) -> Fixed:
    """The same challenge in every round.

    >>> from quaestor.audit import FourPoints
    >>> always(FourPoints(epsilon=1.0), (0, 1), rounds=3).rounds
    3
    """
    zero, one = neighbours
    challenge = Challenge(target=target_of(target), zero=zero, one=one)
    return Fixed(tuple(repeat(challenge, check_count("rounds", rounds, largest=10**6))))


class Adaptive(Adversary):
    """Chooses by the outputs so far; runs with equal outputs get the same challenge.

    >>> from quaestor.audit import Experiment, FourPoints
    >>> class Switching(Adaptive):
    ...     rounds = 2
    ...     def choose(self, history):
    ...         weak = FourPoints(epsilon=0.5 if history == (0,) else 1.0)
    ...         return Challenge(target=weak, zero=0, one=1)
    >>> len(Experiment(adversary=Switching()).run(100).rounds)
    2
    """

    @abstractmethod
    def choose(self, history: tuple[Any, ...]) -> Challenge:
        """The next challenge, after these outputs."""

    def challenges(
        self, past: tuple[Outputs, ...], runs: int, coins: Generator
    ) -> Iterable[tuple[NDArray[np.intp], Challenge]]:
        """Group the runs by their outputs."""
        del coins
        groups: dict[tuple[Any, ...], list[int]] = {}
        told = [each.tolist() if isinstance(each, np.ndarray) else each for each in past]
        for run in range(runs):
            groups.setdefault(tuple(column[run] for column in told), []).append(run)
        for history, rows in groups.items():
            yield np.array(rows, np.intp), self.choose(history)


class RangeSeeker(Adaptive):
    r"""The adversary for whom adaptivity pays [Dong, Durfee, Rogers, Theorems 3 and 4].

    Each round is a choice of bounded range ``epsilon``: a coin of probability p in one world and
    :math:`q = e^tp` in the other, :math:`(1-q) = e^{t-\varepsilon}(1-p)`, with t the adversary's
    to pick. It picks the t that makes the test "loss at least ``goal``" best in the end, given the
    outcomes so far: with j rounds left and :math:`\alpha = e^{goal - loss}`,

    .. math:: f_{j+1}(\alpha) = \max_t q_t f_j(\alpha e^{-t}) + (1-q_t) f_j(\alpha e^{\varepsilon
       - t}), \qquad f_0(\alpha) = (1-\alpha)_+,

    with t on a lattice, which is a policy like any other: what it reaches is a lower bound. For
    ``fixed`` t it is the adversary that does not adapt.

    >>> seeker = RangeSeeker(epsilon=1.0, rounds=2, goal=0.5)
    >>> seeker.goal, 0.0 < seeker.delta() < 1.0
    (0.5, True)
    """

    def __init__(
        self, *, epsilon: float, rounds: int, goal: float, cells: int = 32, fixed: int | None = None
    ) -> None:
        """Take the goal to the lattice of ``epsilon / cells``."""
        self.rounds = check_count("rounds", rounds, largest=24)
        self.epsilon = check_real("epsilon", epsilon, low=1e-6, high=50.0)
        self.cells = check_count("cells", cells, largest=256)
        self._start = round(check_real("goal", goal, low=0.0, high=1e6) / self._step)
        self._picked = range(self.cells + 1) if fixed is None else (fixed,)

    @property
    def _step(self) -> float:
        return self.epsilon / self.cells

    @property
    def goal(self) -> float:
        """The epsilon at which the test is best, as it lies on the lattice."""
        return self._start * self._step

    def delta(self) -> float:
        """What this adversary reaches at the goal: P1 - e^goal P0 of its test, in floats."""
        return float(self._value(self.rounds, np.array([self._start]))[0])

    def choose(self, history: tuple[Any, ...]) -> Challenge:
        """The coins for the best t."""
        place = int(self._pick(len(history), self._state(history)))
        return Challenge(target=Coin(), zero=self._chance(place)[0], one=self._chance(place)[1])

    def loss(self, rounds: tuple[Outputs, ...]) -> NDArray[np.float64]:
        """The log-likelihood ratio of each run: the optimal test of what was seen."""
        histories = list(zip(*(np.asarray(each).tolist() for each in rounds), strict=True))
        states = {history: self._state(history) for history in set(histories)}
        return np.array([(self._start - states[h]) * self._step for h in histories])

    def _chance(self, place: int) -> tuple[float, float]:
        t = place * self._step
        one = math.expm1(t - self.epsilon) / math.expm1(-self.epsilon)
        return min(math.exp(-t) * one, 1.0), one

    def _state(self, history: tuple[Any, ...]) -> int:
        """Where on the lattice ``goal - loss`` is."""
        state = self._start
        for i, outcome in enumerate(history):
            place = int(self._pick(i, state))
            state += -place if outcome else self.cells - place
        return state

    def _pick(self, past: int, state: int) -> int:
        left = self.rounds - past
        reach = left * self.cells
        choices = self._tables[left][1]
        return int(choices[min(max(state, -reach), reach) + reach])

    def _value(self, left: int, places: NDArray[np.int64]) -> NDArray[np.float64]:
        reach = left * self.cells
        inside = self._tables[left][0][np.clip(places, -reach, reach) + reach]
        outside = np.where(places > 0, 0.0, -np.expm1(np.minimum(places, 0) * self._step))
        return np.where(np.abs(places) <= reach, inside, outside)

    @cached_property
    def _tables(self) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """For each number of rounds left: the value at each place, and the best t there."""
        tables = [(np.zeros(1), np.zeros(1, np.int64))]
        self.__dict__["_tables"] = tables  # grows; each line rests on the one before
        for left in range(1, self.rounds + 1):
            places = np.arange(-left * self.cells, left * self.cells + 1)
            values = np.array(
                [
                    one * self._value(left - 1, places - place)
                    + (1 - one) * self._value(left - 1, places + self.cells - place)
                    for place in self._picked
                    for one in (self._chance(place)[1],)
                ]
            )
            best = values.argmax(axis=0)
            tables.append((values.max(axis=0), np.array(self._picked)[best]))
        return tables
