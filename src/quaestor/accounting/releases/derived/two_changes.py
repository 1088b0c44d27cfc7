r"""A record that changes inside one database: two unit changes of the same release.

Group privacy, not composition: the two changes meet in *one* answer. If one change is no easier
to see than the trade-off f, two are no easier than :math:`1-(1-f)\circ(1-f)` [Dong, Roth, Su 2022,
Theorem 2.14]. That is worse than two answers with one change each; two answers are a special case,
since they change one after the other.

It is attained: let the outcome in the middle world be uniform on [0, 1], and give the outcomes up
to a the probability :math:`1-f(a)` in the first world and :math:`(1-f)^{-1}(a)` in the last. Then
each step has exactly the trade-off f, and the two of them exactly the one above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["TwoChanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoChanges(Release):
    r"""An (epsilon, delta)-DP release whose input changes twice; computed, and never described.

    Guarantee:
        With :math:`g(a) = \min(1, \delta + e^\varepsilon a, 1 - e^{-\varepsilon}(1 - \delta - a))`,
        the most detections at a share a of false alarms, that of :math:`g \circ g`. For a delta of
        0 it is the geometric mechanism at distance two: losses of 2 epsilon, 0 and -2 epsilon.
    """

    epsilon: float
    delta: float

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions: an atom for every slope of the curve."""
        from quaestor.accounting.loss.laws.two_changes import two_changes

        return (two_changes(epsilon=self.epsilon, delta=self.delta),)
