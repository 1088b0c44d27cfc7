"""The loss of Laplace noise, any number of them at once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.closed_form import blurred, laplace_delta
from quaestor.accounting.loss.laws.law import (
    Law,
    OneOfMany,
    least_one_minus_cosine,
    representatives,
)
from quaestor.accounting.numerics.certified_arithmetic import rough_arithmetic
from quaestor.accounting.numerics.complexes import UNIT, expm1, log1p, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["LaplaceLoss", "LaplaceLosses"]

_CHUNK = 1 << 20  # elements treated at once, to bound memory
_MOST_WITNESSES = 64


class LaplaceLoss(OneOfMany):
    """Atoms 1/2 at e = shift/scale and e^-e/2 at -e, and the density e^((l - e)/2)/4 between."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = self.largest = epsilon

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> list[tuple[Law, int]]:
        """All in one array, equal ones counted."""
        counts: Counter[float] = Counter()
        for law, count in laws:
            counts[law.epsilon] += count
        arrays = (np.array(list(column), np.float64) for column in (counts, counts.values()))
        return [(LaplaceLosses(*arrays), 1)]


class LaplaceLosses(Law):
    r"""The sum of several such losses, each with its count.

    :math:`M(s) = e^{-e/2}(\cosh ae + \sinh(ae)/2a)` with :math:`a = s + 1/2`, hence
    :math:`\log M = se + \log(1 + \tfrac{s}{2a}(e^{-2ae} - 1))`.
    """

    def __init__(self, epsilons: Floats, counts: Floats) -> None:
        self.epsilons, self.counts = epsilons, counts
        with rough_arithmetic():  # more than floats hold is infinite
            self.largest = float(np.sum(epsilons * counts)) * (1 + 1e-13)
        self._few = representatives(epsilons, counts)

    def curve(self, count: int) -> Curve | None:
        if count != 1 or list(self.counts) != [1.0]:
            return None
        return partial(laplace_delta, blurred(float(self.epsilons[0])))

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
        step = max(_CHUNK // self.epsilons.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            values[part], errors[part] = self._some(s[part])
        return values, errors

    def _some(self, s: Complexes) -> tuple[Complexes, Floats]:
        """M is even in a, so that s may be -1 - s; and s is never found again from a.

        Within 1e-9/e of the removable pole a = 0 (e the largest epsilon, or 1), both are moved
        there: as M is even in a, its logarithm changes by at most (ae)^2, below 1e-18.
        """
        half = np.where(s.real >= -0.5, s, -1 - s)
        a = half + 0.5
        closest = 1e-9 / max(float(np.max(self.epsilons)), 1.0)
        at_pole = np.abs(a) < closest
        a = np.where(at_pole, closest, a)
        half = np.where(at_pole, a - 0.5, half)
        turns = np.multiply.outer(a, self.epsilons)
        grown = expm1(-2 * turns)
        inner = (half / (2 * a))[:, None] * grown
        linear = np.multiply.outer(half, self.epsilons)
        values = linear + log1p(inner)
        size = np.abs(grown) * 16 + np.abs(turns) * np.abs(grown + 1) * 8
        doubt = UNIT * np.abs(half / a)[:, None] * size
        errors = as_nats(doubt, np.abs(1 + inner)) + 4 * UNIT * np.abs(linear)
        errors += 1e-18 * at_pole[:, None]
        return summed(values, errors, self.counts)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Of a few of the losses, which stand for the others."""
        few, counts = self._few
        e, a = self.epsilons[few], np.maximum(np.abs(thetas + 0.5), 1e-9)[:, None]
        rise = (a - 0.5) * e + np.log1p((a - 0.5) / (2 * a) * np.expm1(-2 * a * e))
        values: Floats = rise @ counts
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count * self.epsilons.size)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Some of them, evenly picked: the others take away too, which only helps."""
        stride = -(-self.epsilons.size // _MOST_WITNESSES)
        e, counts = self.epsilons[::stride], self.counts[::stride]
        return _decays(e, theta, low, high) @ counts


def _decays(e: Floats, theta: float, low: Floats, high: Floats) -> Floats:
    """By the two atoms, or by cells of the density: one uniform on a length l loses sinc(tl/2).

    Under the tilt the density is proportional to e^(al), with a = theta + 1/2.
    """
    a = max(abs(theta + 0.5), 1e-9)  # even in a
    shrunk = np.exp(-2 * a * e)  # everything relative to the weight of the larger atom
    inside = -np.expm1(-2 * a * e) / (2 * a)  # twice its integral: atoms weigh 1/2, it 1/4
    total = 1 + shrunk + inside
    pair = 2 * shrunk / total**2 * 0.998
    gain = pair * least_one_minus_cosine(np.outer(low, 2 * e), np.outer(high, 2 * e))
    falls = -0.5 * np.log1p(-np.minimum(gain * 0.999, 1 - 1e-12))
    best = np.zeros((low.size, e.size))
    for cells in (1, 4, 16):
        length = 2 * e / cells
        # the least density of each cell is at its lower end: a geometric series
        least = np.exp(-a * length) * -np.expm1(-2 * a * e) / -np.expm1(-a * length)
        weight = least * length / (2 * total) * 0.998
        best = np.maximum(
            best, weight * (1 - np.minimum(2 / np.maximum(np.outer(low, length), 1.0), 1.0))
        )
    return np.maximum(falls, -np.log1p(-np.minimum(best, 1 - 1e-12)))
