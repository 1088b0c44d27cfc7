r"""What Johnson-Lindenstrauss sketches share: their rows, their grid, and their answers.

A sketch is r independent Gaussian rows :math:`y \sim N(0, \Lambda)`. A question is a vector x, and
:math:`\tfrac1r\sum(y^Tx)^2` is :math:`x^T\Lambda x` times :math:`\chi^2_r/r`, exactly. Lambda is
what is asked about, plus something known that hides it; taking off the known part gives the answer.

Floats: the rows are computed in floats from floats that are nearly normal
(:mod:`quaestor.mechanisms.samplers.normals`), so that the stated loss is that of the mechanism in
real numbers, up to what rounding at 2^-53 can tell. The rows are then rounded to a grid that
depends on the parameters alone, 2^-30 of the noise or finer, which hides the lowest bits; that the
rest tells nothing is believed and not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.papers.sketch_sizes import least_rows, least_weight, relative_error
from quaestor.mechanisms.base import Mechanism, check_confidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Sketch", "SketchAnswer", "answered", "grid_of", "sketch_interval"]

_FINENESS = 30  # bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch(Mechanism):
    """A sketch of ``rows`` rows, hidden by ``weight``; it is drawn once and asked often."""

    kind: ClassVar[str]  # as accounting.sketching calls it

    rows: int
    weight: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        checked = self.loss
        for name in ("rows", "weight", "sensitivity"):
            object.__setattr__(self, name, getattr(checked, name))

    @classmethod
    def for_target(
        cls, *, epsilon: float, delta: float, eta: float, nu: float, sensitivity: float = 1.0
    ) -> Self:
        """The fewest rows for a relative error eta, but with probability nu, and the least weight.

        The sketch is (epsilon, delta)-DP by a certified bound, whatever it is asked afterwards.
        """
        rows = least_rows(eta=eta, nu=nu)
        weight = least_weight(
            cls.kind, rows=rows, epsilon=epsilon, delta=delta, sensitivity=sensitivity
        )
        return cls(rows=rows, weight=weight, sensitivity=sensitivity)

    def interval(self, *, confidence: float) -> Bounds:
        """Where the factor lies by which the sketch multiplies, what was added included."""
        return sketch_interval(rows=self.rows, confidence=confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchAnswer:
    r"""An answer from a sketch, with how far off it may be.

    With probability at least :math:`1-\nu`, the truth q satisfies :math:`(1-\eta)q - \tau \le
    \mathtt{value} \le (1+\eta)q + \tau`, and lies in ``bounds``. That is for one question; for k at
    once, ask each with nu/k.

    >>> from quaestor.mechanisms import GraphSketch
    >>> sketch = GraphSketch.for_target(epsilon=1.0, delta=1e-6, eta=0.5, nu=0.05)
    >>> answer = sketch.release([(0, 1), (1, 2)], nodes=3).cut([0])
    >>> answer.eta <= 0.5, answer.bounds.lower <= answer.bounds.upper
    (True, True)
    """

    value: float
    eta: float
    tau: float
    nu: float
    bounds: Bounds


def grid_of(scale: float) -> float:
    """The power of two that is 2^-30 of the noise's scale, or down to half of that."""
    return 2.0 ** (math.frexp(scale)[1] - 1 - _FINENESS)


def sketch_interval(*, rows: int, confidence: float) -> Bounds:
    """Where the sketch's factor lies with this probability."""
    eta = relative_error(rows=rows, nu=float(check_confidence(confidence)))
    return Bounds(lower=max(1.0 - eta, 0.0), upper=math.nextafter(1.0 + eta, math.inf))


def answered(
    projected: NDArray[np.float64], *, added: float, blur: float, nu: float
) -> SketchAnswer:
    r"""The answer from the numbers :math:`y^Tx`, less what was ``added``.

    Each number is off by at most ``blur`` through rounding, so that their length is off by at most
    :math:`\sqrt r` times that, which is :math:`\rho = \mathtt{blur}/\sqrt{\mathtt{added}}` relative
    to the least that it is made of. Hence the factor is within
    :math:`\eta + 2\rho(1+\eta) + \rho^2` of 1.
    """
    if added == 0.0:
        return SketchAnswer(value=0.0, eta=0.0, tau=0.0, nu=nu, bounds=Bounds.exactly(0.0))
    plain = relative_error(rows=projected.size, nu=nu)
    rho = blur / math.sqrt(added)
    eta = (plain + 2 * rho * (1 + plain) + rho * rho) * (1 + 1e-12)
    raw = float(projected @ projected) / projected.size
    low = max(raw / (1 + eta) * (1 - 1e-12) - added * (1 + 1e-12), 0.0)
    high = max(raw / (1 - eta) * (1 + 1e-12) - added * (1 - 1e-12), 0.0) if eta < 1 else math.inf
    return SketchAnswer(
        value=raw - added,
        eta=eta,
        tau=eta * added * (1 + 1e-12),
        nu=nu,
        bounds=Bounds(lower=low, upper=max(low, high)),
    )
