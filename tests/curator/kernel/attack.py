"""An attacker at the kernel's own door: random rows, expressions, cells and noise, never by SQL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.cut_measures import Beyond, Dropped, Excess
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
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
    RowCount,
    Total,
    Units,
    ValueCounts,
)
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    TopK,
)
from tests.curator.kernel.tables import DATES, INTEGERS, REALS, TABLES, TEXTS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["MARK", "NAMES", "Attacker"]

MARK = "evil"
"""Part of names that only an attacker gives: no statement may hold it."""
NAMES = (
    "u", "U", "c0", "C0", "c1", "g", "k0", "K0", "p0", "x", "x0_0", "n", "v", "place", "o0", "m0",
    "", '"', "'", "`", "evil; DROP TABLE people --", 'evil"x', "Evil\u00fc", "l.u", "r.u", "t",
    "patient", "id", "who", "unit of the row", "evil\n", "*", "count(*)", "😀 evil",
)  # fmt: skip
KINDS: tuple[e.Kind, ...] = ("integer", "real", "text", "boolean", "date", "timestamp")
_DAY_ZERO = 719_163
_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
_PATTERNS = ("%", "_", "a%", "%a", "\\", "%\\", "", "😀", "%%_%", "1_%", "'", "A")
_STEPS = (1.0, 1.0, 1.0, 0.5, 0.001, 0.1, 3.0, 1e-100, 1e100, 2.0**-20, 1e15)
_ROWS = (1, 1, 2, 2, 3, 10, 2**20)
_BOUNDS = (-(2**36), -(2**26), -1000, -5, -1, 0, 0, 1, 3, 50, 2**26, 2**36)
_CASTS: dict[e.Kind, tuple[e.Kind, ...]] = {
    "integer": ("real", "text", "boolean"),
    "real": ("integer", "text", "boolean"),
    "text": ("integer", "boolean", "date"),
    "boolean": ("integer", "real", "text"),
    "date": ("text", "date"),
    "timestamp": ("text", "timestamp"),
}
Columns = dict[str, e.Kind]


_FIGURES = ("rows", "values", "different", "total", "mean", "least", "greatest")


def _is_public(rows: q.Relation) -> bool:
    """Whether rows come of the public table, filtered and projected."""
    while isinstance(rows, q.Filtered | q.Projected):
        rows = rows.rows
    return rows == q.Scan("names")


@dataclass(slots=True)
class Attacker:
    """Makes measurements. ``ordinary`` ones keep to what is allowed, so that they are answered."""

    rng: random.Random
    bare: bool = False
    """Whether one table is enough, for engines that take seconds."""

    # Expressions

    def expression(self, kind: e.Kind, columns: Columns, depth: int) -> e.Expression:
        """Some expression of a kind over columns; now and then of another."""
        if self.rng.random() < 0.002:
            kind = self.rng.choice(KINDS)
        fitting = [name for name, of in columns.items() if of == kind]
        if depth <= 0 or self.rng.random() < 0.25:
            if fitting and self.rng.random() < 0.8:
                return e.Column(self.rng.choice(fitting))
            return self.constant(kind)
        if self.rng.random() < 0.15:
            return self._any(kind, columns, depth)
        ways: dict[str, Callable[[Columns, int], e.Expression]] = {
            "integer": self._integer,
            "real": self._real,
            "text": self._text,
            "boolean": self._boolean,
            "date": self._date,
            "timestamp": self._timestamp,
        }
        return ways[kind](columns, depth - 1)

    def constant(self, kind: e.Kind) -> e.Constant:
        """A constant that no attacker would leave out."""
        pick = self.rng.choice
        match kind:
            case "integer":
                return e.Constant(pick((*INTEGERS, 10**30)), kind)
            case "real":
                known = (x for x in REALS if x is None or math.isfinite(x))
                return e.Constant(
                    pick((*(x for x in known if not x or 1e-100 < abs(x) < 1e100), 0.3)), kind
                )
            case "text":
                return e.Constant(pick(TEXTS), kind)
            case "boolean":
                return e.Constant(pick((True, False, None)), kind)
            case "date":
                day = pick(DATES)
                return e.Constant(None if day is None else day.isoformat(), kind)
            case "timestamp":
                day, clock = pick(DATES), pick(("00:00:00", "08:30:00", "23:59:59.999999"))
                return e.Constant(None if day is None else f"{day.isoformat()} {clock}", kind)

    def _any(self, kind: e.Kind, columns: Columns, depth: int) -> e.Expression:
        """What there is of every kind."""

        def make(of: e.Kind = kind) -> e.Expression:
            return self.expression(of, columns, depth - 1)

        match self.rng.randrange(4):
            case 0:
                branches = tuple(
                    (make("boolean"), make()) for _ in range(self.rng.choice((0, 1, 1, 2)))
                )
                return e.Case(branches, make())
            case 1:
                return e.Call("coalesce", (make(), make()))
            case 2:
                return e.Call("nullif", (make(), make()))
            case _:
                return e.Cast(make(self.rng.choice(_CASTS[kind])), kind)

    def _number(self, columns: Columns, depth: int) -> e.Expression:
        return self.expression(self.rng.choice(KINDS[:2]), columns, depth)

    def _real(self, columns: Columns, depth: int) -> e.Expression:
        a, b = self._number(columns, depth), self._number(columns, depth)
        match self.rng.randrange(8):
            case 0 | 1 | 2:
                return e.Arithmetic(self.rng.choice(("+", "-", "*", "*", "/", "%")), a, b)
            case 3:
                return e.Call(self.rng.choice(("sqrt", "ln", "log10", "exp", "abs")), (a,))
            case 4:
                return e.Call("round", (a, e.Constant(self.rng.randint(-15, 15), "integer")))
            case 5:
                low, high = sorted(self.rng.choices((-5.0, 0.0, 1.0, 1e9), k=2))
                return e.Call("clamp", (a, e.Constant(low, "real"), e.Constant(high, "real")))
            case 6:
                return e.Call(self.rng.choice(("least", "greatest", "coalesce")), (a, b))
            case _:
                return e.Cast(self.expression("text", columns, depth), "real")

    def _integer(self, columns: Columns, depth: int) -> e.Expression:  # noqa: PLR0911
        def make(kind: e.Kind) -> e.Expression:
            return self.expression(kind, columns, depth)

        match self.rng.randrange(8):
            case 7:
                name = self.rng.choice(("hour", "minute", "second"))
                return e.Call(name, (make("timestamp"),))
            case 0 | 1:
                operator: Any = self.rng.choice(("+", "-", "*", "%"))
                return e.Arithmetic(operator, make("integer"), make("integer"))
            case 2:
                name = self.rng.choice(("floor", "ceil", "sign", "round", "abs"))
                return e.Call(name, (self._number(columns, depth),))
            case 3:
                return e.Call("length", (make("text"),))
            case 4:
                parts = ("year", "quarter", "month", "day", "dow", "week", "doy", "days_between")
                name = self.rng.choice(parts)
                both = (make("date"), make("date"))
                return e.Call(name, both if name == "days_between" else both[:1])
            case 5:
                return e.Cast(make(self.rng.choice(_CASTS["integer"])), "integer")
            case _:
                return e.Call("clamp", (make("integer"), make("integer"), make("integer")))

    def _text(self, columns: Columns, depth: int) -> e.Expression:
        def make(kind: e.Kind) -> e.Expression:
            return self.expression(kind, columns, depth)

        match self.rng.randrange(3):
            case 0:
                name = self.rng.choice(("upper", "lower", "trim", "ltrim", "rtrim", "concat"))
                both = (make("text"), make("text"))
                return e.Call(name, both if name == "concat" else both[:1])
            case 1:
                places = (
                    self.rng.choice((-3, 0, 1, 2, 10**12)),
                    self.rng.choice((-1, 0, 1, 2**40)),
                )
                given = tuple(e.Constant(place, "integer") for place in places)
                return e.Call("substring", (make("text"), *given[: self.rng.choice((1, 2))]))
            case _:
                return e.Cast(make(self.rng.choice(_CASTS["text"])), "text")

    def _boolean(self, columns: Columns, depth: int) -> e.Expression:
        def make(kind: e.Kind) -> e.Expression:
            return self.expression(kind, columns, depth)

        match self.rng.randrange(8):
            case 0 | 1 | 2:
                kind = self.rng.choice(KINDS)
                operator: Any = self.rng.choice(_OPERATORS)
                return e.Comparison(operator, make(kind), make(kind))
            case 3:
                logic: Any = self.rng.choice(("and", "or"))
                parts = tuple(make("boolean") for _ in range(self.rng.randint(0, 3)))
                return e.Logic(logic, parts)
            case 4:
                return e.Not(make("boolean"))
            case 5:
                return e.IsNull(make(self.rng.choice(KINDS)))
            case 6:
                kind = self.rng.choice(KINDS)
                known = tuple(self.constant(kind) for _ in range(self.rng.randint(0, 4)))
                return e.Member(make(kind), known)
            case _:
                return e.Like(make("text"), self.rng.choice(_PATTERNS))

    def _date(self, columns: Columns, depth: int) -> e.Expression:
        def make(kind: e.Kind) -> e.Expression:
            return self.expression(kind, columns, depth)

        match self.rng.randrange(5):
            case 4:
                return e.Call("date_of", (make("timestamp"),))
            case 0:
                unit = self.rng.choice(("week", "month", "quarter", "year"))
                return e.Call(f"first_of_{unit}", (make("date"),))
            case 2:
                name = self.rng.choice(("add_days", "add_months"))
                return e.Call(name, (make("date"), make(self.rng.choice(("integer", "real")))))
            case 1:
                name = self.rng.choice(("least", "greatest"))
                return e.Call(name, (make("date"), make("date")))
            case _:
                return e.Cast(make("text"), "date")

    def _timestamp(self, columns: Columns, depth: int) -> e.Expression:
        def make(kind: e.Kind) -> e.Expression:
            return self.expression(kind, columns, depth)

        match self.rng.randrange(4):
            case 0:
                unit = self.rng.choice(("hour", "minute"))
                return e.Call(f"first_of_{unit}", (make("timestamp"),))
            case 1:
                name = self.rng.choice(("least", "greatest"))
                return e.Call(name, (make("timestamp"), make("timestamp")))
            case 2:
                return e.Cast(make("text"), "timestamp")
            case _:
                return e.Call("time_of", (make("date"),))

    # Rows

    def rows(self, depth: int = 3) -> tuple[q.Relation, Columns]:
        """Private rows, of the dataset that is charged but for a few."""
        draw = 0.0 if self.bare or depth <= 0 else self.rng.random()
        if draw < 0.35:
            names = ("people",) * 4 + ("visits",) * 3 + ("stays", "wide")
            name = "other" if self.rng.random() < 0.01 else self.rng.choice(names)
            return q.Scan(name), {c.name: c.kind for c in TABLES[name].columns}
        if draw < 0.55:
            below, columns = self.rows(depth - 1)
            return q.Filtered(below, self.expression("boolean", columns, 2)), columns
        if draw < 0.7:
            return self._projected(*self.rows(depth - 1))
        if draw < 0.8:
            return self._union(depth)
        if draw < 0.85:
            return self._of_units(*self.rows(depth - 1))
        return self._join(depth)

    def _projected(
        self, below: q.Relation, columns: Columns, kinds: tuple[e.Kind, ...] = (), avoid: Any = ()
    ) -> tuple[q.Relation, Columns]:
        kinds = kinds or tuple(self.rng.choice(KINDS) for _ in range(self.rng.randint(1, 4)))
        names = self.rng.sample([name for name in NAMES if name not in avoid], len(kinds))
        made = tuple(
            (name, self.expression(kind, columns, self.rng.choice((0, 0, 1, 2))))
            for name, kind in zip(names, kinds, strict=True)
        )
        if self.rng.random() < 0.02:
            made = (*made, made[0])
        return q.Projected(below, made), dict(zip(names, kinds, strict=True))

    def _of_units(self, below: q.Relation, columns: Columns) -> tuple[q.Relation, Columns]:
        """One row a unit, with figures of every kind."""
        kinds: Columns = {}
        figures = []
        for place in range(self.rng.randint(1, 4)):
            function: Any = self.rng.choice(_FIGURES)
            kind = self.rng.choice(tuple(columns.values()))
            if function in {"total", "mean"}:
                kind = self.rng.choice(("integer", "real"))
            low, high = sorted(self.rng.choice((-(2**26), -5, 0, 3, 2**26)) for _ in range(2))
            figure = q.UnitFigure(
                function=function,
                operand=None if function == "rows" else self.expression(kind, columns, 2),
                most=self.rng.choice((1, 3, 2**20)),
                low=low,
                high=high,
                step=self.rng.choice((1.0, 0.25, 0.1, 1e-100, 1e100)),
            )
            counted = {"rows", "values", "different"}
            figures.append((f"figure {place}", figure))
            kinds[f"figure {place}"] = (
                "integer" if function in counted else "real" if function == "mean" else kind
            )
            if function == "total" and not float(figure.step).is_integer():
                kinds[f"figure {place}"] = "real"
        return q.PerUnit(below, tuple(figures)), kinds

    def _union(self, depth: int) -> tuple[q.Relation, Columns]:
        first, columns = self._projected(*self.rows(depth - 2))
        parts = [first]
        for _ in range(self.rng.randint(1, 2)):
            below, theirs = self.rows(depth - 2)
            made = tuple((n, self.expression(k, theirs, 1)) for n, k in columns.items())
            parts.append(q.Projected(below, made))
        return q.Union(tuple(parts)), columns

    def _join(self, depth: int) -> tuple[q.Relation, Columns]:
        left, mine = self.rows(depth - 2)
        if self.rng.random() < 0.4:
            right: q.Relation = q.Scan("names")
            theirs: Columns = {"key": "text", "level": "integer"}
        else:
            right, theirs = self.rows(depth - 2)
        kinds = tuple(theirs[name] for name in self.rng.sample(list(theirs), min(3, len(theirs))))
        right, theirs = self._projected(right, theirs, kinds, avoid=mine)
        if self.rng.random() < 0.02:
            left, mine, right, theirs = right, theirs, left, mine
        pairs = [(a, b) for a, x in mine.items() for b, y in theirs.items() if x == y]
        pairs = pairs or [(next(iter(mine)), next(iter(theirs)))]
        on: Any = tuple(
            (e.Column(a), e.Column(b)) for a, b in self.rng.sample(pairs, 1 + (len(pairs) > 1))
        )
        if self.rng.random() < 0.03:
            on = ((self.expression("text", mine, 1), self.expression("text", theirs, 1)),)
        how: Any = self.rng.choice(("inner",) * 20 + ("left",) * 20 + ("cross",))
        unique = self.rng.random() < (0.5 if _is_public(right) else 0.02)
        return q.Join(left, right, on, how, unique=unique), {**mine, **theirs}

    # Cells

    def _codes(self, kind: e.Kind) -> tuple[Any, ...]:
        pools: dict[str, tuple[Any, ...]] = {
            "integer": (*INTEGERS, 2**64 + 1),
            "real": (*(x for x in REALS if x != 0.0), -0.0, 9.5),
            "text": tuple(t for t in TEXTS if t is None or len(t) < 50),
            "boolean": (0, 1, None, 2),
            "date": tuple(d and d.toordinal() - _DAY_ZERO for d in DATES),
            "timestamp": tuple(d and (d.toordinal() - _DAY_ZERO) * 86_400_000_000 for d in DATES),
        }
        chosen = self.rng.sample(pools[kind], min(len(pools[kind]), self.rng.randint(1, 8)))
        wrong = {0: (True,), 1: (1.0,), 2: (chosen[0],), 3: ("1",)}
        return (*chosen, *wrong.get(self.rng.randrange(200), ()))

    def _key(self, columns: Columns) -> CellKey:
        kind = self.rng.choice((*columns.values(), *KINDS))
        deep = self.rng.choice((0, 0, 0, 1, 2))
        expression = self.expression(kind, columns, deep)
        codes = None if kind != "real" and self.rng.random() < 0.3 else self._codes(kind)
        return CellKey(expression=expression, kind=kind, codes=codes)

    # Measures and noise

    def _total(self, columns: Columns) -> Total:
        low, high, step, rows = self._stepped()
        operand = self.expression(self.rng.choice(KINDS[:2]), columns, self._deep())
        return Total(operand=operand, low=low, high=high, step=step, rows=rows)

    def _deep(self) -> int:
        return self.rng.choice((0, 0, 0, 1, 1, 2, 3))

    def _stepped(self) -> tuple[int, int, float, int]:
        low, high = sorted(self.rng.choices(_BOUNDS, k=2))
        rows = min(self.rng.choice(_ROWS), 2**50 // max(abs(low), abs(high), 1))
        return low, high, self.rng.choice(_STEPS), rows

    def measure(self, columns: Columns, *, scalar: bool = False) -> Measure:
        """Some measure over columns; one number a cell, if it is to be ``scalar``."""
        match self.rng.randrange(5 if scalar else 9):
            case 0:
                return Units()
            case 1:
                kind = self.rng.choice(KINDS)
                operand = self.expression(kind, columns, 1) if self.rng.random() < 0.6 else None
                return RowCount(rows=self.rng.choice(_ROWS), operand=operand)
            case 2 | 3 | 4:
                return self._total(columns)
            case 5:
                totals = tuple(self._total(columns) for _ in range(self.rng.randint(1, 4)))
                return JointTotals(totals=totals, bound=self.rng.choice((1, 2, 5, 100, 2**16)))
            case 6:
                kind = self.rng.choice(("integer", "text", "boolean", "date"))
                operand = self.expression(kind, columns, 1)
                return Distinct(operand=operand, rows=self.rng.choice(_ROWS))
            case _:
                low, high, step, rows = self._stepped()
                operand = self.expression("real", columns, self._deep())
                histogram = ValueCounts(operand=operand, low=low, high=high, step=step, rows=rows)
                return Chosen(histogram=histogram, probability=0.5)

    def cut(self, columns: Columns) -> Measure:
        """Some measure of what limits cut, of two measures that need not fit each other."""
        low, high = sorted(self.rng.choices((-(2**40), -9, -1, 0, 0, 1, 3, 27, 2**40), k=2))
        times = self.rng.choice((1, 1, 1, 2, 1024))
        inner, outer = (self.measure(columns, scalar=True) for _ in range(2))
        match self.rng.randrange(4):
            case 0 | 1:
                ends: Any = {"inner": inner, "outer": outer}
                return Excess(**ends, low=min(low, 0), high=max(high, 0), times=times)
            case 2:
                return Dropped(outer=outer, most=max(high, 0), times=times)  # type: ignore[arg-type]
            case _:
                totals = tuple(self._total(columns) for _ in range(self.rng.randrange(3)))
                most = tuple(self.rng.choice((0, 5, 2**40)) for _ in totals)
                return Beyond(rows=self.rng.choice(_ROWS), totals=totals, most=most)

    def _near(self, needed: int) -> int:
        """What is needed, or a little too much, or too little."""
        return max(1, needed + self.rng.choice((0,) * 30 + (1, -1)))

    def noisy(self, measure: Measure, spread: int) -> NoisyMeasure | NoisyQuantile:
        """A draw of a measure, with enough noise but for a few."""
        if isinstance(measure, Chosen):
            held = measure.histogram
            mechanism = CountedQuantile(
                probability=0.5, low=held.low, high=held.high, epsilon=1.0,
                rows=self._near(measure.sensitivity),
            )  # fmt: skip
            return NoisyQuantile(measure=measure, mechanism=mechanism, spread=self._near(spread))
        grain = max(1, -(-measure.sensitivity // 2**16))
        parts = len(measure.totals) if isinstance(measure, JointTotals) else 1
        if self.rng.random() < 0.1:
            grain *= self.rng.randint(1, 5)
        moved = self._near((measure.sensitivity + parts * (grain - 1)) // grain)
        noise: Geometric | DiscreteGaussian = Geometric(scale=1.0, sensitivity=moved)
        if self.rng.random() < 0.3:
            coordinates = self._near(parts)
            noise = DiscreteGaussian(sigma=1.0, sensitivity=moved, coordinates=coordinates)
        return NoisyMeasure(
            measure=measure, mechanism=noise, spread=self._near(spread), grain=grain
        )

    def _choice(
        self, cells: Cells, spread: int, columns: Columns
    ) -> NoisyUnits | ShownGroups | NoisyTop | None:
        if (cells.count is None) != (self.rng.random() < 0.005):
            if self.rng.random() < 0.5:
                some = OptimalSelection(epsilon=1.0, delta=0.1, contributions=self._near(spread))
                return ShownGroups(measure=Units(), mechanism=some)
            chosen = PartitionSelection(scale=1.0, threshold=9, contributions=self._near(spread))
            return NoisyUnits(measure=Units(), mechanism=chosen)
        if self.rng.random() < 0.8:
            return None
        measure = self.measure(columns, scalar=True)
        grows = measure.grows if self.rng.random() < 0.95 else True
        top = TopK(
            epsilon=1.0,
            count=self.rng.randint(1, max(1, cells.count or 1)),
            sensitivity=float(max(1, self._near(measure.sensitivity))),
            monotonic=grows,
        )
        return NoisyTop(measure=measure, mechanism=top)

    def measurement(self) -> Measurement:
        """A measurement; making it may be refused already."""
        rows, columns = self.rows(self.rng.choice((0, 1, 1, 2, 3)))
        keys = tuple(self._key(columns) for _ in range(self.rng.choice((0, 1, 1, 1, 2))))
        cells = Cells(keys=keys, groups=self.rng.choice((1, 1, 2, 3, 100)))
        spread = min(cells.groups, cells.count or cells.groups)
        choice = self._choice(cells, spread, columns)
        draws = tuple(
            self.noisy(self.measure(columns), spread) for _ in range(self.rng.choice((1, 2, 3, 5)))
        )
        if self.rng.random() < 0.6:
            return Measurement(dataset="d", rows=rows, cells=cells, choice=choice, draws=draws)
        cuts = tuple(self.cut(columns) for _ in range(self.rng.choice((1, 2))))
        draws += tuple(self.noisy(cut, spread if cut.by_cell else 1) for cut in cuts)
        outer = self.rng.choice((1, 2, 5, 1000, None))
        return Measurement(
            dataset="d", rows=rows, cells=cells, choice=choice, draws=draws, outer_groups=outer
        )
