"""From events to releases."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.releases import (
    ApproxDP,
    Gaussian,
    Geometric,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Release,
    SampledWithoutReplacement,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.interop.dp_accounting.needed import Relation, dp_event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BITS",
    "NO_PROMISE",
    "RefusedEventError",
    "at_most",
    "epsilon_of_response",
    "from_dp_event",
    "norms_apart",
    "read_event",
]

Parts = list[tuple[Release, int]]

NO_PROMISE = ApproxDP(epsilon=0.0, delta=1.0)
BITS = 192


def from_dp_event(
    event: Any, *, neighboring_relation: Any = Relation.ADD_OR_REMOVE_ONE
) -> tuple[Release, ...]:
    """The releases that an event stands for, in its order, or :class:`InvalidParameter`.

    >>> import dp_accounting
    >>> from_dp_event(dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(2.0), 3))
    (Repeated(release=Laplace(scale=2.0, sensitivity=1.0), count=3),)
    """
    try:
        parts = read_event(event, neighboring_relation)
    except RefusedEventError as refused:
        raise InvalidParameter("event", refused.event, refused.valid) from None
    return tuple(release * count for release, count in parts)


class RefusedEventError(Exception):
    """An event that we say nothing about, and what would have been valid."""

    def __init__(self, event: Any, valid: str) -> None:
        super().__init__(valid)
        self.event, self.valid = event, valid


def read_event(event: Any, relation: Any) -> Parts:
    """The releases in an event with their counts; exact types only, for a subclass may differ."""
    import numpy as np

    reader = _READERS.get(type(event))
    if reader is None:
        raise RefusedEventError(event, "of a kind that Quaestor knows")
    try:
        parts = reader(event, relation)
        with np.errstate(over="raise", invalid="raise"):
            for release, count in parts:
                check_count("count", count)
                release.losses()  # refuses what cannot be computed
    except InvalidParameter as problem:
        raise RefusedEventError(event, f"valid: {problem}") from None
    except ArithmeticError as problem:
        raise RefusedEventError(event, f"within the reach of floats ({problem})") from None
    return parts


def _refuse_relation(event: Any, relation: Any, *known: Any) -> NoReturn:
    names = " or ".join(one.name for one in known)
    raise RefusedEventError(
        event, f"composed under {names}, not {getattr(relation, 'name', relation)}"
    )


def norms_apart(event: Any, relation: Any) -> int:
    """How many times the bound on a person's values two neighbours may be apart."""
    if relation is Relation.ADD_OR_REMOVE_ONE:
        return 1
    if relation is Relation.REPLACE_ONE:
        return 2
    _refuse_relation(event, relation, Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE)


