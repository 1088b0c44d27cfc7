"""From events to releases, and back: noise, repeated, joined and on samples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.releases import (
    Gaussian,
    Geometric,
    Laplace,
    PoissonSampled,
    PoissonSampledReplaceOne,
    Release,
    ReleaseSum,
    RepeatAndSelect,
    Repeated,
    SampledWithoutReplacement,
    SampledWithReplacement,
    TruncatedPoissonGaussian,
    each_release,
)
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.interop.dp_accounting.events import Relation, dp_event
from quaestor.interop.dp_accounting.noise_events import (
    BITS,
    COMES_OR_GOES,
    NO_PROMISE,
    NOISE_EVENTS,
    EventKind,
    Parts,
    RefusedEventError,
    refuse_relation,
)

__all__ = ["from_dp_event", "read_event", "to_dp_event"]


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


def read_event(event: Any, relation: Any) -> Parts:
    """The releases in an event with their counts; exact types only, for a subclass may differ."""
    import numpy as np

    reader = _READERS.get(type(event))
    if reader is None:
        raise RefusedEventError(event, _UNKNOWN.get(type(event), _STRANGE))
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


def _read_repeated(event: Any, relation: Any) -> Parts:
    count = check_count("count", event.count)
    return [(release, times * count) for release, times in read_event(event.event, relation)]


def _write_repeated(release: Any, relation: Any) -> Any:
    event = to_dp_event(release.release, neighboring_relation=relation)
    return dp_event.SelfComposedDpEvent(event, release.count)


def _read_composed(event: Any, relation: Any) -> Parts:
    return [part for inner in event.events for part in read_event(inner, relation)]


def _read_poisson(event: Any, relation: Any) -> Parts:
    rate = check_real("sampling_probability", event.sampling_probability, low=0.0, high=1.0)
    alone = relation if relation is not Relation.REPLACE_ONE else Relation.ADD_OR_REMOVE_ONE
    inner = read_event(event.event, alone)
    if any(release == NO_PROMISE for release, _ in inner):
        return [] if rate == 0.0 else [(NO_PROMISE, 1)]
    if not inner:
        return []
    gaussian = _one_gaussian(inner)
    if relation is Relation.REPLACE_ONE:
        if gaussian is None:
            refuse_relation(event, relation, *COMES_OR_GOES)
        return [(PoissonSampledReplaceOne(release=gaussian, rate=rate), 1)]
    return [(PoissonSampled(release=gaussian or _run(inner), rate=rate), 1)]


def _write_poisson(release: Any, relation: Any) -> Any:
    if relation not in COMES_OR_GOES:
        raise InvalidParameter("release", release, "PoissonSampledReplaceOne under REPLACE_ONE")
    return dp_event.PoissonSampledDpEvent(release.rate, _run_event(release.release, relation))


def _write_replace_one(release: Any, relation: Any) -> Any:
    if relation is not Relation.REPLACE_ONE:
        raise InvalidParameter("release", release, "written under REPLACE_ONE")
    event = to_dp_event(release.release)
    return dp_event.PoissonSampledDpEvent(release.rate, event)


def _read_truncated(event: Any, relation: Any) -> Parts:
    if relation not in COMES_OR_GOES:
        refuse_relation(event, relation, *COMES_OR_GOES)
    if 0 in (event.sampling_probability, event.truncated_batch_size, event.dataset_size):
        return []
    if event.noise_multiplier == 0:
        return [(NO_PROMISE, 1)]
    truncated = TruncatedPoissonGaussian(
        sigma=event.noise_multiplier,
        rate=event.sampling_probability,
        batch=event.truncated_batch_size,
        population=event.dataset_size,
    )
    return [(truncated, 1)]


def _write_truncated(release: Any, relation: Any) -> Any:
    noise = to_dp_event(
        Gaussian(sigma=release.sigma, sensitivity=release.sensitivity),
        neighboring_relation=relation,
    )
    return dp_event.TruncatedSubsampledGaussianDpEvent(
        release.population, release.rate, release.batch, noise.noise_multiplier
    )


def _read_without_replacement(event: Any, relation: Any) -> Parts:
    if relation is not Relation.REPLACE_ONE:
        refuse_relation(event, relation, Relation.REPLACE_ONE)
    population = check_count("source_dataset_size", event.source_dataset_size)
    sample = check_count("sample_size", event.sample_size, largest=population)
    inner = read_event(event.event, relation)
    if any(release == NO_PROMISE for release, _ in inner):
        return [(NO_PROMISE, 1)]
    if not inner:
        return []
    release = _one_gaussian(inner) or _run(inner)
    return [(SampledWithoutReplacement(release=release, sample=sample, population=population), 1)]


def _write_without_replacement(release: Any, relation: Any) -> Any:
    event = _run_event(release.release, relation)
    return dp_event.SampledWithoutReplacementDpEvent(release.population, release.sample, event)


def _read_with_replacement(event: Any, relation: Any) -> Parts:
    if relation is not Relation.REPLACE_ONE:
        refuse_relation(event, relation, Relation.REPLACE_ONE)
    population = check_count("source_dataset_size", event.source_dataset_size)
    sample = check_count("sample_size", event.sample_size)
    inner = read_event(event.event, relation)
    if any(release == NO_PROMISE for release, _ in inner):
        return [(NO_PROMISE, 1)]
    if not inner:
        return []
    release = _one_gaussian(inner) or _only(inner, Laplace, Geometric)
    if release is None:
        raise RefusedEventError(event, "a sample for one Laplace event, or for Gaussian ones")
    return [(SampledWithReplacement(release=release, sample=sample, population=population), 1)]


def _write_with_replacement(release: Any, relation: Any) -> Any:
    event = to_dp_event(release.release, neighboring_relation=relation)
    return dp_event.SampledWithReplacementDpEvent(release.population, release.sample, event)


def _run(parts: Parts) -> Release | ReleaseSum:
    """All of these together."""
    releases = tuple(release * count for release, count in parts)
    return releases[0] if len(releases) == 1 else ReleaseSum(releases)


def _run_event(run: Release | ReleaseSum, relation: Any) -> Any:
    events = [to_dp_event(each, neighboring_relation=relation) for each in each_release((run,))]
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def _read_selection(event: Any, relation: Any) -> Parts:
    """The runs are of one mechanism, and their quality is part of what it gives out."""
    inner = read_event(event.event, relation)
    if any(release == NO_PROMISE for release, _ in inner):
        return [(NO_PROMISE, 1)]
    if not inner:
        return []
    return [(RepeatAndSelect(release=_run(inner), mean=event.mean, shape=event.shape), 1)]


def _write_selection(release: Any, relation: Any) -> Any:
    run = _run_event(release.release, relation)
    shape = math.inf if release.shape is None else release.shape
    return dp_event.RepeatAndSelectDpEvent(run, release.mean, shape)


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


_KINDS: tuple[EventKind, ...] = (
    *NOISE_EVENTS,
    EventKind(dp_event.SelfComposedDpEvent, _read_repeated, Repeated, _write_repeated),
    EventKind(dp_event.ComposedDpEvent, _read_composed),
    EventKind(dp_event.PoissonSampledDpEvent, _read_poisson, PoissonSampled, _write_poisson),
    EventKind(
        dp_event.PoissonSampledDpEvent,
        _read_poisson,
        PoissonSampledReplaceOne,
        _write_replace_one,
    ),
    EventKind(
        dp_event.TruncatedSubsampledGaussianDpEvent,
        _read_truncated,
        TruncatedPoissonGaussian,
        _write_truncated,
    ),
    EventKind(
        dp_event.SampledWithoutReplacementDpEvent,
        _read_without_replacement,
        SampledWithoutReplacement,
        _write_without_replacement,
    ),
    EventKind(
        dp_event.SampledWithReplacementDpEvent,
        _read_with_replacement,
        SampledWithReplacement,
        _write_with_replacement,
    ),
    EventKind(dp_event.RepeatAndSelectDpEvent, _read_selection, RepeatAndSelect, _write_selection),
)
_UNKNOWN = {
    dp_event.UnsupportedDpEvent: "one that says what was released: nothing is known of this one",
    dp_event.DpEvent: "of a kind, such as GaussianDpEvent: nothing is known of any event",
}
_STRANGE = "exactly of one of dp-accounting's own kinds: a subclass may mean something else"
_READERS = {kind.event: kind.read for kind in _KINDS}
_WRITERS = {kind.release: kind.write for kind in _KINDS if kind.release and kind.write}
