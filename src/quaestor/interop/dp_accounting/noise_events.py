"""Kinds of events that hold noise: what each says as a release, and what a release says as it.

One row of ``NOISE_EVENTS`` a kind; its two functions stand together.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.releases import (
    ApproxDP,
    Gaussian,
    Geometric,
    Laplace,
    MixtureOfGaussians,
    ProbabilityVectors,
    RandomizedResponse,
    Release,
    RenyiDP,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.interop.dp_accounting.events import Relation, dp_event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BITS",
    "COMES_OR_GOES",
    "NOISE_EVENTS",
    "NO_PROMISE",
    "EventKind",
    "Parts",
    "RefusedEventError",
    "norms_apart",
    "refuse_relation",
]

Parts = list[tuple[Release, int]]

NO_PROMISE = ApproxDP(epsilon=0.0, delta=1.0)
BITS = 192
COMES_OR_GOES = (Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL)
_CLOSE = Fraction(1, 10**9)
_ORDERS = tuple(1 + 2.0 ** (eighth / 8) for eighth in range(-80, 160))  # from 1.001 to a million


class EventKind(NamedTuple):
    """A kind of event, and the kind of release that can be written as it, if there is one."""

    event: Any
    read: Callable[[Any, Any], Parts]
    release: type[Release] | None = None
    write: Callable[[Any, Any], Any] | None = None


class RefusedEventError(Exception):
    """An event that we say nothing about, and what would have been valid."""

    def __init__(self, event: Any, valid: str) -> None:
        super().__init__(valid)
        self.event, self.valid = event, valid


def refuse_relation(event: Any, relation: Any, *known: Any) -> NoReturn:
    """Say under which relations an event would be known, in the words of their accountants."""
    names = " or ".join(f"`{one.name}`" for one in known)
    found = getattr(relation, "name", relation)
    raise RefusedEventError(
        event, f"composed under another relation: neighboring_relation must be {names}, not {found}"
    )


def norms_apart(event: Any, relation: Any) -> int:
    """How many times the bound on a person's values two neighbours may be apart.

    The special record that REPLACE_SPECIAL puts in a person's place adds nothing to a sum.
    """
    if relation in COMES_OR_GOES:
        return 1
    if relation is Relation.REPLACE_ONE:
        return 2
    refuse_relation(event, relation, *Relation)


def _known_norms(release: Any, relation: Any) -> int:
    try:
        return norms_apart(release, relation)
    except RefusedEventError as refused:
        raise InvalidParameter("release", release, refused.valid) from None


def _multiplier(release: Any, noise: float, relation: Any) -> float:
    """How much noise there is for each unit of the norm that an event's values are bounded by."""
    norms = _known_norms(release, relation)
    return _at_most(norms * Fraction(noise) / Fraction(release.sensitivity))


def _at_most(exact: Fraction) -> float:
    """The largest float known not to be above."""
    with working_precision(BITS):
        return outward(rational(exact)).lower


def _at_least(exact: Fraction) -> float:
    with working_precision(BITS):
        return outward(rational(exact)).upper


