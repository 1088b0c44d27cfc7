"""Budget planning: the least noise, and the largest count, that fit a target."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.expressions import parse_templates
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import Release, ReleaseSum, each_release
from quaestor.accounting.releases.base import LARGEST_COUNT, check_real
from quaestor.errors import InvalidExpression, InvalidParameter, TargetOutOfReach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Builder = Callable[[float], Release | ReleaseSum | Composition]

__all__ = [
    "Calibrated",
    "calibrate",
    "calibrate_bounds",
    "calibrate_expressions",
    "largest_count",
]

Answer = TypeVar("Answer")

_FACTOR = 8.0
_SMALLEST, _LARGEST = _FACTOR**-99, _FACTOR**99  # parameters are looked for between these
_TOLERANCE = 1e-12  # relative, of the parameter
_CLOSE = 1e-10  # nats of delta at which the search stops


def calibrate(build: Builder, *, epsilon: float, delta: float) -> float:
    """The parameter value that costs the most and still fits the target.

    ``build`` turns a value into releases. Whether cost rises with it (an epsilon) or falls (the
    scale of noise) is found out. The value returned fits by a certified upper bound.

    >>> from quaestor.accounting.releases import PureDP
    >>> each = calibrate(lambda e: PureDP(epsilon=e) * 100, epsilon=1.0, delta=1e-6)
    >>> compose(PureDP(epsilon=each) * 100).epsilon(delta=1e-6) <= 1.0
    True
    >>> compose(PureDP(epsilon=each * 1.0001) * 100).epsilon_bounds(delta=1e-6).lower > 1.0
    True
    """
    return _search(build, epsilon=epsilon, delta=delta)[0]


def calibrate_bounds(build: Builder, *, epsilon: float, delta: float) -> Bounds:
    """Enclose the best parameter value: one end fits for certain, the other one does not.

    Or it is the end of the parameter's own range.

    >>> from quaestor import PureDP
    >>> best = calibrate_bounds(lambda e: PureDP(epsilon=e) * 4, epsilon=1.0, delta=0.0)
    >>> 0.25 in best
    True
    """
    fits, fails = _search(build, epsilon=epsilon, delta=delta)
    cost = _Cost(build, epsilon)
    step = abs(fails - fits)
    while True:  # while the intervals overlap the target, step further out
        bounds = cost(fails)
        if bounds is None or bounds.lower > delta:
            break
        step *= 2
        fails = fits + step if fails > fits else fits - step
        if not _SMALLEST <= fails <= _LARGEST:
            break
    return Bounds(lower=max(min(fits, fails), 0.0), upper=max(fits, fails))


class Calibrated(NamedTuple):
    """The value of an unknown parameter that fits a target, and the releases with it.

    ``bounds`` enclose the best value; ``rises`` says that the cost rises with it.
    """

    parameter: str
    value: float
    bounds: Bounds
    rises: bool
    releases: tuple[Release, ...]


def calibrate_expressions(texts: Iterable[str], *, epsilon: float, delta: float) -> Calibrated:
    """The same for releases as they are written, with a ``?`` for the one that is looked for.

    >>> found = calibrate_expressions(["PureDP(epsilon=?) * 4"], epsilon=1.0, delta=0.0)
    >>> found.parameter, found.rises, 0.25 in found.bounds
    ('epsilon', True, True)
    """
    templates = [template for text in texts for template in parse_templates(text)]
    unknown = [template.unknown for template in templates if template.unknown is not None]
    if len(unknown) != 1:
        raise InvalidParameter(
            "releases",
            len(unknown),
            'given with exactly one "?", such as "Gaussian(sigma=?) * 100"',
        )

    def build(value: float) -> Composition:
        return compose(*(template.build(value) for template in templates))

    bounds = calibrate_bounds(build, epsilon=epsilon, delta=delta)
    rises = build(bounds.upper).delta(epsilon=epsilon) > delta
    value = bounds.lower if rises else bounds.upper
    releases = tuple(template.build(value) for template in templates)
    return Calibrated(unknown[0], value, bounds, rises, releases)


def largest_count(
    release: Release | ReleaseSum, *, epsilon: float, delta: float, in_advance: bool = False
) -> int:
    """How many times ``release`` may be repeated within the target; 0 if not even once.

    The count returned fits by a certified upper bound. ``in_advance`` says that all queries are
    fixed before the first answer, as for :func:`compose_nonadaptive`.

    >>> from quaestor.accounting.releases import PureDP
    >>> largest_count(PureDP(epsilon=0.1), epsilon=1.0, delta=0.0)
    9
    >>> largest_count(PureDP(epsilon=0.125), epsilon=1.0, delta=0.0)
    8
    """
    epsilon, delta = _checked_target(epsilon, delta)
    releases = each_release((release,))

    def fits(count: int) -> bool:
        if delta >= 1.0:
            return True
        spent = Composition(tuple(each * count for each in releases), in_advance=in_advance)
        bounds = spent.delta_bounds(epsilon=epsilon)
        if bounds.lower <= delta < bounds.upper:  # at an edge, the inverse decides exactly
            return spent.epsilon(delta=delta) <= epsilon
        return bounds.upper <= delta

    most = LARGEST_COUNT // max(each.counted()[1] for each in releases)
    good, bad = 0, 1
    while fits(bad):
        if bad == most:
            raise TargetOutOfReach(
                f"{release} fits {most:.0e} times and more: the target does not limit it"
            )
        good, bad = bad, min(2 * bad, most)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _checked_target(epsilon: float, delta: float) -> tuple[float, float]:
    return (
        check_real("epsilon", epsilon, low=0.0, high=1e300),
        check_real("delta", delta, low=0.0, high=1.0),
    )


class _Cost:
    """The certified delta of a value; None for a value outside the parameter's own range.

    What is outside is said by the description, when it is built or when its loss is asked for. Any
    other error is a fault, or the caller's, and goes through.
    """

    def __init__(self, build: Builder, epsilon: float) -> None:
        self._build, self._epsilon = build, epsilon
        self.refusal: InvalidParameter | None = None  # the last one

    def __call__(self, value: float) -> Bounds | None:
        """Both ends."""
        return self._asked(value, lambda built: built.delta_bounds(epsilon=self._epsilon))

    def upper(self, value: float) -> float | None:
        """The upper end alone, which is all that a search needs."""
        return self._asked(value, lambda built: built.delta(epsilon=self._epsilon))

    def _asked(self, value: float, question: Callable[[Composition], Answer]) -> Answer | None:
        try:
            built = self._build(value)
        except InvalidExpression:
            raise
        except InvalidParameter as refusal:
            self.refusal = refusal
            return None
        composition = built if isinstance(built, Composition) else compose(built)
        try:
            return question(composition)
        except InvalidParameter as refusal:
            if refusal.field not in _parameters(composition.releases):
                raise
            self.refusal = refusal
            return None


def _parameters(releases: tuple[Release, ...]) -> set[str]:
    """The names of everything that a value could have been put in for."""
    names: set[str] = set()
    for release in releases:
        values = {each.name: getattr(release, each.name) for each in fields(release)}  # type: ignore[arg-type]
        names |= values.keys()
        names |= _parameters(tuple(v for v in values.values() if isinstance(v, Release)))
    return names


def _search(build: Builder, *, epsilon: float, delta: float) -> tuple[float, float]:
    """A value that fits and one next to it that does not."""
    epsilon, delta = _checked_target(epsilon, delta)
    cost = _Cost(build, epsilon)

    def fits(value: float) -> bool | None:
        upper = cost.upper(value)
        return None if upper is None else upper <= delta

    fitting, failing = _first_of_each(fits, cost)
    return _narrowed(fitting, failing, lambda value: _excess(cost.upper(value), delta))


def _excess(upper: float | None, delta: float) -> float:
    """By how many nats the certified delta passes the target: at most 0 where it fits."""
    if upper is None:
        return 1.0
    if upper <= delta:
        return math.log(max(upper, 1e-300)) - math.log(max(delta, 1e-300)) if delta else 0.0
    return max(math.log(upper) - math.log(max(delta, 1e-300)), 1e-300)


def _narrowed(
    fitting: float, failing: float, excess: Callable[[float], float]
) -> tuple[float, float]:
    """Bring a value that fits and one that fails together.

    Regula falsi (Illinois) in the logarithm finds about where they meet; small steps from there
    to both sides make sure.
    """
    good, bad = math.log(fitting), math.log(failing)
    at_good, at_bad = min(excess(fitting), -1e-300), excess(failing)
    middle, last = (good + bad) / 2, 0
    for i in range(120):
        middle = good + (bad - good) * at_good / (at_good - at_bad)
        if i % 3 == 2 or not min(good, bad) < middle < max(good, bad):
            middle = (good + bad) / 2  # now and then, for curves that are steps
        value = excess(math.exp(middle))
        if value <= 0.0:
            at_bad /= 2 if last < 0 else 1
            good, at_good, last = middle, min(value, -1e-300), -1
        else:
            at_good /= 2 if last > 0 else 1
            bad, at_bad, last = middle, value, 1
        if 1e-300 < abs(value) < _CLOSE or abs(good - bad) <= _TOLERANCE:
            break
    towards_bad = math.copysign(1.0, bad - good)
    step = _TOLERANCE
    while abs(bad - good) > 4 * step:
        if excess(math.exp(middle - towards_bad * step)) <= 0.0:
            good = middle - towards_bad * step
            break
        step *= 8
    step = _TOLERANCE
    while abs(bad - good) > 4 * step:
        if excess(math.exp(middle + towards_bad * step)) > 0.0:
            bad = middle + towards_bad * step
            break
        step *= 8
    value = math.exp(good)
    return (value if excess(value) <= 0.0 else fitting), math.exp(bad)


def _first_of_each(fits: Callable[[float], bool | None], cost: _Cost) -> tuple[float, float]:
    """Walk out from 1 in both directions until one value fits and one fails."""
    answers: dict[bool, float] = {}
    for step in range(100):
        for value in (_FACTOR**step, _FACTOR**-step):
            answer = fits(value)
            if answer is not None and (
                answer not in answers or abs(math.log(answers[answer])) > abs(math.log(value))
            ):
                answers[answer] = value
            if len(answers) == 2:
                return answers[True], answers[False]
    if not answers and cost.refusal is not None:
        raise cost.refusal
    if True in answers and cost.refusal is not None:  # everything in range fits, up to its end
        return answers[True], _first_refused(fits, answers[True])
    if True in answers:
        raise TargetOutOfReach(
            "every value meets the target, so it does not determine the parameter"
        )
    raise TargetOutOfReach(
        f"no value from {_SMALLEST:g} to {_LARGEST:g} meets the target: "
        "raise epsilon or delta, or ask for fewer releases"
    )


def _first_refused(fits: Callable[[float], bool | None], fitting: float) -> float:
    """A value beyond the parameter's range, on the side where the cost must rise."""
    for factor in (_FACTOR, 1 / _FACTOR):
        value = fitting
        for _ in range(100):
            value *= factor
            if not fits(value):
                break
        else:
            continue
        inside = value / factor
        for _ in range(60):  # the last value in range, unless it fits too
            middle = math.sqrt(inside * value)
            inside, value = (middle, value) if fits(middle) else (inside, middle)
        if fits(value) is False:
            return value
    raise TargetOutOfReach("every value meets the target, so it does not determine the parameter")
