"""What an audit measured, drawn over the region that the claim allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.figures.region import plot_region, prepare
from quaestor.figures.style import COLOURS, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quaestor.accounting.tradeoff import Tradeoff

    Points = Sequence[tuple[float, float]]

__all__ = ["draw_audit"]


def draw_audit(
    claimed: Tradeoff, measured: Points, certain: Points, *, label: str, out: Path
) -> None:
    """The claimed region, the tests as measured, and where they are with confidence.

    Points are pairs of missed detections and false alarms. ``certain`` are upper bounds of
    ``measured``, one by one; where they come below the claimed region, the claim is false.
    """
    with drawing(out, height=4.5) as (axes,):
        prepare(axes)
        plot_region(axes, claimed, label="claimed: no test below this line", colour=COLOURS[0])
        axes.fill(
            [x for x, _ in [*measured, *reversed(certain)]],
            [y for _, y in [*measured, *reversed(certain)]],
            color=COLOURS[1],
            alpha=0.25,
            lw=0,
            label="confidence band",
        )
        axes.plot(*zip(*measured, strict=True), color=COLOURS[1], lw=1.0, label=label)
        axes.get_figure(root=True).legend(loc="outside lower left")  # type: ignore[union-attr]
