"""What the kernel must refuse at its door, before any private row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.kernel.cut_measures import Excess
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
from quaestor.curator.kernel.measures import (
    Chosen,
    Distinct,
    JointTotals,
    Measure,
    Reach,
    RowCount,
    Total,
    Units,
    ValueCounts,
)
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from quaestor.curator.scalars.scalar import SQL, Scalar
from quaestor.curator.scalars.writer import ScalarWriter
from quaestor.errors import EngineFailed, QuaestorError
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    QuantileReach,
    TopK,
)
from tests.curator.kernel.judging import outcome
from tests.curator.kernel.pointed import PEOPLE, VISITS, column, declared, measured, total
from tests.curator.kernel.tables import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["NAMES", "wrongs"]


class _Column(e.Column):
    """A node that says more than it is."""

    __slots__ = ()


class _Scan(q.Scan):
    """A relation that says more than it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Raw(e.Expression):
    sql: str


class _Quiet(Total):
    """A total that needs no noise, or so it says."""

    __slots__ = ()

    @property
    def sensitivity(self) -> int:
        return 1


class _Weak(Geometric):
    """Noise of its own kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Free(NoisyMeasure):
    """A draw that costs nothing."""

    @property
    def count(self) -> int:
        return 0


def _geometric(sensitivity: int, scale: float = 1.0) -> Geometric:
    return Geometric(scale=scale, sensitivity=sensitivity)


def _noisy(measure: Measure, sensitivity: int, **more: Any) -> NoisyMeasure:
    given: dict[str, Any] = {"mechanism": _geometric(sensitivity), "spread": 1, **more}
    return NoisyMeasure(measure=measure, **given)


def _asked(*draws: Any, cells: Cells | None = None, choice: Any = None, **more: Any) -> Measurement:
    given: dict[str, Any] = {"dataset": "d", "rows": PEOPLE, **more}
    cells = cells or Cells(keys=(), groups=1)
    return Measurement(cells=cells, choice=choice, draws=draws, **given)


def _of(expression: Any) -> Measurement:
    """A count of rows where an expression has a value."""
    return measured(PEOPLE, RowCount(rows=1, operand=expression))


def _written(expression: Any) -> Any:
    """An expression as the writer alone would have it: the door is not its only guard."""
    known = {"g": Scalar(sql="c0", kind="integer")}
    return ScalarWriter(known, SQL(DUCKDB)).scalar(expression)


def _three() -> Cells:
    return Cells(keys=(declared("c0", "text", "a", "A", "á"),), groups=2)


_PRIVATE = (CellKey(expression=column("c0"), kind="text", codes=None),)
_HISTOGRAM = ValueCounts(operand=column("g"), low=0, high=9, step=1.0, rows=3)
_JOINT = JointTotals(totals=(total("g", 0, 5), total("n", 0, 5)), bound=5)


def _nodes() -> Iterator[tuple[str, Callable[[], Measurement]]]:
    yield "an unknown node", lambda: _of(_Raw("1 FROM secrets"))
    yield "a sub-class of a node", lambda: _of(_Column("g"))
    yield "a sub-class of a node, behind the door", lambda: _written(_Column("g"))
    yield "a key of a group as a row's value", lambda: _of(e.Keyed(0))
    yield "an aggregate as a row's value", lambda: _of(e.Aggregated(0))
    yield "an unknown function", lambda: _of(e.Call("pg_sleep", (column("g"),)))
    yield "a function in capitals", lambda: _of(e.Call("ABS", (column("g"),)))
    yield "an unknown operator", lambda: _of(e.Arithmetic("//", column("g"), column("g")))  # type: ignore[arg-type]
    yield (
        "an unknown comparison",
        lambda: _of(e.Comparison("= ANY", column("g"), column("g"))),  # type: ignore[arg-type]
    )
    yield "an unknown connective", lambda: _of(e.Logic("xor", (column('quo"te'),)))  # type: ignore[arg-type]
    yield "an unknown column", lambda: _of(column("secret"))
    yield "the hidden unit", lambda: measured(VISITS, RowCount(rows=1, operand=column("u")))
    yield (
        "a filter that is no condition",
        lambda: measured(q.Filtered(PEOPLE, column("g")), Units()),
    )
    yield "a sub-class of a relation", lambda: measured(_Scan("people"), Units())
    yield "an unknown table", lambda: measured(q.Scan("pg_shadow"), Units())
    yield (
        "columns of one name",
        lambda: measured(q.Projected(PEOPLE, (("x", column("g")), ("x", column("n")))), Units()),
    )
    yield "a constant that is no number", lambda: _of(e.Constant(float("nan"), "real"))
    yield "a text that engines read in two ways", lambda: _of(e.Constant("a\0b", "text"))
    yield "half a character", lambda: _of(e.Constant("\ud800", "text"))
    yield "a day that is none", lambda: _of(e.Constant("2023-02-30'", "date"))


def _noise() -> Iterator[tuple[str, Callable[[], Any]]]:
    wide = total("g", -9, 5, rows=2)
    yield "too little noise", lambda: _noisy(RowCount(rows=3), 2)
    yield "too little noise below zero", lambda: _noisy(wide, 17)
    yield "too little noise for a grain", lambda: _noisy(RowCount(rows=10), 3, grain=3)
    yield "a joint bound with too little noise", lambda: _noisy(_JOINT, 4)
    yield "too little noise for grains of joint totals", lambda: _noisy(_JOINT, 1, grain=5)
    yield (
        "a joint bound for other coordinates",
        lambda: _noisy(
            _JOINT, 5, mechanism=DiscreteGaussian(sigma=1.0, sensitivity=5, coordinates=1)
        ),
    )
    yield "one total charged as one of several", lambda: _noisy(Units(), 1, as_one=True)
    gaussian = DiscreteGaussian(sigma=1.0, sensitivity=5, coordinates=2)
    yield (
        "Gaussian noise charged as one total's",
        lambda: _noisy(_JOINT, 5, mechanism=gaussian, as_one=True),
    )
    yield "noise of its own kind", lambda: _noisy(Units(), 1, mechanism=_Weak(scale=1.0))
    yield "no noise", lambda: _noisy(Units(), 1, mechanism=None)
    yield "no spread", lambda: _noisy(Units(), 1, spread=0)
    yield "half a spread", lambda: _noisy(Units(), 1, spread=1.5)
    yield "a grain below one", lambda: _noisy(Units(), 1, grain=-1)
    few = CountedQuantile(probability=0.5, low=0, high=9, epsilon=1.0, rows=2)
    chosen = Chosen(histogram=_HISTOGRAM, probability=0.5)
    narrow = QuantileReach(probability=0.5, low=0, high=9, epsilon=1.0, rows=2)
    yield (
        "a reach of too few rows",
        lambda: NoisyReach(measure=Reach(chosen=chosen), mechanism=narrow, spread=1),
    )
    yield "a reach of a quantile", lambda: NoisyReach(measure=chosen, mechanism=narrow, spread=1)  # type: ignore[arg-type]
    yield (
        "ranks of too few rows",
        lambda: NoisyQuantile(measure=chosen, mechanism=few, spread=1),
    )
    low = TopK(epsilon=1.0, count=1, sensitivity=2.0, monotonic=True)
    yield "a choice by too few rows", lambda: NoisyTop(measure=RowCount(rows=3), mechanism=low)
    one = TopK(epsilon=1.0, count=1, sensitivity=18.0, monotonic=True)
    yield "a choice by what may fall", lambda: NoisyTop(measure=wide, mechanism=one)
    yield "a choice by a vector", lambda: NoisyTop(measure=_JOINT, mechanism=one)
    some = PartitionSelection(scale=1.0, threshold=9, contributions=1)
    yield "groups by their rows", lambda: NoisyUnits(measure=RowCount(rows=1), mechanism=some)  # type: ignore[arg-type]
    yield "groups shown by noise", lambda: ShownGroups(measure=Units(), mechanism=some)  # type: ignore[arg-type]
    rare = OptimalSelection(epsilon=1.0, delta=0.1)
    yield "groups shown by rows", lambda: ShownGroups(measure=RowCount(rows=1), mechanism=rare)  # type: ignore[arg-type]


def _prices() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "too little spread", lambda: _asked(_noisy(Units(), 1), cells=_three())
    cut = Excess(inner=Units(), outer=Units(), low=-1, high=1)
    yield (
        "what is cut, of too little spread",
        lambda: _asked(_noisy(cut, 1), cells=_three(), outer_groups=2),
    )
    many = CountedQuantile(probability=0.5, low=0, high=9, epsilon=1.0, rows=3)
    quantile = NoisyQuantile(
        measure=Chosen(histogram=_HISTOGRAM, probability=0.5), mechanism=many, spread=1
    )
    yield "ranks of too little spread", lambda: _asked(quantile, cells=_three())
    wide = QuantileReach(probability=0.5, low=0, high=9, epsilon=1.0, rows=3)
    reach = NoisyReach(measure=Reach(chosen=quantile.measure), mechanism=wide, spread=1)
    yield "a reach of no quantile", lambda: _asked(reach)
    yield "a reach before its quantile", lambda: _asked(reach, quantile)
    yield "a reach of too little spread", lambda: _asked(quantile, reach, cells=_three())
    private = Cells(keys=_PRIVATE, groups=2)
    some = PartitionSelection(scale=1.0, threshold=9, contributions=1)
    choice = NoisyUnits(measure=Units(), mechanism=some)
    yield "groups of too few contributions", lambda: _asked(cells=private, choice=choice)
    rare = ShownGroups(measure=Units(), mechanism=OptimalSelection(epsilon=1.0, delta=0.1))
    yield "shown groups of too few contributions", lambda: _asked(cells=private, choice=rare)
    yield "a choice of declared groups without counts", lambda: _asked(cells=_three(), choice=rare)
    yield (
        "private groups without a choice",
        lambda: _asked(_noisy(Units(), 1, spread=2), cells=private),
    )
    yield (
        "a choice of declared groups by their units",
        lambda: _asked(cells=_three(), choice=choice),
    )
    yield "nothing drawn", _asked
    yield (
        "a draw that costs nothing",
        lambda: _asked(_Free(measure=Units(), mechanism=_geometric(1), spread=1)),
    )
    yield (
        "a measure of its own kind",
        lambda: _asked(_noisy(_Quiet(operand=column("g"), low=0, high=9, step=1.0, rows=1), 1)),
    )
    yield (
        "a histogram that is added up",
        lambda: _asked(_noisy(Chosen(histogram=_HISTOGRAM, probability=0.5), 3)),
    )
    yield "a total of texts", lambda: measured(PEOPLE, total("c0", 0, 5))
    yield "different reals", lambda: measured(PEOPLE, Distinct(operand=column("g"), rows=1))


def _cells() -> Iterator[tuple[str, Callable[[], Any]]]:
    def keyed(kind: e.Kind, *codes: Any) -> Callable[[], CellKey]:
        return lambda: CellKey(expression=column("c0"), kind=kind, codes=codes)

    yield "no codes", keyed("text")
    yield "a code twice", keyed("text", "a", "a")
    yield "NULL twice", keyed("text", None, "a", None)
    yield "zero twice", keyed("real", 0.0, -0.0)
    yield "a float among whole codes", keyed("integer", 1, 2.0)
    yield "a truth among whole codes", keyed("integer", *(True, 2))
    yield "a whole code among reals", keyed("real", 1, 2.0)
    yield "a number among texts", keyed("text", 1)
    yield "a date as a text", keyed("date", "2024-01-01")
    yield "private reals", lambda: CellKey(expression=column("g"), kind="real", codes=None)
    yield "no groups", lambda: Cells(keys=(), groups=0)
    yield "half a group", lambda: Cells(keys=(), groups=1.5)  # type: ignore[arg-type]
    many = tuple(range(400))
    key = CellKey(expression=column("k0"), kind="integer", codes=many)
    yield "too many cells", lambda: Cells(keys=(key, key), groups=1)
    yield (
        "a code with a zero byte",
        lambda: measured(PEOPLE, Units(), keys=(declared("c0", "text", "a\0"),)),
    )
    yield (
        "a key of another kind",
        lambda: measured(PEOPLE, Units(), keys=(declared("g", "text", "a"),)),
    )


def _bounds() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "bounds that are no whole numbers", lambda: total("g", 0, 1.5)  # type: ignore[arg-type]
    yield "bounds in the wrong order", lambda: total("g", 5, 0)
    yield "bounds that overflow", lambda: total("g", 0, 2**37)
    yield "rows that overflow", lambda: total("g", 0, 2**26, rows=2**25)
    yield "rows of large values that overflow", lambda: total("g", 0, 2**36, rows=2**15)
    yield "no rows", lambda: RowCount(rows=0)
    yield "rows without end", lambda: RowCount(rows=2**60)
    yield "half a row", lambda: RowCount(rows=1.5)  # type: ignore[arg-type]
    yield "steps of nothing", lambda: total("g", 0, 5, step=0.0)
    yield "steps that are no number", lambda: total("g", 0, 5, step=float("nan"))
    yield "no joint bound", lambda: JointTotals(totals=(total("g", 0, 5),), bound=0)
    yield "a vector of nothing", lambda: JointTotals(totals=(), bound=5)
    yield "a vector of others", lambda: JointTotals(totals=(Units(),), bound=5)  # type: ignore[arg-type]


def _rows() -> Iterator[tuple[str, Callable[[], Measurement]]]:
    names = q.Scan("names")
    other = q.Projected(q.Scan("other"), (("w", column("n")),))
    theirs = q.Projected(VISITS, (("w", column("C0")),))
    agree = ((column("c0"), column("w")),)
    yield "public rows", lambda: measured(names, Units())
    yield "public rows of no dataset", lambda: measured(names, Units(), dataset=None)  # type: ignore[arg-type]
    yield "another dataset than is charged", lambda: measured(PEOPLE, Units(), dataset="e")
    yield (
        "two datasets",
        lambda: measured(q.Join(PEOPLE, other, ((column("k0"), column("w")),), "inner"), Units()),
    )
    yield (
        "a union of two datasets",
        lambda: measured(
            q.Union(
                (
                    q.Projected(PEOPLE, (("x", column("k0")),)),
                    q.Projected(other, (("x", column("w")),)),
                )
            ),
            Units(),
        ),
    )
    yield (
        "a union of private and public",
        lambda: measured(
            q.Union(
                tuple(
                    q.Projected(rows, (("x", column(name)),))
                    for rows, name in ((PEOPLE, "c0"), (names, "key"))
                )
            ),
            Units(),
        ),
    )
    yield "a union of nothing", lambda: measured(q.Union(()), Units())
    yield (
        "public left of private",
        lambda: measured(q.Join(names, PEOPLE, ((column("key"), column("c0")),), "left"), Units()),
    )
    yield "a join on nothing", lambda: measured(q.Join(PEOPLE, theirs, (), "inner"), Units())
    yield "a cross join", lambda: measured(q.Join(PEOPLE, theirs, agree, "cross"), Units())  # type: ignore[arg-type]
    yield (
        "figures of public rows",
        lambda: measured(
            q.PerUnit(q.Scan("names"), (("n", q.UnitFigure(function="rows")),)), Units()
        ),
    )
    yield (
        "figures of no kind",
        lambda: measured(
            q.PerUnit(PEOPLE, (("n", q.UnitFigure(function="first")),)),  # type: ignore[arg-type]
            Units(),
        ),
    )
    yield (
        "figures without a limit",
        lambda: measured(
            q.PerUnit(PEOPLE, (("n", q.UnitFigure(function="rows", most=2**60)),)), Units()
        ),
    )
    yield (
        "figures of texts",
        lambda: measured(
            q.PerUnit(
                PEOPLE, (("n", q.UnitFigure(function="total", operand=column("c0"), high=1)),)
            ),
            Units(),
        ),
    )
    yield (
        "a join that makes rows one",
        lambda: measured(q.Join(PEOPLE, theirs, agree, "inner", unique=True), Units()),
    )
    yield (
        "common names",
        lambda: measured(q.Join(PEOPLE, PEOPLE, ((column("u"), column("u")),), "inner"), Units()),
    )
    yield "more rows than one may have", lambda: measured(_many(), Units())


def _many() -> q.Relation:
    """Nine tables of one unit's rows, joined with each other."""
    rows: q.Relation = q.Projected(VISITS, (("w0", column("C0")),))
    for at in range(1, 9):
        more = q.Projected(VISITS, ((f"w{at}", column("C0")),))
        rows = q.Join(rows, more, ((column("w0"), column(f"w{at}")),), "inner")
    return q.Filtered(rows, e.Not(e.IsNull(column("w0"))))


