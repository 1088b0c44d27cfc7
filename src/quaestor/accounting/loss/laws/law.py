r"""What a privacy loss is: a law with a moment function, seen under the first hypothesis.

For a dominating pair (P, Q), the loss is :math:`L = \log(dP/dQ)` under P. Everything the engine
needs of it is its moment function :math:`M(s) = E[e^{sL}]` at complex s, how fast that falls off
along a vertical line, and the probability that L is infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.errors import CertificationFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb
    from numpy.typing import NDArray

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.loss.laws.lattices.bracket import Bracket
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = [
    "Large",
    "Lattice",
    "Law",
    "OneOfMany",
    "Values",
    "decay_of_atoms",
    "least_one_minus_cosine",
    "representatives",
]

_FEW = 12


class Lattice(NamedTuple):
    """All losses are ``offset`` plus whole multiples of ``gap``."""

    offset: float
    gap: float


class Large(NamedTuple):
    """Outcomes of a loss that were set aside because each is at least ``least``.

    And the logarithm of the probability that there is none, under either hypothesis.
    """

    least: float
    log_none: arb
    log_none_second: arb


class Values(NamedTuple):
    """The values of a loss, the logarithms of their probabilities, and how often it comes."""

    losses: Floats
    log_masses: Floats
    times: int


class Law(ABC):
    """The law of one release's privacy loss, given that it is finite."""

    infinite: Bounds = Bounds.exactly(0.0)
    """The probability of an infinite loss."""

    number: int = 1
    """Of how many losses it is the sum, about: each of them rounds."""

    different: int = 1
    """Of how many different ones: each of them takes its time."""

    lattice: Lattice | None = None

    blur: float = 0.0
    """How far the loss of an atom can be off, beyond rounding."""

    doubt: float = 0.0
    """By which share the mass of an atom can be off, beyond rounding."""

    lost: float = 0.0
    """The probability of what was left out of it, at most: see ``truncated``."""

    large: Large | None = None
    """What else was left out of it: see ``truncated``."""

    can_be_truncated: bool = False

    by_transform: bool = False
    """Whether its moments on a line are one Fourier transform of its masses."""

    least_gap: float = math.inf
    """The least gap of a lattice that it can be moved to; infinite if it has no ``bracket``."""

    span: float = 0.0
    """How far apart its two heavy atoms are, which are better on a lattice than between."""

    known_by_moments_only: bool = False
    """Whether only upper bounds on real moments are known, and not a pair."""

    largest: float = math.inf
    """The largest finite loss there can be."""

    least: float = -math.inf
    """At most the least loss there can be, for all outcomes; never positive."""

    gaussian_variance: float = 0.0
    """That of a Gaussian loss, which smooths every sum it is part of; 0 for all others."""

    decays_quickly: bool = True
    """Whether the decay costs little enough to be asked about thousands of blocks."""

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> Sequence[tuple[Law, int]]:
        """The same sum of losses of this kind, in fewer laws where there is a quicker way."""
        return laws

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """``log E[exp(s L)]`` at points of one vertical line, and a bound on each one's error.

        The true moment is the computed one times ``1 + z`` with ``|z| <= exp(error) - 1``: so
        errors add up, as log-moments do. An infinite error says that nothing is known.

        Raises :class:`~quaestor.errors.BeyondFloats` where the numbers are.
        """
        values, errors = self.nominal_log_moment(s)
        if self.blur == self.doubt == 0.0:
            return values, errors
        # what each term is off by counts beside |M(s)|, which may be far less than the sum of sizes
        at_theta, _ = self.nominal_log_moment(np.asarray(s[:1].real, np.complex128))
        moved = np.expm1(np.minimum(self.blur * np.abs(s), 600.0))
        with certified_arithmetic():
            less = np.exp(np.minimum(at_theta.real - values.real + errors, 60.0))
            return values, errors + 1.001 * np.log1p((moved + self.doubt * (1 + moved)) * less)

    def nominal_log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The same for the losses and masses as they are written, without ``blur`` and ``doubt``.

        Of a sum of such laws these need not be known at every s: they move the answer's epsilon,
        and its delta by a share.
        """
        with certified_arithmetic():
            values, errors = self._log_moment(s)
        if bool(np.any(np.isnan(errors) | (errors < 0.0))):
            raise CertificationFault("the error of a moment is not a number")
        return values, errors

    @abstractmethod
    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """What each kind knows of it; runs in certified arithmetic."""

    def listed(self) -> FiniteLoss | None:
        """The same law as finitely many atoms, in both worlds; None where they are not known."""
        return None

    def few_values(self, count: int) -> list[Values] | None:  # noqa: ARG002
        """The values of ``count`` such losses, where they are few enough to be listed."""
        return None

    def curve(self, count: int) -> Curve | None:  # noqa: ARG002
        """The profile of ``count`` such losses alone, where it has a closed form."""
        return None

    def truncated(self, lost: float, above: float) -> Sequence[tuple[Law, int]]:  # noqa: ARG002
        """One such loss without its rarest outcomes, of probability ``lost`` or about that.

        And without those that lose more than ``above``, where they can be set aside. As independent
        losses with their counts.
        """
        return [(self, 1)]

    def bracket(self, gap: float, lost: float) -> Bracket | None:  # noqa: ARG002
        """Atoms that tell less and atoms that tell more, their losses about a gap apart.

        Both may lack outcomes of probability ``lost``. None where they are not known.
        """
        return None

    def reversed_loss(self) -> Law | None:
        """The loss with its sign changed, seen under the second hypothesis; None if not known."""
        return None

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Estimates of the log-moment on the real axis, for choosing a line; may overflow."""
        return np.array([self.log_moment(np.array([complex(t)]))[0].real[0] for t in thetas])

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        """About how many exponentials ``count`` nodes, ``step`` apart, cost."""
        return float(count)

    def effort(self, theta: float, count: int, step: float) -> float:  # noqa: ARG002
        """The same for the line through theta, where that makes a difference."""
        return self.work(count, step)

    @abstractmethod
    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        r"""Lower bounds on :math:`-\log|M(\theta+it)/M(\theta)|` for all t in each [low, high]."""


