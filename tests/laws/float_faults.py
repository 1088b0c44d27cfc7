"""What is wrong with an answer, in words; nothing, if nothing is.

Each function asks the package one question about releases that an oracle knows, and holds the
answer against the oracle. Errors of our own are answers (a refusal promises nothing); any other
exception passes through and fails the test.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from quaestor import (
    Bounds,
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    QuaestorError,
    compose,
)
from tests.laws.float_ends import ratio_of, true_delta
from tests.oracles import outcomes as few
from tests.oracles import shifts
from tests.oracles.balls import ball, contradicted, precisely

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from tests.laws.float_ends import Known

__all__ = ["delta_fault", "epsilon_fault", "moment_fault", "tradeoff_fault"]


def said(known: Sequence[Known]) -> str:
    """The releases as one would write them."""
    return f"compose({', '.join(str(one.release) for one in known)})"


def delta_fault(known: Sequence[Known], at: float) -> str:
    """Delta at an epsilon: the truth lies inside; and no delta is left above the largest loss."""
    try:
        bounds = compose(*(one.release for one in known)).delta_bounds(epsilon=at)
    except QuaestorError as error:
        return f"{said(known)} at epsilon {at!r}: refused, {error!r}"
    fault = contradicted(bounds, true_delta(known, at))
    return f"{said(known)} at epsilon {at!r}: {fault}" if fault else ""


def epsilon_fault(known: Sequence[Known], delta: float) -> str:
    """Epsilon at a delta: delta is kept at the upper end, and not before the lower end.

    An infinite upper end is wrong where an epsilon of up to a million would do, the largest that is
    documented, for a delta of at least 1e-290, below which floats lose their accuracy.
    """
    try:
        bounds = compose(*(one.release for one in known)).epsilon_bounds(delta=delta)
    except QuaestorError as error:
        return f"{said(known)} at delta {delta!r}: refused, {error!r}"
    allowed, faults = ball(delta), []
    if not 0 <= bounds.lower <= bounds.upper:
        faults.append(f"the ends {bounds.lower} and {bounds.upper} are not in order")
    elif bounds.upper < math.inf:
        if (reached := true_delta(known, bounds.upper)) > allowed:
            faults.append(f"upper end {bounds.upper!r} has delta {reached.str(20)}")
    elif delta >= 1e-290 and (reached := true_delta(known, 1e6)) < allowed:
        faults.append(f"the upper end is infinite, and delta at 1e6 is {reached.str(20)}")
    if bounds.lower > 0 and (delta > 0 or None not in {one.largest for one in known}):
        before = min(math.nextafter(bounds.lower, 0.0), 1e300)
        if (reached := true_delta(known, before)) <= allowed:
            faults.append(f"lower end {bounds.lower!r} has delta {reached.str(20)} before it")
    return f"{said(known)} at delta {delta!r}: {'; '.join(faults)}" if faults else ""


def moment_fault(known: Known, order: float) -> str:
    """A log-moment is never below the truth in either direction."""
    truth = true_log_moment(known, order)
    try:
        cost = known.release.log_moment(order)
    except QuaestorError as error:
        return f"log-moment of {known.release} of order {order!r}: refused, {error!r}"
    if not truth.is_finite():
        return f"log-moment of {known.release} of order {order!r}: the oracle does not know"
    if cost is None or ball(Fraction(cost)) >= truth or truth.overlaps(ball(Fraction(cost))):
        return ""
    short = truth - ball(Fraction(cost))
    return (
        f"log-moment of {known.release} of order {order!r}: {float(cost)!r} is below "
        f"{truth.str(20)} by {short.str(5)}"
    )


def true_log_moment(known: Known, order: float) -> arb:
    """The larger of both directions; for sampled Gaussians, a whole order and removing only."""
    release = known.release
    if isinstance(release, DiscreteGaussian):
        sigma, sensitivity = release.sigma, release.sensitivity
        return precisely(lambda: few.discrete_gaussian_log_moment(sigma, sensitivity, order))
    if known.outcomes is not None:
        outcomes = known.outcomes
        both = [
            precisely(lambda: few.log_moment(outcomes(), order)),
            precisely(lambda: few.log_moment(few.turned(outcomes()), order)),
        ]
    elif isinstance(release, Gaussian | GaussianDP):
        mu = (
            ratio_of(release.sensitivity, release.sigma)
            if isinstance(release, Gaussian)
            else ratio_of(release.mu, 1.0)
        )
        both = [precisely(lambda: ball(order) * (ball(order) + 1) * mu() ** 2 / 2)]
    elif isinstance(release, Laplace):
        shift = ratio_of(release.sensitivity, release.scale)
        both = [precisely(lambda: shifts.laplace_log_moment(shift(), order))]
    else:
        both = _sampled_log_moments(release, order)
    first, *others = both
    return first.max(others[0]) if others else first


def _sampled_log_moments(release: object, order: float) -> list[arb]:
    assert isinstance(release, PoissonSampled)
    inner, rate = release.release, release.rate
    if isinstance(inner, Laplace):
        shift = ratio_of(inner.sensitivity, inner.scale)

        def moment(removing: bool) -> arb:  # noqa: FBT001 - given by position below
            return shifts.sampled_laplace_log_moment(shift(), rate, order, removing=removing)

        return [precisely(partial(moment, removing)) for removing in (True, False)]
    mu = ratio_of(inner.mu, 1.0) if isinstance(inner, GaussianDP) else None
    if isinstance(inner, Gaussian):
        mu = ratio_of(inner.sensitivity, inner.sigma)
    assert mu is not None
    return [precisely(lambda: shifts.sampled_gaussian_log_moment(mu(), rate, round(order)))]


def tradeoff_fault(known: Sequence[Known], false_positive: float) -> str:
    """The best test of either direction misses what the bounds say."""

    def missed(*, removing: bool) -> arb:
        def compute() -> arb:
            parts = [one.outcomes() for one in known if one.outcomes is not None]
            listed = few.product(parts)
            return few.false_negatives(listed if removing else few.turned(listed), false_positive)

        return precisely(compute)

    first, second = missed(removing=True), missed(removing=False)
    try:
        region = compose(*(one.release for one in known)).tradeoff()
        bounds: Bounds = region.false_negative_bounds(false_positive=false_positive)
    except QuaestorError as error:
        return f"{said(known)} at false positives {false_positive!r}: refused, {error!r}"
    fault = contradicted(bounds, first.min(second))
    return f"{said(known)} at false positives {false_positive!r}: {fault}" if fault else ""
