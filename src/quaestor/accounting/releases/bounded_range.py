"""Bounded range: what the exponential mechanism promises, and the mechanism itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_real,
    positive,
    remembered,
    times,
)
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from quaestor.accounting.releases.opinion import MARGIN, Opinion, response_opinion, truth
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.numerics.complexes import Floats
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["BoundedRange", "ExponentialMechanism"]

_LARGEST_RANGE = 700.0


class _OfRange(Release):
    r"""What is known of every release by its range r alone.

    It is r-DP, with a rho of :math:`r^2/8` (proved in :mod:`.range_moments`). Whatever has the
    shorter range has the longer one too.
    """

    __slots__ = ()

    bracketed: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("epsilon", more_tells_more=True)

    @property
    def range_epsilon(self) -> float:
        """The length of the interval that has all losses."""
        raise NotImplementedError

    def losses(self) -> tuple[Law, ...]:
        """One loss, the worst of its class at every epsilon and the same in both directions."""
        from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss

        return (BoundedRangeLoss(self.range_epsilon),)

    def least_losses(self) -> tuple[Law, ...]:
        """Randomized response of half the range, which is one of its class."""
        from quaestor.accounting.loss.laws.responses import Response

        return (Response(self.range_epsilon / 2),)

    def known_epsilon(self) -> Fraction:
        """As zero is in the interval of losses."""
        return Fraction(self.range_epsilon)

    def spread(self) -> Fraction:
        """The range itself."""
        return Fraction(self.range_epsilon)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """An eighth of the square."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(Fraction(self.range_epsilon) ** 2 / 8)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """The largest in the class."""
        from quaestor.accounting.releases.range_moments import log_moment

        cost = log_moment(order=order, epsilon=self.range_epsilon)
        return Fraction(cost) if math.isfinite(cost) else None

    def rough_log_moments(self, orders: Floats) -> Floats:
        """The same, one by one."""
        import numpy as np

        from quaestor.accounting.releases.range_moments import log_moment

        spread = self.range_epsilon
        return np.array([log_moment(order=float(order), epsilon=spread) for order in orders])

    def outdoes(self, other: Release) -> bool:
        """The longer range has the shorter one."""
        if other.range_epsilon is not None:
            return self.range_epsilon >= other.range_epsilon
        return other.known_epsilon() == 0

    def with_group(self, size: int) -> Release | None:
        """The ranges of so many changes add up; None beyond the largest that is described."""
        spread = times(size, self.range_epsilon)
        return BoundedRange(epsilon=spread) if spread <= _LARGEST_RANGE else None

    def with_record_replaced(self) -> Release:
        """Twice the range, or two changes of a pure release."""
        twice = self.with_group(2)
        return TwoChanges(epsilon=self.range_epsilon, delta=0.0) if twice is None else twice

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """Above, the worst of its class at every epsilon; below, a response of half the range."""
        spread = self.range_epsilon
        half = response_opinion(spread / 2, top=truth(spread / 2))

        def curve(at: float) -> Curve:
            if at >= spread:
                return 0.0, 0.0
            below = -math.expm1((at - spread) / 2)
            high = below * (below / -math.expm1(-spread)) * (1 + MARGIN) + 5e-324
            return half.curve(at)[0], min(high, 1.0)

        rho = spread * spread / 8 * (1 + MARGIN) + 5e-324
        return Opinion(curve, half.test, rho, log_overlap=half.log_overlap)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(_OfRange):
    r"""An :math:`\varepsilon`-bounded-range release [Durfee, Rogers 2019].

    Guarantee:
        For every two neighbouring databases the log-likelihood ratio of all outcomes lies in one
        interval of length ``epsilon``. As zero is in that interval, the release is
        :math:`\varepsilon`-DP; but it composes almost like an :math:`\varepsilon/2`-DP one.

    >>> from quaestor import compose
    >>> compose(BoundedRange(epsilon=0.5)).epsilon(delta=0.0)
    0.5
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=1e-150, high=_LARGEST_RANGE)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def range_epsilon(self) -> float:
        """The length of the interval."""
        return self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(_OfRange):
    r"""The exponential mechanism [McSherry, Talwar 2007].

    An outcome y is drawn with probability proportional to :math:`e^{\varepsilon u(x,y)/(2\Delta
    u)}`, where :math:`\Delta u` is the ``sensitivity`` of the score u. (Dong, Durfee and Rogers
    write :math:`e^{\varepsilon' u}`: their parameter is :math:`\varepsilon' =
    \varepsilon/(2\Delta u)`.)

    Guarantee:
        Bounded range :math:`\varepsilon\tilde\Delta u/(2\Delta u)`, where the ``range``
        :math:`\tilde\Delta u` is how far apart a person may move the scores of two outcomes. It is
        at most :math:`2\Delta u`, which makes the mechanism :math:`\varepsilon`-DP. It is
        :math:`\Delta u` for ``monotonic`` scores, which a person who comes can only raise (counts,
        for example), where neighbours differ by adding or removing a person: then the mechanism is
        :math:`\varepsilon/2`-DP. A ``range`` may also be given as a number.

    >>> from quaestor import compose
    >>> compose(ExponentialMechanism(epsilon=0.5)).epsilon(delta=0.0)
    0.5
    """

    epsilon: float
    sensitivity: float = 1.0
    monotonic: bool = False
    range: float | None = None

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=1e-140, high=_LARGEST_RANGE)
        object.__setattr__(self, "epsilon", epsilon)
        positive(self, "sensitivity")
        if not isinstance(self.monotonic, bool):
            raise InvalidParameter("monotonic", self.monotonic, "True or False")
        if self.range is not None:
            if self.monotonic:
                raise InvalidParameter("range", self.range, "left out for monotonic scores")
            largest = 2 * self.sensitivity
            smallest = max(1e-10 * self.sensitivity, 1e-160)
            spread = check_real("range", self.range, low=smallest, high=largest)
            object.__setattr__(self, "range", spread)

    @property
    def range_epsilon(self) -> float:
        """The bounded range that the mechanism has, rounded up."""
        if self.range is None:
            return self.epsilon / 2 if self.monotonic else self.epsilon
        exact = Fraction(self.epsilon) * Fraction(self.range) / (2 * Fraction(self.sensitivity))
        nearest = float(exact)
        return nearest if nearest >= exact else Bounds.exactly(nearest).widened(ulps=1).upper
