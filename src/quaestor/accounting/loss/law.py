r"""What a privacy loss is: a law with a moment function, seen under the first hypothesis.

For a dominating pair (P, Q), the loss is :math:`L = \log(dP/dQ)` under P. Everything the engine
needs of it is its moment function :math:`M(s) = E[e^{sL}]` at complex s, how fast that falls off
along a vertical line, and the probability that L is infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.bounds import Bounds

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["Lattice", "Law", "decay_of_atoms", "least_one_minus_cosine"]


class Lattice(NamedTuple):
    """All losses are ``offset`` plus whole multiples of ``gap``."""

    offset: float
    gap: float


class Law(ABC):
    """The law of one release's privacy loss, given that it is finite."""

    infinite: Bounds = Bounds.exactly(0.0)
    """The probability of an infinite loss."""

    lattice: Lattice | None = None

    known_by_moments_only: bool = False
    """Whether only upper bounds on real moments are known, and not a pair."""

    largest: float = math.inf
    """The largest finite loss there can be."""

    @abstractmethod
    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """``log E[exp(s L)]`` at points of one vertical line, and a bound on each one's error.

        The error is absolute, and relative to the moment's own modulus: the true moment is
        within a factor ``exp(+-error)`` of the computed one, in modulus and direction.
        """

    def rough_log_moment(self, theta: float) -> float:
        """An estimate of the log-moment on the real axis, for choosing a line; may overflow."""
        return float(self.log_moment(np.array([complex(theta)]))[0].real[0])

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        """About how many exponentials ``count`` nodes, ``step`` apart, cost."""
        return float(count)

    @abstractmethod
    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        r"""Lower bounds on :math:`-\log|M(\theta+it)/M(\theta)|` for all t in each [low, high]."""


def decay_of_atoms(losses: Floats, weights: Floats, low: Floats, high: Floats) -> Floats:
    r"""The decay that some atoms of the tilted law certify.

    With two independent copies of the tilted loss, :math:`|M(\theta+it)/M(\theta)|^2 =
    E[\cos(t(L-L'))] = 1 - E[1-\cos(t(L-L'))]`, and every pair of atoms contributes at least its
    least :math:`1-\cos`.
    """
    i, j = np.triu_indices(losses.size, k=1)
    apart, weight = np.abs(losses[i] - losses[j]), 2 * weights[i] * weights[j]
    gain = least_one_minus_cosine(np.outer(low, apart), np.outer(high, apart)) @ weight
    falls: Floats = -0.5 * np.log1p(-np.minimum(gain * 0.999, 1 - 1e-12))
    return falls


def least_one_minus_cosine(low: Floats, high: Floats) -> Floats:
    """The least value of ``1 - cos(x)`` for x in each interval ``[low, high]``."""
    ends = np.minimum(1 - np.cos(low), 1 - np.cos(high))
    full_turns = np.floor(high / (2 * np.pi)) > np.floor(low / (2 * np.pi))
    touches = full_turns | (low <= 0.0)
    least: Floats = np.where(touches, 0.0, np.maximum(ends - 1e-15, 0.0))
    return least
