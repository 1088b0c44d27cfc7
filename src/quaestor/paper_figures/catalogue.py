"""Every figure by the name that the command line knows it by, and the numbers that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.paper_figures.memberships import draw_beliefs, draw_databases
from quaestor.paper_figures.regions import draw_growth, draw_one_region, draw_theorems
from quaestor.paper_figures.selections import draw_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOT_COUNTED", "PAPER_FIGURES"]

PAPER_FIGURES: dict[str, Callable[..., None]] = {
    "1": draw_one_region,
    "2": draw_growth,
    "3": draw_theorems,
    "range": draw_ranges,
    "databases": draw_databases,
    "beliefs": draw_beliefs,
}
NOT_COUNTED = frozenset({"1"})  # a figure of one release
