"""Neighbouring tables: what one unit may change of a measurement, and whether it changed more."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.figures import prepare
from quaestor.curator.language.expressions import Column
from quaestor.curator.language.query import Scan
from quaestor.errors import QuaestorError
from tests.curator.door import Drawn, Seen, figures_of
from tests.curator.hostile.verdict import Violation, violations
from tests.curator.kernel.attack import MARK, Attacker
from tests.curator.kernel.kept_rows import differences
from tests.curator.kernel.tables import among

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from quaestor.curator.kernel.figures import Exact
    from quaestor.curator.kernel.measurement import Measurement
    from tests.curator.kernel.tables import Side

__all__ = ["Found", "Tally", "attacked", "judged", "mentioned", "neighbours", "outcome", "written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of a measurement on one side: exact figures, a refusal, or a failure."""

    exact: Exact | None = None
    refusal: tuple[str, str] | None = None
    failure: str | None = None
    statements: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """Of groups that the engine keeps: how they differ from those that come."""


@dataclass(slots=True)
class Tally:
    """How many cases came to what, and everything that is wrong."""

    cases: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def mentioned(measurement: Measurement) -> frozenset[str]:
    """The columns that are mentioned anywhere; found without any code from outside the kernel."""
    return frozenset(node.name for node in _nodes(measurement) if type(node) is Column)


def _nodes(part: Any) -> Iterator[Any]:
    if is_dataclass(part):
        yield part
        for each in fields(part):
            yield from _nodes(getattr(part, each.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from _nodes(one)


def outcome(measurement: Measurement, side: Side) -> Found:
    """Run a measurement without noise, and keep whatever happens."""
    try:
        prepared = prepare(
            measurement,
            table=side.table,
            wanted=mentioned(measurement),
            database=side,
        )
    except QuaestorError as error:
        return Found(refusal=(type(error).__name__, str(error)))
    except Exception as error:  # noqa: BLE001 (an engine that fails while statements are written)
        return Found(failure=f"{type(error).__name__}: {error}"[:400])
    statements = tuple(each.sql for each in prepared.statements)
    try:
        exact = prepared.exact()
        wrong = tuple(differences(prepared, exact))
        return Found(exact=exact, statements=statements, wrong=wrong)
    except Exception as error:  # noqa: BLE001 (whatever it is)
        return Found(failure=f"{type(error).__name__}: {error}"[:400], statements=statements)


def written(measurement: Measurement, side: Side) -> tuple[str, ...]:
    """The statements of a measurement; none if it is refused."""
    names = mentioned(measurement)
    try:
        made = prepare(measurement, table=side.table, wanted=names, database=side)
    except QuaestorError:
        return ()
    return tuple(each.sql for each in made.statements)


def neighbours(
    measurement: Measurement, sides: Mapping[str, Side], other: str
) -> tuple[str, list[str]]:
    """What became of a measurement on the whole and on another side, and what is wrong with it."""
    whole = outcome(measurement, sides["whole"])
    less = outcome(measurement, sides[other])
    if any(MARK in sql.lower() for sql in whole.statements):
        return "wrong", ["a name of the attacker's is in a statement"]
    if whole.refusal is not None or less.refusal is not None:
        same = whole.refusal == less.refusal
        return "refused", [] if same else [f"refused {whole.refusal} and {less.refusal}"]
    if whole.failure is not None or less.failure is not None:
        # A statement that no engine takes is one thing, rows that make it fail are another.
        nobody = outcome(measurement, sides["nobody"])
        if nobody.failure is None or (whole.failure is None) != (less.failure is None):
            return "failed", [f"fails because of data: {whole.failure} and {less.failure}"]
        return "failed", []
    assert whole.exact is not None
    assert less.exact is not None
    found = judged(measurement, whole.exact, less.exact, same=other == "orphans")
    found += [*whole.wrong, *less.wrong]
    changed = whole.exact.units != less.exact.units or whole.exact.values != less.exact.values
    return "moved" if changed else "equal", found


def judged(measurement: Measurement, whole: Exact, less: Exact, *, same: bool = False) -> list[str]:
    """What is wrong with the exact figures of neighbouring tables."""
    one, other = _seen(measurement, whole), _seen(measurement, less)
    found = violations(one, other)
    if same:
        changed = (whole.groups, whole.units, whole.values) != (
            less.groups, less.units, less.values
        )  # fmt: skip
        found += [Violation(kind="orphans", words="rows about nobody count")] * changed
    words = [f"{each.kind}: {each.words}" for each in found]
    choice = measurement.choice
    if isinstance(choice, NoisyTop) and choice.mechanism.monotonic and not same:
        pairs = zip(whole.values[choice.measure], less.values[choice.measure], strict=True)
        words += ["a score falls when a unit comes"] * any(a < b for a, b in pairs)
    return words


def _seen(measurement: Measurement, exact: Exact) -> Seen:
    """The figures with what the noise of each is priced for, and the units of every cell."""
    cells = measurement.cells
    labels = (
        [(at,) for at in range(cells.count or 0)] if exact.groups is None else list(exact.groups)
    )
    most = min(cells.groups, cells.count or cells.groups)
    drawn = [
        Drawn(kind="measure", labels=labels, values=exact.units, bound=1, cells=most),
        *(
            _priced(draw, made, most, top=isinstance(measurement.choice, NoisyTop))
            for draw, made in zip(
                measurement.all_draws, figures_of(measurement, exact, labels), strict=True
            )
        ),
    ]
    return Seen(failed=False, drawn=tuple(drawn))


def _priced(draw: object, made: Drawn, most: int, *, top: bool) -> Drawn:
    """As the draw itself is priced; before the largest cells are chosen a unit may be in more."""
    match draw:
        case NoisyUnits() | ShownGroups():
            cells = draw.mechanism.contributions
        case NoisyTop():
            cells = most
        case NoisyMeasure() | NoisyQuantile() | NoisyReach():
            cells = most if top else draw.spread
        case _:
            raise AssertionError(draw)
    return replace(made, cells=cells)


def attacked(sides: Mapping[str, Side], seeds: Iterable[int], *, bare: bool = False) -> Tally:
    """Every seed is one case: a measurement, and a unit that is there or not."""
    tally = Tally()
    for seed in seeds:
        attacker = Attacker(random.Random(seed), bare=bare)
        try:
            measurement = attacker.measurement()
        except QuaestorError:
            tally.cases["not made"] += 1
            continue
        tables = {node.table for node in _nodes(measurement.rows) if type(node) is Scan}
        places = [f"less{at}" for at in among(tables)]
        other = attacker.rng.choice([*places, "orphans"])
        status, wrong = neighbours(measurement, sides, other)
        tally.cases[status] += 1
        tally.cases["figures"] += len(measurement.all_draws) if status in {"moved", "equal"} else 0
        tally.wrong += [f"seed {seed}: {words}" for words in wrong]
    return tally
