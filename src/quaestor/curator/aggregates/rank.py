"""Quantiles: chosen by their ranks, so that their error is one of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.base import Estimates, Expected, Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.curator.aggregates.base import Noised, Scatter
    from quaestor.curator.kernel.measures import Chosen, Measure

__all__ = ["Rank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(Recipe):
    """A value of the operand, about so many of whose rows are below.

    How far its *rank* is off is known before anything is drawn. How far off the value itself is
    depends on how the data lie about it, which is private: no error is stated.
    """

    chosen: Chosen

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The quantile as it is drawn."""
        return (self.chosen,)

    @property
    def weights(self) -> tuple[float, ...]:
        """One: the ranks that one unit can move it by are its unit."""
        return (1.0,)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The value that was chosen for every group."""
        del confidence
        steps = noised[self.chosen].values.astype(np.float64)
        values = steps * self.chosen.histogram.step
        return Estimates(values=values, errors=None, lower=None, upper=None, approximate=True)

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """The error of the rank, in words."""
        ranks = scatters[self.chosen].reach(confidence)
        return Expected(
            name=name,
            standard_error=None,
            half_width=None,
            words=f"its rank is off by at most {ranks:.6g} rows with probability {confidence:g}",
        )
