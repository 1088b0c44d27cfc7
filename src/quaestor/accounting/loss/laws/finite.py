r"""Losses with finitely many values, as pairs of probabilities that cannot lose mass.

A law keeps :math:`\ln P` and :math:`\ln Q` of every atom side by side, with the mass where only one
of the two is positive. Neither is ever rebuilt from the other: where P is e^-3000 of Q, a float
does not hold it, and Q would be lost with it. Both must sum to one within the error that is stated
for them, or there is no law; nothing is divided by a sum to make it so.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import ExponentialSums
from quaestor.accounting.loss.laws.lattices.bracket import Bracket
from quaestor.accounting.loss.laws.law import Lattice, Law, Values, decay_of_atoms
from quaestor.accounting.numerics.atoms import Atoms
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import CertificationFault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["FiniteLoss", "SmoothLoss"]

_MOST_ATOMS = 32
_NOTHING = Bounds.exactly(0.0)
_NEAR = 30.0  # exponents up to which M - 1 is summed by itself
_GROUPS = 1024  # of very many atoms, in estimates
_MANY_ATOMS = 4096  # from which a lattice is worth while
_MOST_GAPS = 1 << 17  # between them
_CORE = 1e-18  # the probability of what no lattice need be fine for
_LARGEST_ROUNDING = 1e-4  # of tilted weights, where their decay is still believed


class FiniteLoss(Law):
    r"""Atoms with their losses and the logarithms of their probabilities in both worlds.

    ``infinite`` is the probability in the first world of what the second one cannot show, and
    ``opposite`` the other way round. A bound whose lower end is 0 may stand for atoms that were
    left out: moving them to infinity only raises delta, and dropping them only lowers it.

    Losses may be off by eight units in the last place, and log-masses too; by more than that,
    ``blur`` says how far a loss can be off, and ``error`` by which share a mass.

    Raises:
        CertificationFault: if a mass is not a number, if a loss is not the ratio of its two masses,
            or if the masses of a world do not sum to one within what is stated of them.
    """

    def __init__(  # noqa: PLR0913  # what is known of a law with atoms
        self,
        losses: Floats,
        log_first: Floats,
        log_second: Floats,
        *,
        infinite: Bounds = _NOTHING,
        opposite: Bounds = _NOTHING,
        lattice: Lattice | None = None,
        blur: float = 0.0,
        error: float = 0.0,
    ) -> None:
        self.losses, self.log_first, self.log_second = losses, log_first, log_second
        self.infinite, self.opposite, self.lattice = infinite, opposite, lattice
        self.blur, self.error = blur, error
        with certified_arithmetic():
            _check_losses(self)
            _check_masses("first", log_first, infinite, error)
            _check_masses("second", log_second, opposite, error)
            # given that the loss is finite: divided by a known probability, not by a sum
            least, most = 1.0 - infinite.upper, 1.0 - infinite.lower
            kept = (least + most) / 2
            self.log_masses = log_first - math.log(kept) if 0.0 < kept < 1.0 else log_first
            self.doubt = error
            if infinite.upper > 0.0 and losses.size:
                self.doubt += ((most - least) / 2 + 4 * UNIT) / max(least, 1e-300)
            self.masses = np.exp(self.log_masses)
            self.largest = float(np.max(losses, initial=-math.inf)) if losses.size else 0.0
            self.largest += blur + 8 * UNIT * abs(self.largest)
            if losses.size >= _MANY_ATOMS:
                self._sort()

    def turned(self) -> Self:
        """The two worlds exchanged."""
        lattice = self.lattice and Lattice(-self.lattice.offset, self.lattice.gap)
        return type(self)(
            -self.losses,
            self.log_second,
            self.log_first,
            infinite=self.opposite,
            opposite=self.infinite,
            lattice=lattice,
            blur=self.blur,
            error=self.error,
        )

    def listed(self) -> FiniteLoss:
        return self

    def _sort(self) -> None:
        """Say how fine a lattice may be, and how far apart heavy ends are, of very many atoms."""
        order = np.argsort(self.losses, kind="stable")
        losses, masses = self.losses[order], self.masses[order]
        kept = slice(*_without_tails(masses, _CORE))
        self.least_gap = float(np.ptp(losses[kept])) / _MOST_GAPS or math.inf
        if min(masses[0] - 4 * masses[1], masses[-1] - 4 * masses[-2]) > 0.0:
            self.span = float(losses[-1] - losses[0])

    def bracket(self, gap: float, lost: float) -> Bracket:  # noqa: ARG002
        """The atoms themselves, without those that lose least or most and are rare."""
        order = np.argsort(self.losses, kind="stable")
        masses = self.masses[order]
        kept = slice(*_without_tails(masses, lost / 4))
        losses, masses = self.losses[order][kept], masses[kept]
        largest = float(np.max(np.abs(self.log_masses[order][kept])))
        atoms = Atoms(
            losses=losses,
            masses=masses,
            blur=self.blur + 8 * UNIT * float(np.max(np.abs(losses))),
            error=self.doubt + UNIT * (16 + 16 * largest),
        )
        return Bracket(less=atoms, more=atoms, lost=lost)

    def few_values(self, count: int) -> list[Values] | None:
        if not self.losses.size or self.doubt * count > 1.0:
            return None
        return [Values(self.losses, self.log_masses, count)]

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        if not self.losses.size:  # everything is told: nothing is left to lose
            return np.zeros(s.shape, np.complex128), np.zeros(s.shape)
        sums = ExponentialSums(self.losses[None, :], self.log_masses[None, :], float(s[0].real))
        values, errors = sums.log_moments(s)
        return values[:, 0], errors[:, 0]

    @cached_property
    def _rough(self) -> tuple[Floats, Floats, Floats]:
        """The atoms; of very many, groups of neighbours, each at its mean loss."""
        if self.losses.size < _MANY_ATOMS:
            return self.losses, self.masses, self.log_masses
        order = np.argsort(self.losses, kind="stable")
        losses, masses = self.losses[order], self.masses[order]
        starts = np.arange(0, losses.size, losses.size // _GROUPS)
        starts = np.unique(np.concatenate((starts, [1, losses.size - 1])))
        sums = np.add.reduceat(masses, starts)
        there = sums > 0.0
        means = np.add.reduceat(masses * losses, starts)[there] / sums[there]
        return means, sums[there], np.log(sums[there])

    def rough_log_moments(self, thetas: Floats) -> Floats:
        if not self.losses.size:
            return np.zeros(thetas.shape)
        losses, masses, logs = self._rough
        exponents = np.outer(thetas, losses)
        near = np.max(np.abs(exponents), axis=1) <= _NEAR
        close: Floats = np.log1p(np.expm1(np.where(near[:, None], exponents, 0.0)) @ masses)
        if bool(np.all(near)):
            return close
        exponents += logs
        top = np.max(exponents, axis=1)
        far = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        values: Floats = np.where(near, close, far)
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count * self.losses.size)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By the heaviest atoms of the tilted law, whose shares are known to a thousandth."""
        if self.losses.size < 2:
            return np.zeros(low.shape)
        exponents = theta * self.losses + self.log_masses
        heaviest = self._decaying(exponents)
        tilted = exponents - exponents[heaviest[0]]
        weights = np.exp(tilted[heaviest]) / np.sum(np.exp(tilted))
        losses = self.losses[heaviest]
        size = abs(theta) * np.max(np.abs(losses)) + np.max(np.abs(self.log_masses[heaviest]))
        if 32 * UNIT * size + 4 * self.doubt + 4 * abs(theta) * self.blur > _LARGEST_ROUNDING:
            return np.zeros(low.shape)
        blur = self.blur + 8 * UNIT * float(np.max(np.abs(losses)))
        return decay_of_atoms(losses, weights * 0.999, low, high, blur=blur)

    def _decaying(self, exponents: Floats) -> NDArray[np.intp]:
        """The atoms whose differences show the decay, the heaviest first."""
        return np.argsort(-exponents)[:_MOST_ATOMS]


