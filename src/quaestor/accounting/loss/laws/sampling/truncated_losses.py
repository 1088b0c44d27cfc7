"""Several different losses of Gaussian noise on random parts of the people, added up.

Each lacks its rarest outcomes: see
:mod:`quaestor.accounting.loss.laws.sampling.truncated_gaussian`. What a line needs to know of all
of them costs far less together than one by one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.laws.law import Large, Law
from quaestor.accounting.loss.laws.sampling.truncated_moments import TiltedLosses, log_moments
from quaestor.accounting.numerics.balls import ZERO, working_precision
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.sampling.truncated_gaussian import TruncatedSampledGaussian
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["TruncatedLosses"]

_FEW, _CELLS, _FEW_CELLS = 4, 14, 8  # losses up to which each has all of its cells; else fewer
_PLACES = 64  # of the noise, in estimates
_MANY = 1 << 19  # moments at once


class TruncatedLosses(Law):
    """The sum of several such losses, each with its count."""

    decays_quickly = False

    def __init__(self, laws: Sequence[tuple[TruncatedSampledGaussian, int]]) -> None:
        self.laws, self.counts = [law for law, _ in laws], [count for _, count in laws]
        self.number, self.different = sum(self.counts), len(laws)
        self.lost = sum(count * law.lost for law, count in laws) * (1 + 1e-12)
        self.largest = sum(count * law.largest for law, count in laws) * (1 + 1e-12)
        self.large = self._large()
        self._tilted: tuple[float, TiltedLosses] | None = None

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> list[tuple[Law, int]]:
        """Those of one direction in one; a loss alone is best alone."""
        alike: defaultdict[bool, list[tuple[TruncatedSampledGaussian, int]]] = defaultdict(list)
        for several, times in laws:
            for law, count in zip(several.laws, several.counts, strict=True):
                alike[law.removing].append((law, times * count))
        return [parts[0] if len(parts) == 1 else (cls(parts), 1) for parts in alike.values()]

    def _large(self) -> Large | None:
        """What was set aside of any of them."""
        parts = [
            (law.large, count)
            for law, count in zip(self.laws, self.counts, strict=True)
            if law.large is not None
        ]
        if not parts:
            return None
        with working_precision(128):
            return Large(
                min(each.least for each, _ in parts),
                sum((each.log_none * count for each, count in parts), ZERO),
                sum((each.log_none_second * count for each, count in parts), ZERO),
            )

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """Some at a time, which bounds memory; what is added rounds each sum on the way."""
        total, doubt, sizes = np.zeros(s.shape, np.complex128), np.zeros(s.shape), np.zeros(s.shape)
        several = max(_MANY // s.size, 1)
        for start in range(0, len(self.laws), several):
            part = slice(start, start + several)
            values, errors = log_moments(self.laws[part], s)
            counts = np.array(self.counts[part], np.float64)
            total += counts @ values
            sizes += counts @ np.abs(values)
            doubt += counts @ errors
        rounds = UNIT * (len(self.laws) + 8)
        return total, (doubt + rounds * sizes) * (1 + rounds)

    @cached_property
    def _rough(self) -> tuple[Floats, Floats]:
        """Losses at some places of each noise, and the logarithms of their masses."""
        rows = []
        for law in self.laws:
            x = np.linspace(law.low, law.high, _PLACES)
            losses = law.noise.losses(x)
            logs = math.log((x[1] - x[0]) / math.sqrt(2 * math.pi)) - x * x / 2
            rows.append((losses, logs + losses) if law.removing else (-losses, logs))
        losses, logs = np.array(rows).transpose(1, 0, 2)
        return losses, logs

    def rough_log_moments(self, thetas: Floats) -> Floats:
        losses, logs = self._rough
        exponents = logs + thetas[:, None, None] * losses
        top = np.max(exponents, axis=2)
        values = top + np.log(np.sum(np.exp(exponents - top[..., None]), axis=2))
        total: Floats = values @ np.array(self.counts, np.float64)
        return total

    def work(self, count: int, step: float) -> float:
        return sum(law.work(count, step) for law in self.laws)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        if self._tilted is None or self._tilted[0] != theta:  # asked often about one line
            cells = _CELLS if len(self.laws) <= _FEW else _FEW_CELLS
            self._tilted = theta, TiltedLosses.of(self.laws, theta, cells=cells)
        falls = np.maximum(self._tilted[1].falls(low, high), 0.0)
        total: Floats = np.array(self.counts, np.float64) @ falls
        return total * (1 - 1e-12)
