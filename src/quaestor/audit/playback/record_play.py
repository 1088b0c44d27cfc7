"""A look inside: run an algorithm on two neighbours, with the same noise at every primitive.

The method of Cebere, Erb, Desfontaines, Bellet and Fitzsimons (arXiv:2602.17454, "Re:cord-play").
On the first database every call of a noise primitive is recorded: its parameters, its input and its
output. On the second database each call gets the output that was recorded. Then the two runs may
differ in nothing but the inputs of the primitives, and these by no more than the sensitivity that
is declared there. Whatever else differs is a leak: the parameters, the order of the calls, or the
result, which is made from outputs that are the same. One pair of runs shows it, without statistics.

Then each primitive is audited on the inputs that it really got (:meth:`Recording.audits`): the
authors' "Re:cord-play-sample", with sequential tests.
"""

from __future__ import annotations

import copy
import random
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.audit.facts import text_of
from quaestor.audit.playback.replay import distance_of
from quaestor.audit.targets import Raised
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quaestor.audit.anytime.sequential_report import SequentialReport

__all__ = ["Primitive", "RecordedCall", "Recording", "record_play"]

_SLACK = 1e-9


def _largest_entry(first: Any, second: Any) -> float | None:
    """The largest difference of two entries; of mappings too, where a missing one is 0."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = {**first, **second}
        return max((abs(first.get(k, 0) - second.get(k, 0)) for k in keys), default=0.0)
    if np.shape(first) != np.shape(second):
        return None
    apart = np.abs(np.asarray(first, np.float64) - np.asarray(second, np.float64))
    return float(apart.max()) if apart.size else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """A place where noise is drawn: a method of a class, or a function of a module.

    ``sensitivity`` and ``parameters`` are asked of the object that is called (of the function's
    other arguments, where there is no object). ``by_entry`` measures the largest difference of an
    entry in place of the sum of all. ``claim`` says what one call promises. ``value`` finds the
    input in the object, where calls take none.

    >>> from quaestor.mechanisms import Geometric
    >>> Primitive(owner=Geometric, name="release").name
    'release'
    """

    owner: Any
    name: str
    sensitivity: Callable[[Any], float] | None = None
    parameters: Callable[[Any], Any] | None = None
    claim: Callable[[Any], Any] | None = None
    value: Callable[[Any], Any] | None = None
    by_entry: bool = False

    def __str__(self) -> str:
        return f"{getattr(self.owner, '__name__', self.owner)}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call of a primitive on both databases; ``distance`` is None where it cannot be measured.

    >>> call = RecordedCall(primitive="add", inputs=(1.0, 2.0), distance=1.0, sensitivity=1.0)
    >>> call.distance <= call.sensitivity
    True
    """

    primitive: str
    inputs: tuple[Any, Any]
    distance: float | None
    sensitivity: float | None
    claim: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What one pair of runs showed: the calls, and what is wrong, in words.

    >>> Recording(calls=(), problems=()).problems
    ()
    """

    calls: tuple[RecordedCall, ...]
    problems: tuple[str, ...]
    _draws: tuple[Callable[[Any], Any] | None, ...] = field(default=(), repr=False)

    def audits(
        self, *, runs: int = 5_000, confidence: float = 0.999
    ) -> tuple[SequentialReport, ...]:
        """Audit each primitive on the two inputs it got, where these differ and it has a claim."""
        from quaestor.audit.anytime.sequential_audit import audit_sequentially

        return tuple(
            audit_sequentially(
                draw, neighbours=call.inputs, claim=call.claim, runs=runs, confidence=confidence
            )
            for call, draw in zip(self.calls, self._draws, strict=True)
            if draw is not None
            and call.claim is not None
            and text_of(call.inputs[0]) != text_of(call.inputs[1])
        )


def record_play(
    algorithm: Callable[[Any], Any],
    *,
    neighbours: tuple[Any, Any],
    primitives: Sequence[Primitive],
    seed: int = 0,
) -> Recording:
    """Record ``algorithm`` on the first neighbour, and play it back on the second.

    Randomness that is no primitive's, from ``random`` and ``numpy.random``, is the same in both.

    >>> class Noise:
    ...     sensitivity = 10.0
    ...     def add(self, value):
    ...         return value + np.random.default_rng().laplace(scale=self.sensitivity)
    >>> def mean(rows):
    ...     return Noise().add(sum(rows)) / len(rows)
    >>> primitive = Primitive(owner=Noise, name="add", sensitivity=lambda noise: noise.sensitivity)
    >>> for problem in record_play(
    ...     mean, neighbours=([1, 2, 50], [1, 2]), primitives=[primitive]
    ... ).problems:
    ...     print(problem)
    call 1, Noise.add: inputs differ by 50, and the declared sensitivity is 10
    the result differs although every primitive gave the same: it depends on the data elsewhere
    """
    if not primitives:
        raise InvalidParameter("primitives", 0, "at least one place where noise is drawn")
    tape = _Tape()
    with _instrumented(primitives, tape.record), _same_randomness(seed):
        first = _outcome(algorithm, neighbours[0])
    with _instrumented(primitives, tape.play), _same_randomness(seed):
        second = _outcome(algorithm, neighbours[1])
    if isinstance(first, Raised) and isinstance(second, Raised):
        valid = f"something that runs; both databases end in {first.kind} and {second.kind}"
        raise InvalidParameter("algorithm", text_of(algorithm), valid)
    problems = list(tape.problems)
    if not tape.entries and not problems:
        problems.append("no primitive was called: nothing is known of this algorithm")
    if tape.place < len(tape.entries) and not problems:
        problems.append(
            f"{len(tape.entries)} calls on one database and {tape.place} on the other: "
            "the data decide how often noise is drawn"
        )
    if not problems or all("sensitivity" in each for each in problems):
        apart = distance_of(first, second)
        if apart is None or apart > _SLACK:
            problems.append(
                "the result differs although every primitive gave the same: "
                "it depends on the data elsewhere"
            )
    draws = tuple(entry.draw for entry in tape.compared)
    return Recording(calls=tuple(tape.calls), problems=tuple(problems), _draws=draws)


@dataclass(frozen=True, slots=True)
class _TapedCall:
    """A recorded call."""

    primitive: Primitive
    parameters: str
    given: Any
    output: Any
    sensitivity: float | None
    draw: Callable[[Any], Any] | None
    claim: Any


@dataclass(slots=True)
class _Tape:
    entries: list[_TapedCall] = field(default_factory=list)
    compared: list[_TapedCall] = field(default_factory=list)
    calls: list[RecordedCall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    place: int = 0

    def record(self, primitive: Primitive, holder: Any, value: Any, draw: Any) -> Any:
        output = draw(value)
        value = primitive.value(holder) if primitive.value else value
        self.entries.append(
            _TapedCall(
                primitive,
                _parameters(primitive, holder),
                copy.deepcopy(value),
                copy.deepcopy(output),
                primitive.sensitivity(holder) if primitive.sensitivity else None,
                None if primitive.value else draw,
                primitive.claim(holder) if primitive.claim else None,
            )
        )
        return output

    def play(self, primitive: Primitive, holder: Any, value: Any, draw: Any) -> Any:
        number = self.place + 1
        if self.place >= len(self.entries):
            self._say(f"call {number}, {primitive}: made on the second database only")
            return draw(value)
        entry = self.entries[self.place]
        self.place += 1
        if entry.primitive is not primitive:
            self._say(
                f"call {number} is {entry.primitive} on one database and {primitive} on the "
                "other: the data decide what is drawn"
            )
            return draw(value)
        parameters = _parameters(primitive, holder)
        if parameters != entry.parameters:
            self._say(
                f"call {number}, {primitive}: parameters depend on the data, "
                f"{entry.parameters} and {parameters}"
            )
        self._compare(number, entry, primitive.value(holder) if primitive.value else value)
        return copy.deepcopy(entry.output)

    def _compare(self, number: int, entry: _TapedCall, value: Any) -> None:
        measure = _largest_entry if entry.primitive.by_entry else distance_of
        apart = measure(entry.given, value)
        allowed = entry.sensitivity
        self.compared.append(entry)
        self.calls.append(
            RecordedCall(
                primitive=str(entry.primitive),
                inputs=(entry.given, copy.deepcopy(value)),
                distance=apart,
                sensitivity=allowed,
                claim=entry.claim,
            )
        )
        if apart is None:
            self._say(f"call {number}, {entry.primitive}: inputs of another form")
        elif allowed is not None and apart > allowed * (1 + _SLACK) + _SLACK:
            self._say(
                f"call {number}, {entry.primitive}: inputs differ by {apart:g}, "
                f"and the declared sensitivity is {allowed:g}"
            )

    def _say(self, problem: str) -> None:
        self.problems.append(problem)


def _parameters(primitive: Primitive, holder: Any) -> str:
    return text_of(primitive.parameters(holder)) if primitive.parameters else ""


def _outcome(algorithm: Callable[[Any], Any], database: Any) -> Any:
    try:
        return algorithm(database)
    except Exception as error:  # noqa: BLE001  # what an attacker sees
        return Raised(type(error).__name__)


@contextmanager
def _instrumented(primitives: Sequence[Primitive], meet: Callable[..., Any]) -> Iterator[None]:
    """Each primitive goes through ``meet``; calls that primitives make of each other do not."""
    inside = [False]
    originals = [(each, getattr(each.owner, each.name)) for each in primitives]
    own = [each.name in vars(each.owner) for each in primitives]  # or inherited

    def wrapped(primitive: Primitive, original: Any) -> Any:
        is_method = isinstance(primitive.owner, type)

        def call(*given: Any, **named: Any) -> Any:
            if inside[0]:
                return original(*given, **named)
            inside[0] = True
            try:
                if is_method:
                    holder, rest = given[0], given[2:]
                    if len(given) == 1:
                        return meet(primitive, holder, None, lambda _: original(holder, **named))
                    return meet(
                        primitive, holder, given[1], lambda x: original(holder, x, *rest, **named)
                    )
                value, rest = given[0], given[1:]
                return meet(primitive, (rest, named), value, lambda x: original(x, *rest, **named))
            finally:
                inside[0] = False

        return call

    try:
        for primitive, original in originals:
            setattr(primitive.owner, primitive.name, wrapped(primitive, original))
        yield
    finally:
        for (primitive, original), its_own in zip(originals, own, strict=True):
            if its_own:
                setattr(primitive.owner, primitive.name, original)
            else:
                delattr(primitive.owner, primitive.name)


@contextmanager
def _same_randomness(seed: int) -> Iterator[None]:
    plain, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  # others use it
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numpy_state)  # noqa: NPY002
