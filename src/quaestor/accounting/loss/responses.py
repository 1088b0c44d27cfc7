"""Randomized responses: the worst case of black boxes, any number of them at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT, expm1, log1p
from quaestor.accounting.loss.law import Lattice, Law, least_one_minus_cosine

if TYPE_CHECKING:
    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["Responses"]

_MOST_WITNESSES = 1000
_CHUNK = 1 << 20  # elements treated at once, to bound memory


class Responses(Law):
    r"""The sum of independent losses :math:`\pm\varepsilon_i`, each with its count.

    :math:`\log M(s) = s\varepsilon + \log(1 + s(-\varepsilon)(e^{-2s\varepsilon} - 1))`, which
    neither overflows nor cancels for a real part of s from -1/2 on, where truth outweighs lies;
    for a smaller one the mirror image of the same.
    """

    def __init__(
        self, epsilons: Floats, counts: Floats, *, infinite: Bounds = Law.infinite
    ) -> None:
        self.epsilons, self.counts, self.infinite = epsilons, counts, infinite
        self.largest = math.fsum(epsilons * counts)
        self._lie = 1 / (1 + np.exp(np.minimum(epsilons, 700.0)))
        if epsilons.size == 1 and counts[0] == 1.0:
            self.lattice = Lattice(float(epsilons[0]), 2 * float(epsilons[0]))

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = np.zeros(s.shape, np.complex128), np.zeros(s.shape)
        step = max(_CHUNK // self.epsilons.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            values[part], errors[part] = self._log_moment(s[part])
        return values, errors

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        forward = s[0].real >= -0.5
        z = np.multiply.outer(s if forward else -s, self.epsilons)
        wrong = self._lie if forward else 1 - self._lie
        grown = expm1(-2 * z)
        inner = wrong * grown
        values = z + log1p(inner)
        size = wrong * (np.abs(grown) * 16 + np.abs(z) * np.abs(grown + 1) * 8) * UNIT
        errors = np.log1p(size / np.maximum(np.abs(1 + inner), 1e-300)) + 4 * UNIT * np.abs(z)
        return values @ self.counts, errors @ self.counts

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count * self.epsilons.size)

    def _tilted(self, theta: float) -> Floats:
        """The probability of a lie under the law tilted by exp(theta L)."""
        tilt = np.clip((1 + 2 * theta) * self.epsilons, -700.0, 700.0)
        lie: Floats = 1 / (1 + np.exp(tilt))
        return lie

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Each response loses by itself; a thousand of them, evenly picked, say enough."""
        stride = -(-self.epsilons.size // _MOST_WITNESSES)
        lie, apart = self._tilted(theta)[::stride], 2 * self.epsilons[::stride]
        counts = self.counts[::stride]
        falls = np.empty(low.shape)
        step = max(_CHUNK // apart.size, 1)
        for start in range(0, low.size, step):
            part = slice(start, start + step)
            least = least_one_minus_cosine(np.outer(low[part], apart), np.outer(high[part], apart))
            gain = np.minimum(2 * lie * (1 - lie) * least * 0.999, 1 - 1e-12)
            falls[part] = (-0.5 * np.log1p(-gain)) @ counts
        return falls