def _read_gaussian(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    return [(Gaussian(sigma=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _read_laplace(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    return [(Laplace(scale=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _read_discrete_laplace(event: Any, relation: Any) -> Parts:
    norms = norms_apart(event, relation)
    parameter = check_real("noise_parameter", event.noise_parameter, low=1e-150, high=1e150)
    sensitivity = check_count("sensitivity", event.sensitivity)
    scale = at_most(1 / Fraction(parameter))
    return [(Geometric(scale=scale, sensitivity=norms * sensitivity), 1)]


def _read_response(event: Any, relation: Any) -> Parts:
    if relation is not Relation.REPLACE_ONE:
        _refuse_relation(event, relation, Relation.REPLACE_ONE)
    buckets = check_count("num_buckets", event.num_buckets)
    noise = check_real("noise_parameter", event.noise_parameter, low=0.0, high=1.0)
    if buckets == 1 or noise == 1.0:
        return []
    if noise == 0.0:
        return [(NO_PROMISE, 1)]
    epsilon = epsilon_of_response(noise, buckets)
    return [(RandomizedResponse(epsilon=epsilon, categories=buckets), 1)]


def epsilon_of_response(noise: float, buckets: int) -> float:
    r""":math:`e^\varepsilon = (1 - p + p/k) / (p/k)`, rounded up."""
    odds = buckets * (1 - Fraction(noise)) / Fraction(noise)
    with working_precision(BITS):
        return outward(rational(odds).log1p()).upper


def _read_concentrated(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # a promise about any neighbours
    if event.xi != 0:
        raise RefusedEventError(event, "without xi, which Quaestor does not know")
    return [(ZeroConcentratedDP(rho=event.rho), 1)]


def _read_repeated(event: Any, relation: Any) -> Parts:
    count = check_count("count", event.count)
    return [(release, times * count) for release, times in read_event(event.event, relation)]


def _read_composed(event: Any, relation: Any) -> Parts:
    return [part for inner in event.events for part in read_event(inner, relation)]


def _read_poisson(event: Any, relation: Any) -> Parts:
    if relation is not Relation.ADD_OR_REMOVE_ONE:
        _refuse_relation(event, relation, Relation.ADD_OR_REMOVE_ONE)
    rate = check_real("sampling_probability", event.sampling_probability, low=0.0, high=1.0)
    inner = read_event(event.event, relation)
    if any(release == NO_PROMISE for release, _ in inner):
        return [] if rate == 0.0 else [(NO_PROMISE, 1)]
    if not inner:
        return []
    release = _one_gaussian(inner) or _only(inner, Laplace, Geometric)
    if release is None:
        raise RefusedEventError(
            event, "a sample for one Laplace or discrete Laplace event, or for Gaussian ones"
        )
    return [(PoissonSampled(release=release, rate=rate), 1)]


def _read_without_replacement(event: Any, relation: Any) -> Parts:
    if relation is not Relation.REPLACE_ONE:
        _refuse_relation(event, relation, Relation.REPLACE_ONE)
    population = check_count("source_dataset_size", event.source_dataset_size)
    sample = check_count("sample_size", event.sample_size, largest=population)
    inner = read_event(event.event, relation)
    if any(release == NO_PROMISE for release, _ in inner):
        return [(NO_PROMISE, 1)]
    if not inner:
        return []
    release = _only(inner, Geometric, RandomizedResponse)
    if release is None:
        raise RefusedEventError(
            event, "a sample for one discrete Laplace or randomized response event"
        )
    return [(SampledWithoutReplacement(release=release, sample=sample, population=population), 1)]


def _only(parts: Parts, *kinds: type[Release]) -> Release | None:
    """The release, if it is alone and of one of these kinds."""
    (release, count), *others = parts
    return release if not others and count == 1 and type(release) in kinds else None


def _one_gaussian(parts: Parts) -> Gaussian | None:
    """The one Gaussian that several on the same sample amount to, with no more noise than they."""
    precision = Fraction(0)
    for release, count in parts:
        if not isinstance(release, Gaussian):
            return None
        precision += count * (Fraction(release.sensitivity) / Fraction(release.sigma)) ** 2
    alone = _only(parts, Gaussian)
    if isinstance(alone, Gaussian):
        return alone
    with working_precision(BITS):
        return Gaussian(sigma=outward(rational(1 / precision).sqrt()).lower)


def _nothing(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # as every reader is called
    return []


def _no_promise(event: Any, relation: Any) -> Parts:  # noqa: ARG001  # as every reader is called
    return [(NO_PROMISE, 1)]


_READERS: dict[Any, Callable[[Any, Any], Parts]] = {
    dp_event.NoOpDpEvent: _nothing,
    dp_event.NonPrivateDpEvent: _no_promise,
    dp_event.GaussianDpEvent: _read_gaussian,
    dp_event.LaplaceDpEvent: _read_laplace,
    dp_event.DiscreteLaplaceDpEvent: _read_discrete_laplace,
    dp_event.RandomizedResponseDpEvent: _read_response,
    dp_event.ZCDpEvent: _read_concentrated,
    dp_event.SelfComposedDpEvent: _read_repeated,
    dp_event.ComposedDpEvent: _read_composed,
    dp_event.PoissonSampledDpEvent: _read_poisson,
    dp_event.SampledWithoutReplacementDpEvent: _read_without_replacement,
}


def at_most(exact: Fraction) -> float:
    """The largest float known not to be above."""
    with working_precision(BITS):
        return outward(rational(exact)).lower
