"""What an audit measured, drawn over the region that the claim allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.figures.region import plot_region, prepare
from quaestor.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    Points = Sequence[tuple[float, float]]

__all__ = ["plot_audit"]


def plot_audit(  # noqa: PLR0913  # what is claimed, what was measured, and what proves
    axes: Axes,
    claimed: Points,
    measured: Points,
    certain: Points,
    *,
    label: str,
    proof: tuple[float, float],
    proof_label: str,
) -> None:
    """The claimed region, the tests as measured, where they are with confidence, and the best test.

    ``claimed`` are corners (false positive, false negative); all others are pairs of missed
    detections and false alarms. ``certain`` are upper bounds of ``measured``, one by one; where
    they come below the claimed region, the claim is false. ``proof`` is the test whose counts
    give the lower bound on epsilon.
    """
    prepare(axes)
    plot_region(axes, claimed, label="claimed: no test below this line", colour=COLOURS[0])
    if measured:
        axes.fill(
            [x for x, _ in [*measured, *reversed(certain)]],
            [y for _, y in [*measured, *reversed(certain)]],
            color=COLOURS[1],
            alpha=0.25,
            lw=0,
            label="confidence band",
        )
        axes.plot(*zip(*measured, strict=True), color=COLOURS[1], lw=1.0, label=label)
    axes.plot(
        *proof,
        marker="*",
        markersize=11,
        color="black",
        linestyle="none",
        label=proof_label,
        clip_on=False,
        zorder=5,
    )
    axes.legend(loc="upper right", fontsize=8)
