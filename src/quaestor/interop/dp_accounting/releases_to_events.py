"""From releases to events."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.releases import (
    ApproxDP,
    Gaussian,
    Geometric,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Release,
    Repeated,
    SampledWithoutReplacement,
    ZeroConcentratedDP,
)
from quaestor.errors import InvalidParameter
from quaestor.interop.dp_accounting.events_to_releases import (
    BITS,
    NO_PROMISE,
    RefusedEventError,
    at_most,
    epsilon_of_response,
    from_dp_event,
    norms_apart,
)
from quaestor.interop.dp_accounting.needed import Relation, dp_event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["to_dp_event"]

_CLOSE = Fraction(1, 10**9)


def to_dp_event(release: Release, *, neighboring_relation: Any = Relation.ADD_OR_REMOVE_ONE) -> Any:
    """The event that says of a release what we know of it, or :class:`InvalidParameter`.

    >>> to_dp_event(Gaussian(sigma=3.0, sensitivity=2.0) * 5)
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=1.5), count=5)
    """
    writer = _WRITERS.get(type(release))
    if writer is None:
        raise InvalidParameter("release", release, "one that dp-accounting has an event for")
    event = writer(release, neighboring_relation)
    from_dp_event(event, neighboring_relation=neighboring_relation)  # refuses what it cannot read
    return event


def _at_least(exact: Fraction) -> float:
    with working_precision(BITS):
        return outward(rational(exact)).upper


def _multiplier(release: Any, noise: float, relation: Any) -> float:
    """How much noise there is for each unit of the norm that an event's values are bounded by."""
    norms = _known_norms(release, relation)
    return at_most(norms * Fraction(noise) / Fraction(release.sensitivity))


def _known_norms(release: Any, relation: Any) -> int:
    try:
        return norms_apart(release, relation)
    except RefusedEventError as refused:
        raise InvalidParameter("release", release, refused.valid) from None


def _write_gaussian(release: Any, relation: Any) -> Any:
    return dp_event.GaussianDpEvent(_multiplier(release, release.sigma, relation))


def _write_laplace(release: Any, relation: Any) -> Any:
    return dp_event.LaplaceDpEvent(_multiplier(release, release.scale, relation))


def _write_geometric(release: Any, relation: Any) -> Any:
    sensitivity, odd = divmod(release.sensitivity, _known_norms(release, relation))
    if odd:
        raise InvalidParameter("release", release, "of an even sensitivity under REPLACE_ONE")
    return dp_event.DiscreteLaplaceDpEvent(_at_least(1 / Fraction(release.scale)), sensitivity)


def _write_response(release: Any, relation: Any) -> Any:  # noqa: ARG001  # read back under it
    k, epsilon = release.categories, Fraction(release.epsilon)
    with working_precision(BITS + 2048):  # e^700 and its last bit
        noise = outward(k / (rational(epsilon).exp() + (k - 1))).lower
    if not (0 < noise < 1 and epsilon_of_response(noise, k) <= epsilon * (1 + _CLOSE)):
        raise InvalidParameter("release", release, "one whose noise parameter a float can hold")
    return dp_event.RandomizedResponseDpEvent(noise, k)


def _write_concentrated(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    return dp_event.ZCDpEvent(release.rho)


def _write_box(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    if release != NO_PROMISE:
        raise InvalidParameter("release", release, "one that dp-accounting has an event for")
    return dp_event.NonPrivateDpEvent()


def _write_repeated(release: Any, relation: Any) -> Any:
    event = to_dp_event(release.release, neighboring_relation=relation)
    return dp_event.SelfComposedDpEvent(event, release.count)


def _write_poisson(release: Any, relation: Any) -> Any:
    event = to_dp_event(release.release, neighboring_relation=relation)
    return dp_event.PoissonSampledDpEvent(release.rate, event)


def _write_without_replacement(release: Any, relation: Any) -> Any:
    event = to_dp_event(release.release, neighboring_relation=relation)
    return dp_event.SampledWithoutReplacementDpEvent(release.population, release.sample, event)


_WRITERS: dict[type[Release], Callable[[Any, Any], Any]] = {
    ApproxDP: _write_box,
    Gaussian: _write_gaussian,
    Laplace: _write_laplace,
    Geometric: _write_geometric,
    RandomizedResponse: _write_response,
    ZeroConcentratedDP: _write_concentrated,
    Repeated: _write_repeated,
    PoissonSampled: _write_poisson,
    SampledWithoutReplacement: _write_without_replacement,
}
