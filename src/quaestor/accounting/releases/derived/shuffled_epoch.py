"""An epoch over a shuffled order, cut into batches of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.derived.largest_step import LargestStep
from quaestor.accounting.releases.derived.random_allocation import InOneStep

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["ShuffledEpoch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledEpoch(InOneStep):
    r"""Gaussian noise on each of ``steps`` batches of a shuffled order: what most loaders do.

    Guarantee:
        From above one Gaussian of :math:`\mu = \Delta/\sigma`, without amplification. Proof: tell
        the order, which does not depend on the data; then one batch changes. From below the pair
        :math:`\frac1t\sum_iN(2\mu e_i, I)` against :math:`\frac1t\sum_iN(\mu e_i, I)`, which a
        person among others who all pull the other way makes true [Chua et al. 2024, arXiv
        2403.17673; 2411.04205 for several epochs], seen through the largest step. Proof: of a batch
        of B others with the value -1, one gives place to the person, who has 1 or adds nothing. The
        truth lies between. (For very many steps and enough noise there are better upper bounds
        [arXiv 2605.06259], which are not used.)

    Assumes:
        Neighbours in which the person's record is replaced by one that adds nothing, and keeps its
        place in the order. (Where a record is left out, all later batches change.) The sizes of
        the batches are public. Each epoch is shuffled anew, or not: the upper end holds for both,
        and for an order that is never shuffled. So a Poisson sample of it is refused: who is not in
        the sample has no place, and all later batches change.

    >>> from quaestor import compose
    >>> bounds = compose(ShuffledEpoch(sigma=1.0, steps=100)).epsilon_bounds(delta=1e-6)
    >>> 3.5 < bounds.lower < 4.8 < bounds.upper < 4.9
    True
    """

    sigma: float
    steps: int
    sensitivity: float = 1.0

    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        self._check()

    def losses(self) -> tuple[Law, ...]:
        """More than is lost: the step is told."""
        from quaestor.accounting.loss.laws.gaussian import GaussianLoss

        return (GaussianLoss(self._mu()),) * 2

    def least_losses(self) -> tuple[Law, ...]:
        """Less than is lost: removing, and adding."""
        from quaestor.accounting.loss.laws.batches.largest_step import largest_step_losses

        return largest_step_losses(*self._largest_step())

    def _largest_step(self) -> LargestStep:
        mu = self.sensitivity / self.sigma
        return LargestStep(self.steps, 2 * mu, mu)
