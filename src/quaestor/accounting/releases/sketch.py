"""Johnson-Lindenstrauss sketches: of a graph, for its cuts, and of a matrix, for its variances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, check_count, check_real, remembered
from quaestor.accounting.releases.loss_ends import NO_BOUND, LossEnd, logarithm

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["MOST_ROWS", "GraphSketch", "MatrixSketch"]

_SMALLEST, _LARGEST = 1e-6, 1e12  # weight and sensitivity
MOST_ROWS = 10**7


def _check(release: GraphSketch | MatrixSketch) -> None:
    object.__setattr__(release, "rows", check_count("rows", release.rows, largest=MOST_ROWS))
    for name in ("weight", "sensitivity"):
        value = check_real(name, getattr(release, name), low=_SMALLEST, high=_LARGEST)
        object.__setattr__(release, name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSketch(Release):
    r"""A sketch of a graph on known nodes, in ``rows`` rows, for cut queries.

    Each row is Gaussian with the graph's Laplacian as covariance, after ``weight``/n was added to
    the weight of every pair of the n nodes. Neighbours differ in the weight of one edge, by at most
    ``sensitivity``.

    Guarantee:
        That of r copies of N(0, 1) against N(0, 1 + b), :math:`b = 2\Delta/w`, in both directions.
        Proof: the Laplacians of neighbours are :math:`\Lambda` and :math:`\Lambda + cuu^T` with
        :math:`u = e_i - e_j` and :math:`0 \le c \le \Delta`. On the vectors that sum to 0,
        :math:`\Lambda \succeq wI`; whitening with it leaves one direction, of variance
        :math:`1 + cu^T\Lambda^{-1}u \le 1 + 2\Delta/w`. A smaller excess a b is a post-processing
        of the larger one b (shrink by the root of a, add noise of variance 1 - a). The empty graph
        attains it. The heavier world first is the direction of removing an edge; where several
        sketches compose, the same world must be the heavier one in all of them.

        The mechanism of Blocki, Blum, Datta and Sheffet (2012), as in Kairouz, Oh and Viswanath,
        also multiplies the graph by 1 - w'/n; that is this one with
        :math:`w = w'/(1-w'/n)`, divided by a constant.

    >>> from quaestor import compose
    >>> sketches = [GraphSketch(rows=100, weight=weight) for weight in (200.0, 100.0)]
    >>> hidden, less_hidden = (compose(sketch).delta(epsilon=1.0) for sketch in sketches)
    >>> hidden < less_hidden
    True
    """

    rows: int
    weight: float
    sensitivity: float = 1.0

    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        _check(self)

    def losses(self) -> tuple[Law, ...]:
        """The heavier graph against the lighter, and turned round."""
        from quaestor.accounting.loss.laws.sketch import GraphSketchLoss

        return tuple(
            GraphSketchLoss(
                rows=self.rows, sensitivity=self.sensitivity, weight=self.weight, wider=wider
            )
            for wider in (True, False)
        )

    # From the parameters alone.

    @remembered
    def loss_ends(self) -> tuple[LossEnd, ...]:
        """The narrower Gaussian tells most where both are densest."""
        excess = 2 * Fraction(self.sensitivity) / Fraction(self.weight)
        return NO_BOUND, LossEnd(logarithm(1 + excess, times=Fraction(self.rows, 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSketch(Release):
    r"""A sketch of a matrix A in ``rows`` rows, for variance queries :math:`x^TA^TAx`.

    Each row is Gaussian with covariance :math:`A^TA + w^2I`, w being ``weight``. Neighbours differ
    in one row of A, by at most ``sensitivity`` in Euclidean length.

    Guarantee:
        That of r copies of N(0, I) against N(0, diag(e^g, e^-g)), :math:`g =
        2\operatorname{asinh}(\Delta/2w)`, the same in both directions. Proof: for a unit vector x
        with :math:`s = a^Tx`, a the row and v its change, the ratio of the variances is at most
        :math:`(w^2+(s+\Delta)^2)/(w^2+s^2)`, which is largest where :math:`s(s+\Delta) = w^2`, and
        then e^g; turned round, at least e^-g. The change has rank two and at most one eigenvalue of
        each sign, so that after whitening at most one variance is above 1 and one below, and each
        is a post-processing of the extreme one. A single row that is long and orthogonal to v comes
        as close as one likes.

    >>> from quaestor import compose
    >>> sketches = [MatrixSketch(rows=100, weight=weight) for weight in (200.0, 100.0)]
    >>> hidden, less_hidden = (compose(sketch).delta(epsilon=1.0) for sketch in sketches)
    >>> hidden < less_hidden
    True
    """

    rows: int
    weight: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        _check(self)

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.sketch import MatrixSketchLoss

        return (MatrixSketchLoss(rows=self.rows, spread=(self.sensitivity / self.weight) ** 2),)

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none."""
        return (NO_BOUND,)
