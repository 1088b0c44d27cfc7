"""Google's dp-accounting: its events as our releases, and our engine as one of its accountants.

>>> import dp_accounting
>>> event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
>>> accountant = QuaestorAccountant().compose(event, 1000)
>>> round(accountant.get_epsilon(target_delta=1e-6), 4)
2.1245

An event says how much noise there is for values of a bounded norm. What that is worth depends on
the neighbouring relation: a person who comes or goes moves a sum by that norm, one who is replaced
by another moves it by twice as much. Where a parameter has to be converted, it is rounded to the
side of more loss. What is not certain is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from quaestor.accounting.balls import outward, rational, working_precision
from quaestor.accounting.compose import Composition, compose
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
from quaestor.accounting.releases.base import LARGEST_COUNT, check_count, check_real
from quaestor.errors import InvalidParameter, MissingExtra

try:
    from dp_accounting import dp_event, privacy_accountant
except ImportError as missing:
    raise MissingExtra(
        "dp-accounting", extra="interop", purpose="reading and writing its events"
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QuaestorAccountant", "from_dp_event", "to_dp_event"]

_Relation = privacy_accountant.NeighboringRelation
_Details = privacy_accountant.PrivacyAccountant.CompositionErrorDetails

_Parts = list[tuple[Release, int]]

_NO_PROMISE = ApproxDP(epsilon=0.0, delta=1.0)
_BITS = 192
_CLOSE = Fraction(1, 10**9)


class QuaestorAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]  # no types
    """A dp-accounting accountant whose every answer is the upper end of a certified interval.

    >>> import dp_accounting
    >>> accountant = QuaestorAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    >>> event = dp_accounting.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)
    >>> round(accountant.compose(event, 10).get_epsilon(target_delta=0.0), 3)
    10.986
    """

    def __init__(self, neighboring_relation: Any = _Relation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)
        self._counts: dict[Release, int] = {}
        self._composition: Composition | None = None

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:  # noqa: FBT001  # so it is called
        try:
            parts = _read(event, self.neighboring_relation)
        except _RefusedError as refused:
            return _Details(refused.event, f"must be {refused.valid}")
        counts = dict(self._counts)
        for release, times in parts:
            counts[release] = counts.get(release, 0) + times * max(count, 1)
        if max(counts.values(), default=0) > LARGEST_COUNT:
            return _Details(event, f"must be repeated at most {LARGEST_COUNT} times in all")
        if do_compose and parts:
            self._counts, self._composition = counts, None
        return None

    @property
    def composition(self) -> Composition:
        """All that was composed so far, for bounds, trade-offs and explanations."""
        if self._composition is None:
            self._composition = compose(*(kind * count for kind, count in self._counts.items()))
        return self._composition

    def get_epsilon(self, target_delta: float) -> float:
        """The smallest epsilon known to be true at ``target_delta``: a sound upper bound."""
        if _NO_PROMISE in self._counts:
            return float("inf")
        return self.composition.epsilon(delta=target_delta)

    def get_delta(self, target_epsilon: float) -> float:
        """The smallest delta known to be true at ``target_epsilon``: a sound upper bound."""
        if _NO_PROMISE in self._counts:
            return 1.0
        return self.composition.delta(epsilon=target_epsilon)


def from_dp_event(
    event: Any, *, neighboring_relation: Any = _Relation.ADD_OR_REMOVE_ONE
) -> tuple[Release, ...]:
    """The releases that an event stands for, in its order, or :class:`InvalidParameter`.

    >>> import dp_accounting
    >>> from_dp_event(dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(2.0), 3))
    (Repeated(release=Laplace(scale=2.0, sensitivity=1.0), count=3),)
    """
    try:
        parts = _read(event, neighboring_relation)
    except _RefusedError as refused:
        raise InvalidParameter("event", refused.event, refused.valid) from None
    return tuple(release * count for release, count in parts)


def to_dp_event(
    release: Release, *, neighboring_relation: Any = _Relation.ADD_OR_REMOVE_ONE
) -> Any:
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


# From events to releases.


class _RefusedError(Exception):
    """An event that we say nothing about, and what would have been valid."""

    def __init__(self, event: Any, valid: str) -> None:
        super().__init__(valid)
        self.event, self.valid = event, valid


def _read(event: Any, relation: Any) -> _Parts:
    """The releases in an event with their counts; exact types only, for a subclass may differ."""
    import numpy as np

    reader = _READERS.get(type(event))
    if reader is None:
        raise _RefusedError(event, "of a kind that Quaestor knows")
    try:
        parts = reader(event, relation)
        with np.errstate(over="raise", invalid="raise"):
            for release, count in parts:
                check_count("count", count)
                release.losses()  # refuses what cannot be computed
    except InvalidParameter as problem:
        raise _RefusedError(event, f"valid: {problem}") from None
    except ArithmeticError as problem:
        raise _RefusedError(event, f"within the reach of floats ({problem})") from None
    return parts


def _refuse_relation(event: Any, relation: Any, *known: Any) -> NoReturn:
    names = " or ".join(one.name for one in known)
    raise _RefusedError(event, f"composed under {names}, not {getattr(relation, 'name', relation)}")


def _norms(event: Any, relation: Any) -> int:
    """How many times the bound on a person's values two neighbours may be apart."""
    if relation is _Relation.ADD_OR_REMOVE_ONE:
        return 1
    if relation is _Relation.REPLACE_ONE:
        return 2
    _refuse_relation(event, relation, _Relation.ADD_OR_REMOVE_ONE, _Relation.REPLACE_ONE)


