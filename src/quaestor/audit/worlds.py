"""What may be hidden: which of each round's two databases is used."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Mixture = tuple[tuple[tuple[int, ...], float], ...]

__all__ = ["Classic", "Memberships", "Worlds"]


class Worlds(ABC):
    """Two hypotheses about the hidden bits.

    >>> isinstance(Classic(), Worlds)
    True
    """

    @abstractmethod
    def draw(self, hidden: NDArray[np.bool_], rounds: int, coins: Generator) -> NDArray[np.bool_]:
        """The bits of every run, one row each, by the run's hypothesis."""


@dataclass(frozen=True, slots=True)
class Classic(Worlds):
    """One bit for all rounds.

    >>> from quaestor.audit import Experiment, FourPoints, always
    >>> game = Experiment(adversary=always(FourPoints(epsilon=1.0), (0, 1)), worlds=Classic())
    >>> len(game.run(100))
    100
    """

    def draw(self, hidden: NDArray[np.bool_], rounds: int, coins: Generator) -> NDArray[np.bool_]:
        """The hypothesis itself, in every round."""
        del coins
        return np.repeat(hidden[:, None], rounds, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memberships(Worlds):
    """Two distributions over vectors of bits: pairs of a vector and its weight.

    >>> worlds = Memberships(null=(((0, 0), 1.0),), alternative=(((0, 1), 0.5), ((1, 0), 0.5)))
    >>> rows = worlds.draw(np.array([True, False]), 2, np.random.default_rng(1))
    >>> rows.sum(axis=1).tolist()
    [1, 0]
    """

    null: Mixture
    alternative: Mixture

    def __post_init__(self) -> None:
        """Check that both are distributions."""
        for name in ("null", "alternative"):
            mixture: Mixture = getattr(self, name)
            weights = [weight for _, weight in mixture]
            if not mixture or min(weights) < 0 or not math.isclose(sum(weights), 1.0):
                raise InvalidParameter(name, mixture, "vectors with weights that sum to 1")

    def draw(self, hidden: NDArray[np.bool_], rounds: int, coins: Generator) -> NDArray[np.bool_]:
        """A vector from the hypothesis of each run."""
        drawn = np.empty((hidden.size, rounds), np.bool_)
        for hypothesis, mixture in ((False, self.null), (True, self.alternative)):
            vectors = np.array([vector for vector, _ in mixture], np.bool_)
            if vectors.shape[1] != rounds:
                raise InvalidParameter("rounds", rounds, f"{vectors.shape[1]}, as in the vectors")
            weights = np.array([weight for _, weight in mixture])
            rows = np.flatnonzero(hidden == hypothesis)
            drawn[rows] = vectors[coins.choice(len(weights), rows.size, p=weights / weights.sum())]
        return drawn
