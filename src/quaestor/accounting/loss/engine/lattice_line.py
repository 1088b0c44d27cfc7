r"""A line through losses on a lattice, with delta at every place of it from one Fourier transform.

At epsilons that lie on the lattice the sum over the nodes is a transform. Between two of them delta
is linear in :math:`e^\varepsilon`, and so are all aliases, which are whole gaps away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from quaestor.accounting.loss.engine.inversion import Line
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.integral import LinePlan
    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["LatticeLine"]

_STEEPEST = 30.0  # nats from one place to the next


class _LatticeSums(NamedTuple):
    """The sums at places that begin at ``start``, and what each can be off by."""

    start: float
    sums: Floats
    doubt: float


@dataclass(frozen=True)
class LatticeLine(Line):
    """A line over one whole period."""

    @classmethod
    def _along(cls, product: Product, plan: LinePlan) -> Self:
        """The same; where an epsilon lies on the lattice is known to some units only."""
        line = super()._along(product, plan)
        reach = 2 * math.pi / line.step
        period = line.lattice and round(reach / line.lattice.gap)
        if line.lattice is None or not line.theta > 0.0 or 2 * (line.nodes.size - 1) != period:
            raise BeyondFloats("the line is not over one period, or below the mean")
        places = abs(line.lattice.offset) + 2 * reach + line.lattice.gap
        return replace(line, blur=line.blur + 64 * UNIT * places)

    @cached_property
    def _table(self) -> _LatticeSums:
        """With the way from a place to the next, which is all that counts: see ``Kernel``.

        A transform rounds by some units of the sum of all sizes; the angles as in ``_sums``.
        """
        kernel, (offset, gap) = self._kernel, self.lattice or (0.0, 1.0)
        start = offset + gap * (math.floor(-offset / gap) - 1)
        size = 2 * (self.nodes.size - 1)
        drop = -math.expm1(-gap)
        turned = np.exp(self.values - 1j * self.nodes.imag * start - self.nodes * gap)
        terms = kernel.fixed * turned * drop
        spectrum = np.conj(terms) * (size / 2)
        spectrum[[0, -1]] *= 2
        sums = np.fft.irfft(spectrum, n=size)
        row, fall = kernel.rows[0], math.exp(-self.theta * gap) * drop
        turns = 16 * UNIT * (abs(start) + size * gap + gap)
        units = UNIT * (128 + 8 * (math.log2(size) + 4))
        doubt = fall * (1.0011 * row.base + turns * row.steep)
        doubt += units * float(np.sum(np.abs(terms)))
        return _LatticeSums(start, sums, doubt * (1 + 1e-9))

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        gap = self.lattice.gap if self.lattice else 1.0
        if self.theta * gap > _STEEPEST:
            return super()._sums(epsilon)
        start, sums, doubt = self._table
        place = math.floor((epsilon - start) / gap)
        if not 0 <= place < sums.size - 1:
            raise BeyondFloats("epsilon is beyond the period")
        way = min(max(epsilon - start - gap * place, 0.0), gap)
        share = math.expm1(way) / math.expm1(gap)
        fall = math.exp(-self.theta * gap)
        least, most = float(sums[place]), float(sums[place + 1])
        total = (1 - share) * least + share * fall * most
        grown = math.exp(self.theta * way)
        doubt += 16 * UNIT * (1 + self.theta * gap) * (abs(least) + abs(most))
        return grown * total, grown * doubt, 0.0