def _all() -> Iterator[tuple[str, Callable[[], Any]]]:
    for part in (_nodes, _noise, _prices, _cells, _bounds, _rows):
        yield from part()


NAMES = tuple(name for name, _ in _all())


class _Watched(Side):
    """A side that notes whether private rows are read."""

    def __init__(self, side: Side) -> None:
        super().__init__(side._connection, side._tables)
        self.read = False

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        self._note(sql)
        return super().rows(sql)

    def columns(self, sql: str) -> Any:
        """The columns of a statement."""
        self._note(sql)
        return super().columns(sql)

    def _note(self, sql: str) -> None:
        private = (table for table in self._tables.values() if table.private)
        self.read |= any(self.base(table).sql in sql for table in private)


def wrongs(side: Side) -> list[str]:
    """What is not refused, or by a failure of the engine only."""
    found = []
    for name, make in _all():
        try:
            made = make()
        except QuaestorError as error:
            found += [f"{name}: the engine failed"] * isinstance(error, EngineFailed)
            continue
        if not isinstance(made, Measurement):
            found.append(f"{name}: was made")
            continue
        watched = _Watched(side)
        became = outcome(made, watched)
        if watched.read:
            found.append(f"{name}: private rows are read before it is refused")
        if became.refusal is None:
            found.append(f"{name}: {became.failure or 'was answered'}")
    return found