def _without_tails(masses: Floats, lost: float) -> tuple[int, int]:
    """From where to where, so that either end has no more than this."""
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])
    first, last = np.searchsorted(below, lost), np.searchsorted(above, lost)
    return int(first), max(masses.size - int(last), int(first) + 1)


class SmoothLoss(FiniteLoss):
    """Many atoms that stand for a density: a few of the heaviest, apart, show its decay as well."""

    def _decaying(self, exponents: Floats) -> NDArray[np.intp]:
        return np.argsort(-exponents)[: 2 * _MOST_ATOMS : 8]


def _check_losses(law: FiniteLoss) -> None:
    columns = law.losses, law.log_first, law.log_second
    if not all(bool(np.all(np.isfinite(column))) for column in columns):
        raise CertificationFault("a loss or the logarithm of a mass is not a finite number")
    if law.losses.size:
        size = np.abs(law.log_first) + np.abs(law.log_second) + np.abs(law.losses) + 1.0
        off = np.abs(law.losses - (law.log_first - law.log_second))
        if bool(np.any(off > law.blur + 2 * law.error + 16 * UNIT * size)):
            raise CertificationFault("a loss is not the ratio of its two masses")


def _check_masses(world: str, logs: Floats, apart: Bounds, error: float) -> None:
    """The sum of all masses is 1, up to what each of them, and the sum, can be off by."""
    if bool(np.any(logs > error + 1e-9)):
        raise CertificationFault(f"a mass of the {world} world is above 1")
    masses = np.exp(logs)
    total = float(np.sum(masses))
    slack = error * (1 + total) + UNIT * (128 + float(np.sum(masses * (16 + 8 * np.abs(logs)))))
    if not total + apart.lower - slack <= 1.0 <= total + apart.upper + slack:
        raise CertificationFault(f"the masses of the {world} world sum to {total!r}, not to 1")