def _read_gaussian(event: Any, relation: Any) -> _Parts:
    norms = _norms(event, relation)
    if event.noise_multiplier == 0:
        return [(_NO_PROMISE, 1)]
    return [(Gaussian(sigma=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _read_laplace(event: Any, relation: Any) -> _Parts:
    norms = _norms(event, relation)
    if event.noise_multiplier == 0:
        return [(_NO_PROMISE, 1)]
    return [(Laplace(scale=event.noise_multiplier, sensitivity=float(norms)), 1)]


def _read_discrete_laplace(event: Any, relation: Any) -> _Parts:
    norms = _norms(event, relation)
    parameter = check_real("noise_parameter", event.noise_parameter, low=1e-150, high=1e150)
    sensitivity = check_count("sensitivity", event.sensitivity)
    scale = _at_most(1 / Fraction(parameter))
    return [(Geometric(scale=scale, sensitivity=norms * sensitivity), 1)]


def _read_response(event: Any, relation: Any) -> _Parts:
    if relation is not _Relation.REPLACE_ONE:
        _refuse_relation(event, relation, _Relation.REPLACE_ONE)
    buckets = check_count("num_buckets", event.num_buckets)
    noise = check_real("noise_parameter", event.noise_parameter, low=0.0, high=1.0)
    if buckets == 1 or noise == 1.0:
        return []
    if noise == 0.0:
        return [(_NO_PROMISE, 1)]
    epsilon = _epsilon_of_response(noise, buckets)
    return [(RandomizedResponse(epsilon=epsilon, categories=buckets), 1)]


def _epsilon_of_response(noise: float, buckets: int) -> float:
    r""":math:`e^\varepsilon = (1 - p + p/k) / (p/k)`, rounded up."""
    odds = buckets * (1 - Fraction(noise)) / Fraction(noise)
    with working_precision(_BITS):
        return outward(rational(odds).log1p()).upper


def _read_concentrated(event: Any, relation: Any) -> _Parts:  # noqa: ARG001  # a promise about any neighbours
    if event.xi != 0:
        raise _RefusedError(event, "without xi, which Quaestor does not know")
    return [(ZeroConcentratedDP(rho=event.rho), 1)]


def _read_repeated(event: Any, relation: Any) -> _Parts:
    count = check_count("count", event.count)
    return [(release, times * count) for release, times in _read(event.event, relation)]


def _read_composed(event: Any, relation: Any) -> _Parts:
    return [part for inner in event.events for part in _read(inner, relation)]


def _read_poisson(event: Any, relation: Any) -> _Parts:
    if relation is not _Relation.ADD_OR_REMOVE_ONE:
        _refuse_relation(event, relation, _Relation.ADD_OR_REMOVE_ONE)
    rate = check_real("sampling_probability", event.sampling_probability, low=0.0, high=1.0)
    inner = _read(event.event, relation)
    if any(release == _NO_PROMISE for release, _ in inner):
        return [] if rate == 0.0 else [(_NO_PROMISE, 1)]
    if not inner:
        return []
    release = _one_gaussian(inner) or _only(inner, Laplace, Geometric)
    if release is None:
        raise _RefusedError(
            event, "a sample for one Laplace or discrete Laplace event, or for Gaussian ones"
        )
    return [(PoissonSampled(release=release, rate=rate), 1)]


def _read_without_replacement(event: Any, relation: Any) -> _Parts:
    if relation is not _Relation.REPLACE_ONE:
        _refuse_relation(event, relation, _Relation.REPLACE_ONE)
    population = check_count("source_dataset_size", event.source_dataset_size)
    sample = check_count("sample_size", event.sample_size, largest=population)
    inner = _read(event.event, relation)
    if any(release == _NO_PROMISE for release, _ in inner):
        return [(_NO_PROMISE, 1)]
    if not inner:
        return []
    release = _only(inner, Geometric, RandomizedResponse)
    if release is None:
        raise _RefusedError(event, "a sample for one discrete Laplace or randomized response event")
    return [(SampledWithoutReplacement(release=release, sample=sample, population=population), 1)]


def _only(parts: _Parts, *kinds: type[Release]) -> Release | None:
    """The release, if it is alone and of one of these kinds."""
    (release, count), *others = parts
    return release if not others and count == 1 and type(release) in kinds else None


def _one_gaussian(parts: _Parts) -> Gaussian | None:
    """The one Gaussian that several on the same sample amount to, with no more noise than they."""
    precision = Fraction(0)
    for release, count in parts:
        if not isinstance(release, Gaussian):
            return None
        precision += count * (Fraction(release.sensitivity) / Fraction(release.sigma)) ** 2
    alone = _only(parts, Gaussian)
    if isinstance(alone, Gaussian):
        return alone
    with working_precision(_BITS):
        return Gaussian(sigma=outward(rational(1 / precision).sqrt()).lower)


def _nothing(event: Any, relation: Any) -> _Parts:  # noqa: ARG001  # as every reader is called
    return []


def _no_promise(event: Any, relation: Any) -> _Parts:  # noqa: ARG001  # as every reader is called
    return [(_NO_PROMISE, 1)]


_READERS: dict[Any, Callable[[Any, Any], _Parts]] = {
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


# From releases to events.


def _at_most(exact: Fraction) -> float:
    with working_precision(_BITS):
        return outward(rational(exact)).lower


def _at_least(exact: Fraction) -> float:
    with working_precision(_BITS):
        return outward(rational(exact)).upper


def _multiplier(release: Any, noise: float, relation: Any) -> float:
    """How much noise there is for each unit of the norm that an event's values are bounded by."""
    norms = _known_norms(release, relation)
    return _at_most(norms * Fraction(noise) / Fraction(release.sensitivity))


def _known_norms(release: Any, relation: Any) -> int:
    try:
        return _norms(release, relation)
    except _RefusedError as refused:
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
    with working_precision(_BITS + 2048):  # e^700 and its last bit
        noise = outward(k / (rational(epsilon).exp() + (k - 1))).lower
    if not (0 < noise < 1 and _epsilon_of_response(noise, k) <= epsilon * (1 + _CLOSE)):
        raise InvalidParameter("release", release, "one whose noise parameter a float can hold")
    return dp_event.RandomizedResponseDpEvent(noise, k)


def _write_concentrated(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    return dp_event.ZCDpEvent(release.rho)


def _write_box(release: Any, relation: Any) -> Any:  # noqa: ARG001  # about any neighbours
    if release != _NO_PROMISE:
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