class OneOfMany(Law):
    """One loss of a kind that is computed many at a time; alone, it is many of one."""

    def _alone(self) -> Law:
        ((law, _),) = self.together([(self, 1)])
        return law

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return self._alone().log_moment(s)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        return self._alone().decay(theta, low, high)


def representatives(
    sizes: Floats, counts: Floats, weights: Floats | None = None
) -> tuple[NDArray[np.intp], Floats]:
    """A few of many losses, with the counts of those for which they stand: to choose by.

    The weight of a loss says how much it counts beside others of about its size.
    """
    if sizes.size <= _FEW:
        return np.arange(sizes.size), counts
    weights = np.ones(sizes.shape) if weights is None else weights
    groups = np.array_split(np.argsort(sizes, kind="stable"), _FEW)
    middles = np.array([group[group.size // 2] for group in groups])
    return middles, np.array([np.sum((counts * weights)[group]) for group in groups]) / weights[
        middles
    ]


def decay_of_atoms(
    losses: Floats, weights: Floats, low: Floats, high: Floats, *, blur: float
) -> Floats:
    r"""The decay that some atoms of the tilted law certify, each loss known within ``blur``.

    With two independent copies of the tilted loss, :math:`|M(\theta+it)/M(\theta)|^2 =
    E[\cos(t(L-L'))] = 1 - E[1-\cos(t(L-L'))]`, and every pair of atoms contributes at least its
    least :math:`1-\cos`.
    """
    i, j = np.triu_indices(losses.size, k=1)
    apart, weight = np.abs(losses[i] - losses[j]), 2 * weights[i] * weights[j]
    nearest, furthest = np.maximum(apart - 2 * blur, 0.0), apart + 2 * blur
    gain = least_one_minus_cosine(np.outer(low, nearest), np.outer(high, furthest)) @ weight
    falls: Floats = -0.5 * np.log1p(-np.minimum(gain * 0.999, 1 - 1e-12))
    return falls


def least_one_minus_cosine(low: Floats, high: Floats) -> Floats:
    """The least value of ``1 - cos(x)`` for x in each interval ``[low, high]``.

    The ends are rounded: by some units of their size, which the cosine passes on at most.
    """
    doubt = 1e-15 + 2.0**-50 * high
    ends = np.minimum(1 - np.cos(low), 1 - np.cos(high))
    full_turns = np.floor(high / (2 * np.pi)) > np.floor(low / (2 * np.pi))
    touches = full_turns | (low <= 0.0)
    least: Floats = np.where(touches, 0.0, np.maximum(ends - doubt, 0.0))
    return least
