r"""What multiplies :math:`e^{K-s\varepsilon}` at the nodes of a line, and how it rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.numerics.complexes import UNIT, expm1

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.inversion import Line
    from quaestor.accounting.loss.laws.law import Lattice
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Kernel", "Row"]


class Row(NamedTuple):
    """Sums of sizes over the nodes: times the nodes' own errors, and times what moves angles."""

    base: float
    steep: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What does not depend on epsilon, for a line is asked about many."""

    nodes: Complexes
    theta: float
    lattice: Lattice | None
    weights: Floats
    fixed: Complexes  # on a lattice without what depends on epsilon; times the weights
    turned: Complexes | None
    rows: tuple[Row, ...]
    density: Row
    furthest: float

    @classmethod
    def of(cls, line: Line) -> Kernel:
        r"""The kernel of a line, with the errors of its nodes.

        A node's error E grows by :math:`x = 4u|s|\varepsilon` for the angle:
        :math:`e^{E+x}-1 = (e^E-1)e^x + (e^x-1)`, at most 1.001 times each for x up to 1/1000. Where
        E says nothing, :math:`|M(s)|` is still at most the moment on the real axis, times what the
        smoothing takes away.
        """
        s, sizes = line.nodes, np.exp(line.values.real)
        errors = line.errors + 8 * UNIT
        most = min(float(line.errors[0]), 600.0) - line.smoothing / 2 * s.imag**2
        far = sizes + np.exp(np.minimum(line.values.real + errors, most))
        wobble = np.where(errors < 30.0, sizes * np.expm1(np.minimum(errors, 30.0)), far)
        weights = np.full(s.size, line.step / math.pi)
        weights[0] /= 2
        if line.lattice is not None and _covers_the_period(line, line.lattice):
            weights[-1] /= 2
        sign = -1.0 if line.theta < 0 else 1.0  # past the pole at 0: what is found is delta - 1
        reach = np.abs(s)

        def row(height: Floats, units: Floats | float) -> Row:
            heights = weights * height
            base = heights * (wobble + UNIT * (64 * sizes + units * (sizes + wobble)))
            steep = heights * reach * (sizes + wobble)
            return Row(float(np.sum(base)) * 1.0001, float(np.sum(steep)) * 1.0001)

        density = row(np.ones(s.size), 0.0)
        turned = None
        if line.lattice is None:
            kernel = 1 / (s * (s + 1))
            rows: tuple[Row, ...] = (row(np.abs(kernel), 16.0),)
        else:
            gap = line.lattice.gap
            turned = np.exp(-s * gap)
            above, below = -expm1(-s * gap), -expm1(-(s + 1) * gap)
            kernel = gap / (above * below)
            height, units = np.abs(kernel), 64 + 32 * (reach + 1) * gap
            moved = weights * gap / np.abs(below) * (sizes + wobble)
            rows = (
                row(height, units),
                row(height * np.abs(turned), units),
                Row(0.0, float(np.sum(moved)) * 1.0001),
            )
        return cls(
            nodes=s,
            theta=line.theta,
            lattice=line.lattice,
            weights=weights,
            fixed=sign * weights * kernel,
            turned=turned,
            rows=rows,
            density=density,
            furthest=float(np.max(reach)),
        )

    def at(self, epsilon: float) -> tuple[Complexes, tuple[float, ...], float]:
        r"""What multiplies :math:`e^{K-s\varepsilon}`, the rows' factors, and how far a is off.

        On a lattice of gap g, with a the way from epsilon to the first atom beyond it, it is

        .. math:: g\sum_{k\ge0} e^{-s(a+kg)}(1-e^{-a-kg}) = g e^{-sa}\,
            \frac{(1-e^{-a}) + e^{-sg}(e^{-a}-e^{-g})}{(1-e^{-sg})(1-e^{-(s+1)g})},

        the difference of two geometric series over their common denominator. Neither of the two
        real differences cancels; where their sum does, the rounding of both is charged. a itself
        is the difference of larger numbers, off by some units of these, and so is every loss:
        the derivative of the kernel in a is :math:`-s` times it, plus
        :math:`g e^{-sa-a}/(1-e^{-(s+1)g})`. Where a is so close to g that epsilon may lie just
        below the atom before, that is to be taken at a = 0: the kernel is continuous there, and its
        derivative is not.
        """
        if self.lattice is None or self.turned is None:
            return self.fixed, (1.0,), 0.0
        offset, gap = self.lattice
        first = math.floor((epsilon - offset) / gap) + 1
        ahead = min(max(offset + gap * first - epsilon, 0.0), gap)
        blur = 16 * UNIT * (abs(offset) + abs(epsilon) + gap * abs(first) + gap)
        blur *= math.exp(min((abs(self.theta) + 1) * blur, 600.0))
        start, more = -math.expm1(-ahead), -math.exp(-ahead) * math.expm1(ahead - gap)
        kernel = self.fixed * np.exp(-self.nodes * ahead) * (start + self.turned * more)
        fall = math.exp(-self.theta * ahead)
        steepest = fall * math.exp(-ahead)
        if ahead + blur >= gap:
            steepest = max(steepest, math.exp(min((abs(self.theta) + 1) * blur, 600.0)))
        return kernel, (fall * start, fall * more, steepest), blur


def _covers_the_period(line: Line, lattice: Lattice) -> bool:
    half = math.pi / lattice.gap
    return bool(abs(float(line.nodes[-1].imag) - half) < line.step / 4)