def _nothing(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # as every reader is called
    return []


def _no_promise(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # as every reader is called
    return [(NO_PROMISE, 1)]


def _write_no_promise(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    if release != NO_PROMISE:
        raise InvalidParameter("release", release, "one that dp-accounting has an event for")
    return dp_event.NonPrivateDpEvent()


def _read_gaussian(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    return [(Gaussian(sigma=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _write_gaussian(release: Any, relation: Any) -> Any:
    return dp_event.GaussianDpEvent(_multiplier(release, release.sigma, relation))


def _read_laplace(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    return [(Laplace(scale=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _write_laplace(release: Any, relation: Any) -> Any:
    return dp_event.LaplaceDpEvent(_multiplier(release, release.scale, relation))


def _read_geometric(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    if event.noise_parameter == 0:
        return [(NO_PROMISE, 1)]
    parameter = check_real("noise_parameter", event.noise_parameter, low=1e-150, high=1e150)
    sensitivity = check_count("sensitivity", event.sensitivity)
    scale = _at_most(1 / Fraction(parameter))
    return [(Geometric(scale=scale, sensitivity=norms * sensitivity), 1)]


def _write_geometric(release: Any, relation: Any) -> Any:
    sensitivity, odd = divmod(release.sensitivity, _known_norms(release, relation))
    if odd:
        raise InvalidParameter("release", release, "of an even sensitivity under REPLACE_ONE")
    return dp_event.DiscreteLaplaceDpEvent(_at_least(1 / Fraction(release.scale)), sensitivity)


def _read_response(event: Any, relation: Any) -> Parts:
    if relation not in (Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL):
        refuse_relation(event, relation, Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL)
    buckets = check_count("num_buckets", event.num_buckets)
    noise = check_real("noise_parameter", event.noise_parameter, low=0.0, high=1.0)
    if buckets == 1 or noise == 1.0:
        return []
    if noise == 0.0:
        return [(NO_PROMISE, 1)]
    if relation is Relation.REPLACE_SPECIAL:
        return [(_response_against_chance(noise, buckets), 1)]
    epsilon = _epsilon_of_response(noise, buckets)
    return [(RandomizedResponse(epsilon=epsilon, categories=buckets), 1)]


def _response_against_chance(noise: float, buckets: int) -> ProbabilityVectors:
    """The special record is answered for by any bucket alike; the true one, and all the others."""
    true = 1 - Fraction(noise) + Fraction(noise) / buckets
    return ProbabilityVectors(
        p=(float(true), float(1 - true)), q=(1 / buckets, (buckets - 1) / buckets)
    )


def _write_response(release: Any, relation: Any) -> Any:  # noqa: ARG001  # read back under it
    k, epsilon = release.categories, Fraction(release.epsilon)
    with working_precision(BITS + 2048):  # e^700 and its last bit
        noise = outward(k / (rational(epsilon).exp() + (k - 1))).lower
    if not (0 < noise < 1 and _epsilon_of_response(noise, k) <= epsilon * (1 + _CLOSE)):
        raise InvalidParameter("release", release, "one whose noise parameter a float can hold")
    return dp_event.RandomizedResponseDpEvent(noise, k)


def _epsilon_of_response(noise: float, buckets: int) -> float:
    r""":math:`e^\varepsilon = (1 - p + p/k) / (p/k)`, rounded up."""
    odds = buckets * (1 - Fraction(noise)) / Fraction(noise)
    with working_precision(BITS):
        return outward(rational(odds).log1p()).upper


def _read_mixture(event: Any, relation: Any) -> Parts:
    if relation not in COMES_OR_GOES:
        refuse_relation(event, relation, *COMES_OR_GOES)
    lengths, chances = tuple(event.sensitivities), tuple(event.sampling_probs)
    if event.standard_deviation == 0:
        still = MixtureOfGaussians(sigma=1.0, sensitivities=lengths, probabilities=chances)
        return [] if still.squared_mu() == 0 else [(NO_PROMISE, 1)]
    mixture = MixtureOfGaussians(
        sigma=event.standard_deviation, sensitivities=lengths, probabilities=chances
    )
    return [(mixture, 1)]


def _write_mixture(release: Any, relation: Any) -> Any:  # noqa: ARG001  # read back under it
    return dp_event.MixtureOfGaussiansDpEvent(
        release.sigma, list(release.sensitivities), list(release.probabilities)
    )


def _read_tree(event: Any, relation: Any) -> Parts:
    """Each person is in one leaf, and so in as many nodes as the highest tree has levels.

    Somebody who leaves would move everybody after them to other leaves.
    """
    if relation is Relation.ADD_OR_REMOVE_ONE:
        refuse_relation(event, relation, Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL)
    norms = norms_apart(event, relation)
    counts = (
        event.step_counts if isinstance(event.step_counts, list | tuple) else [event.step_counts]
    )
    levels = max((check_count("step_counts", steps).bit_length() for steps in counts), default=0)
    check_count("step_counts", levels)
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    return [(Gaussian(sigma=event.noise_multiplier, sensitivity=float(norms)), levels)]


def _read_concentrated(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # a promise about any neighbours
    if event.xi == 0:
        return [(ZeroConcentratedDP(rho=event.rho), 1)]
    xi = check_real("xi", event.xi, low=0.0, high=1e150)
    ZeroConcentratedDP(rho=event.rho)  # checks it
    bounds = [_at_least(Fraction(xi) + Fraction(event.rho) * Fraction(order)) for order in _ORDERS]
    return [(RenyiDP(orders=_ORDERS, epsilons=tuple(bounds)), 1)]


def _write_concentrated(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    return dp_event.ZCDpEvent(release.rho)


NOISE_EVENTS: tuple[EventKind, ...] = (
    EventKind(dp_event.NoOpDpEvent, _nothing),
    EventKind(dp_event.NonPrivateDpEvent, _no_promise, ApproxDP, _write_no_promise),
    EventKind(dp_event.GaussianDpEvent, _read_gaussian, Gaussian, _write_gaussian),
    EventKind(dp_event.LaplaceDpEvent, _read_laplace, Laplace, _write_laplace),
    EventKind(dp_event.DiscreteLaplaceDpEvent, _read_geometric, Geometric, _write_geometric),
    EventKind(
        dp_event.RandomizedResponseDpEvent, _read_response, RandomizedResponse, _write_response
    ),
    EventKind(
        dp_event.MixtureOfGaussiansDpEvent, _read_mixture, MixtureOfGaussians, _write_mixture
    ),
    EventKind(dp_event.SingleEpochTreeAggregationDpEvent, _read_tree),
    EventKind(dp_event.ZCDpEvent, _read_concentrated, ZeroConcentratedDP, _write_concentrated),
)
