"""An account's burn-down: what is left of its budget, and what was lost, charge by charge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.figures.labels import plain
from quaestor.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["BudgetCurves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCurves:
    """Two curves over the numbers of changes: the share that is left, and the epsilon so far."""

    used: Sequence[float]
    """The share of the budget that is gone after each change."""
    lost: Sequence[float]
    """The epsilon after each change; infinite ones are not drawn."""
    numbers: Sequence[int]
    """How many changes there were up to each of them."""
    title: str
    """What it is about."""
    delta: float
    """The probability with which the epsilons may be too small."""

    def plot_left(self, axes: Axes) -> None:
        """The share that is left."""
        from matplotlib.ticker import PercentFormatter

        self._plot(axes, [1.0, *(1 - gone for gone in self.used)], COLOURS[0])
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        axes.set_title(plain(f"{self.title}: budget left"))

    def plot_lost(self, axes: Axes) -> None:
        """The epsilon so far."""
        shown = [0.0, *(math.nan if math.isinf(value) else value for value in self.lost)]
        self._plot(axes, shown, COLOURS[1])
        axes.set_ylim(bottom=0)
        axes.set_title(f"epsilon lost so far, at delta {self.delta:g}")

    def _plot(self, axes: Axes, values: list[float], colour: str) -> None:
        from matplotlib.ticker import MaxNLocator

        end = max(self.numbers[-1] if self.numbers else 1, 1)
        places = [0, *self.numbers, end * 1.03]  # the last step is seen, too
        axes.step(places, [*values, values[-1]], where="post", color=colour)
        axes.set_xlim(0, end * 1.03)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.set_xlabel("changes: charges, and what was given back")
