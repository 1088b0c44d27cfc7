r"""A record that changes inside one database: two unit changes of the same release.

Group privacy, not composition: the two changes meet in *one* answer. If one change is no easier
to see than the trade-off f, two are no easier than :math:`1-(1-f)\circ(1-f)` [Dong, Roth, Su 2022,
Theorem 2.14]. That is worse than two answers with one change each; two answers are a special case,
since they change one after the other.

It is attained: let the outcome in the middle world be uniform on [0, 1], and give the outcomes up
to a the probability :math:`1-f(a)` in the first world and :math:`(1-f)^{-1}(a)` in the last. Then
each step has exactly the trade-off f, and the two of them exactly the one above.

Where the two directions differ, the person goes and the other one comes; the world between has
neither. Let
:math:`r(a)` and :math:`c(a)` be the most that a test with a share a of false alarms detects of a
person who goes, and of one who comes. If it speaks with probability a where the other one is, it
does with at most :math:`c(a)` where nobody is, and with at most :math:`r(c(a))` where the person
is. Seen from the other world that is the same curve, for r and c are mirror images of each other:
with :math:`\bar g(a) = 1 - g^{-1}(1-a)` it is :math:`\bar r = c` and
:math:`\overline{r \circ c} = \bar c \circ \bar r = r \circ c`.

No less can be said of all releases with these two curves: let the outcome where nobody is be
uniform on [0, 1], and give the outcomes up to a the probabilities :math:`r(a)` and
:math:`c^{-1}(a)` in the other two worlds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import LARGEST_EPSILON, Release, remembered
from quaestor.accounting.releases.opinion import Opinion, without_ceiling

if TYPE_CHECKING:
    from fractions import Fraction

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["ReplacedRecord", "TwoChanges"]

_FEW = 128  # losses of which each is one piece of the curve
_DELTAS = tuple(10.0 ** (-tenth / 3) for tenth in range(46))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedRecord(Release):
    r"""A release whose input loses one record and gains another; computed, and never described.

    Guarantee:
        That of the curve :math:`r \circ c` above [Dong, Roth, Su 2022, Theorem 2.14, for two
        different curves]. Of a loss with few values it is known exactly; of others from points of
        both profiles, as the largest curve through these. From below: one of the two changes.
    """

    release: Release

    bracketed: ClassVar[bool] = True
    neighbours: ClassVar[str | None] = "replace_record"

    @property
    def counts_people(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """The release's."""
        return self.release.counts_people

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        return (_law(self.release),)

    def least_losses(self) -> tuple[Law, ...]:
        """One change alone: the other record may be one that tells nothing."""
        return self.release.least_losses()

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """Four times that of one change, if nothing is told outright [Bun, Steinke 2016, 27]."""
        return self._least(Release.concentrated_rho(self), self.release.concentrated_rho())

    @remembered
    def squared_mu(self) -> Fraction | None:
        """Four times that of one change, if nothing is told outright."""
        return self._least(Release.squared_mu(self), self.release.squared_mu())

    def _least(self, own: Fraction | None, once: Fraction | None) -> Fraction | None:
        tells = self.release.pure_loss().delta > 0
        known = [own, None if tells or once is None else 4 * once]
        return min((cost for cost in known if cost is not None), default=None)

    def outdoes(self, other: Release) -> bool:
        """Only itself, and what tells nothing."""
        return self == other or other.known_epsilon() == 0

    def with_record_replaced(self) -> Release:
        """It is about that already."""
        return self

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion | None:
        """That of one change, from below."""
        known = self.release.opinion()
        if known is None:
            return None
        return Opinion(without_ceiling(known.curve), None, math.inf, tells=known.tells)


@remembered
def _law(release: Release) -> Law:
    from quaestor.accounting.loss.laws.detection_curve import replaced_loss

    laws = release.losses()
    points = [_points(law) for law in laws]
    return replaced_loss(points[0], points[-1])


def _points(law: Law) -> tuple[list[float], list[float]]:
    """Epsilons, and deltas that are true at them, of one direction."""
    from quaestor.accounting.loss.engine.loss_profile import LossProfile

    profile = LossProfile([(law, 1)])
    atoms = law.listed()
    if atoms is not None and atoms.losses.size <= _FEW:
        epsilons = sorted({0.0, *(loss for loss in atoms.losses.tolist() if loss > 0.0)})
    else:
        wanted = {profile.epsilon_bounds(delta=delta).upper for delta in _DELTAS} | {0.0}
        ends = sorted({each for each in (*wanted, law.largest) if each <= LARGEST_EPSILON})
        epsilons = sorted({*ends, *((a + b) / 2 for a, b in pairwise(ends))})
    return epsilons, [profile.delta_bounds(epsilon=epsilon).upper for epsilon in epsilons]
