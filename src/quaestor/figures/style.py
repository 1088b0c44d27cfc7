"""One look for every figure: quiet axes, direct labels, colours that survive grey print."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["COLOURS", "drawing", "given_or_new", "styled"]

# Okabe and Ito's palette, which colour-blind readers can tell apart, darkest first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "quaestor",
    "mathtext.fontset": "cm",
}


@contextmanager
def styled() -> Iterator[None]:
    """While it lasts, what is drawn has our look."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtra("matplotlib", extra="plot", purpose="drawing") from None
    with rc_context(_STYLE):  # type: ignore[arg-type]  # its keys are a long literal type
        yield


@contextmanager
def given_or_new(axes: Any) -> Iterator[Axes]:
    """Axes to draw on, in our look: those that are given, or of a new figure for notebooks."""
    with styled():
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(layout="constrained")[1]
        yield axes


@contextmanager
def drawing(out: Path, *, panels: int = 1, height: float = 3.6) -> Iterator[Sequence[Axes]]:
    """Panels side by side to draw on; at the end they are written to ``out``.

    The file's ending decides the format, and no date goes into it.
    """
    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.0 * panels + 0.2, height), layout="constrained")
        yield [figure.add_subplot(1, panels, i + 1) for i in range(panels)]
        metadata = {"Date": None} if out.suffix.lower() == ".svg" else None
        try:
            figure.savefig(out, dpi=200, metadata=metadata)
        except OSError as problem:
            valid = f"a file that can be written ({problem.strerror})"
            raise InvalidParameter("out", str(out), valid) from None
