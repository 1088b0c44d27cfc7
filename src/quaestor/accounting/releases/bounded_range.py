"""Bounded range: what the exponential mechanism promises, and the mechanism itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import Release, check_real, positive
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["BoundedRange", "ExponentialMechanism"]

_LARGEST_RANGE = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(Release):
    r"""An :math:`\varepsilon`-bounded-range release [Durfee, Rogers 2019].

    Guarantee:
        For every two neighbouring databases the log-likelihood ratio of all outcomes lies in one
        interval of length ``epsilon``. As zero is in that interval, the release is
        :math:`\varepsilon`-DP; but it composes almost like an :math:`\varepsilon/2`-DP one.
    """

    epsilon: float

    bracketed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=1e-150, high=_LARGEST_RANGE)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def range_epsilon(self) -> float:
        """The length of the interval."""
        return self.epsilon

    def losses(self) -> tuple[Law, ...]:
        """One loss, the worst of its class at every epsilon and the same in both directions."""
        from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss

        return (BoundedRangeLoss(self.range_epsilon),)

    def least_losses(self) -> tuple[Law, ...]:
        """Randomized response of half the range, which is one of its class."""
        from quaestor.accounting.loss.laws.responses import Response

        return (Response(self.range_epsilon / 2),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(Release):
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
    """

    epsilon: float
    sensitivity: float = 1.0
    monotonic: bool = False
    range: float | None = None

    bracketed: ClassVar[bool] = True

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

    def losses(self) -> tuple[Law, ...]:
        """Those of a release that has this range."""
        return BoundedRange(epsilon=self.range_epsilon).losses()

    def least_losses(self) -> tuple[Law, ...]:
        """Those of a release that has this range."""
        return BoundedRange(epsilon=self.range_epsilon).least_losses()
