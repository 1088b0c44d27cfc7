"""Measures computed slowly and obviously, row by row in Python, from what the docstrings say."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel import measures as m
from quaestor.curator.language import expressions as e
from quaestor.curator.language import query as q

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.catalog.model import Catalog, ColumnFacts

__all__ = ["evaluate", "measured"]

Cell = tuple[str, Any]  # a kind, and a value of it or None
Row = dict[str, Cell]

_NUMBERS = {"integer", "real"}
_TOP = 2.0**53


# Reading


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _as_real(raw: Any) -> float | None:
    if raw is None:
        return None
    if isinstance(raw, str):
        return _number_in(raw)
    value = float(raw)
    return None if math.isnan(value) else value


def _number_in(text: str) -> float | None:
    pattern = r" *[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?([0-6]?\d))? *"
    return float(text) if re.fullmatch(pattern, text, re.ASCII) else None


def _date_in(text: str) -> dt.date | None:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _boolean_in(text: str) -> bool | None:
    return {"true": True, "True": True, "TRUE": True}.get(
        text, {"false": False, "False": False, "FALSE": False}.get(text)
    )


def _read(raw: Any, facts: ColumnFacts, *, unit: bool) -> Cell:  # noqa: PLR0911 (one a rule)
    if unit:
        if raw is not None and facts.kind == "integer":
            raw = int(raw)
        return facts.kind, raw
    if facts.kind in _NUMBERS:
        low = -_TOP if facts.low is None else facts.low
        high = _TOP if facts.high is None else facts.high
        value = _as_real(raw)
        if value is None:
            return facts.kind, None
        value = _clip(value, low, high)
        if facts.kind == "integer":
            return "integer", float(math.floor(value + 0.5))
        if facts.granularity is None:
            return "real", 0.0 if abs(value) < 2.0**-40 else value
        steps = math.floor(value / facts.granularity + 0.5)
        return "real", _clip(steps * facts.granularity, low, high)
    if isinstance(raw, str) and facts.kind == "date":
        return "date", _date_in(raw)
    if isinstance(raw, str) and facts.kind == "boolean":
        return "boolean", _boolean_in(raw)
    return facts.kind, raw


# Expressions


def evaluate(expression: e.Expression, row: Row) -> Cell:
    """The kind and the value of an expression in a row."""
    return _RULES[type(expression)](expression, row)


def _operand(expression: e.Expression, row: Row) -> Cell:
    """Numbers are floats as soon as something is done with them; units alone can be larger."""
    kind, value = evaluate(expression, row)
    return kind, float(value) if isinstance(value, int) and kind == "integer" else value


def _constant(x: e.Constant, _row: Row) -> Cell:
    if x.value is None:
        return x.kind, None
    if x.kind in _NUMBERS:
        return x.kind, float(x.value)
    return x.kind, dt.date.fromisoformat(str(x.value)) if x.kind == "date" else x.value


def _arithmetic(x: e.Arithmetic, row: Row) -> Cell:
    (left_kind, a), (right_kind, b) = _operand(x.left, row), _operand(x.right, row)
    kind = "integer" if left_kind == right_kind == "integer" and x.operator != "/" else "real"
    if a is None or b is None:
        return kind, None
    a, b = (0.0 if abs(v) < 2.0**-400 else _clip(v, -(2.0**400), 2.0**400) for v in (a, b))
    if x.operator == "+":
        return kind, a + b
    if x.operator == "-":
        return kind, a - b
    if x.operator == "*":
        return kind, a * b
    if x.operator == "/":
        return kind, None if abs(b) < 2.0**-40 else a / b
    return kind, _rest(a, b, whole=kind == "integer")


def _rest(a: float, b: float, *, whole: bool) -> float | None:
    scale = 1.0 if whole else 2.0**20
    x, y = (math.floor(_clip(v, -_TOP / scale, _TOP / scale) * scale + 0.5) for v in (a, b))
    if y == 0:
        return None
    return math.copysign(abs(x) % abs(y), x) / scale


def _sides(x: Any, row: Row) -> tuple[Any, Any]:
    return _operand(x.left, row)[1], _operand(x.right, row)[1]


def _comparison(x: e.Comparison, row: Row) -> Cell:
    a, b = _sides(x, row)
    if a is None or b is None:
        return "boolean", None
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    compared: dict[str, Callable[[], bool]] = {
        "=": lambda: a == b,
        "<>": lambda: a != b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: a > b,
        ">=": lambda: a >= b,
    }
    return "boolean", compared[x.operator]()


def _logic(x: e.Logic, row: Row) -> Cell:
    values = [evaluate(operand, row)[1] for operand in x.operands]
    decides = x.operator == "or"
    if decides in values:
        return "boolean", decides
    return "boolean", None if None in values else not decides


def _not(x: e.Not, row: Row) -> Cell:
    value = evaluate(x.operand, row)[1]
    return "boolean", None if value is None else not value


def _is_null(x: e.IsNull, row: Row) -> Cell:
    return "boolean", evaluate(x.operand, row)[1] is None


def _member(x: e.Member, row: Row) -> Cell:
    value = _operand(x.operand, row)[1]
    values = [_constant(c, row)[1] for c in x.values]
    if not values:
        return "boolean", False
    if value is None:
        return "boolean", None
    if value in [v for v in values if v is not None]:
        return "boolean", True
    return "boolean", None if None in values else False


def _like(x: e.Like, row: Row) -> Cell:
    value = evaluate(x.operand, row)[1]
    if value is None:
        return "boolean", None
    parts = {"%": ".*", "_": "."}
    pattern = "".join(parts.get(c, re.escape(c)) for c in x.pattern)
    return "boolean", re.fullmatch(pattern, value, re.DOTALL) is not None


def _case(x: e.Case, row: Row) -> Cell:
    branches = [(evaluate(test, row)[1], evaluate(result, row)) for test, result in x.branches]
    otherwise = evaluate(x.otherwise, row)
    kinds = {kind for _, (kind, _) in branches} | {otherwise[0]}
    kind = kinds.pop() if len(kinds) == 1 else "real"
    for test, (_, value) in branches:
        if test:
            return kind, value
    return kind, otherwise[1]


def _cast(x: e.Cast, row: Row) -> Cell:  # noqa: PLR0911 (one a rule)
    kind, value = evaluate(x.operand, row)
    if value is None or kind == x.kind:
        return x.kind, value
    if kind == "text":
        readers: dict[str, Callable[[str], Any]] = {
            "date": _date_in,
            "boolean": _boolean_in,
            "real": _number_in,
        }
        if x.kind == "integer":
            number = _number_in(value)
            return "integer", None if number is None else _rounded(number)
        return x.kind, readers[x.kind](value)
    if x.kind == "text":
        if kind == "boolean":
            return "text", "true" if value else "false"
        return "text", str(int(value)) if kind == "integer" else value.isoformat()
    if x.kind == "boolean":
        return "boolean", value != 0
    if (kind, x.kind) == ("real", "integer"):
        return "integer", float(math.floor(_clip(value, -_TOP, _TOP) + 0.5))
    return x.kind, float(value)


def _call(x: e.Call, row: Row) -> Cell:
    cells = [evaluate(argument, row) for argument in x.arguments]
    kinds, values = [kind for kind, _ in cells], [value for _, value in cells]
    known = [value for value in values if value is not None]
    joint = kinds[0] if len(set(kinds)) == 1 else "real"
    if x.function == "coalesce":
        return joint, known[0] if known else None
    if x.function in {"least", "greatest"}:
        choose = min if x.function == "least" else max
        return joint, choose(known) if known else None
    if x.function == "nullif":
        return kinds[0], None if values[0] == values[1] else values[0]
    kind = _KINDS.get(x.function, kinds[0])
    if x.function == "round" and len(values) == 2:
        kind = "real" if values[1] >= 0 else kinds[0]
    if x.function == "clamp" and len(set(kinds)) > 1 and x.arguments[1:] != _constants(x):
        kind = "real"
    return kind, None if len(known) < len(values) else _FUNCTIONS[x.function](*values)


def _constants(x: e.Call) -> tuple[e.Expression, ...]:
    return tuple(one for one in x.arguments[1:] if isinstance(one, e.Constant))


def _rounded(x: float, digits: float = 0.0) -> float:
    scale = math.pow(10.0, abs(digits))
    if digits >= 0:
        return math.floor(_clip(x, -_TOP / scale, _TOP / scale) * scale + 0.5) / scale
    return math.floor(_clip(x, -_TOP, _TOP) / scale + 0.5) * scale


def _logarithm(x: float, base: float) -> float | None:
    if x <= 0:
        return None
    return math.floor(math.log(x) * (2.0**20 / math.log(base)) + 0.5) * 2.0**-20


def _exp(x: float) -> float:
    """Rounded to 28 significant bits."""
    mantissa, exponent = math.frexp(math.exp(_clip(x, -64.0, 64.0)))
    return math.ldexp(round(mantissa * 2**28), exponent - 28)


def _substring(text: str, start: float, length: float = math.inf) -> str:
    last = start + length - 1
    return "".join(c for place, c in enumerate(text, start=1) if start <= place <= last)


def _letters(text: str, *, upper: bool) -> str:
    return "".join((c.upper() if upper else c.lower()) if c.isascii() else c for c in text)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "floor": lambda x: float(math.floor(_clip(x, -_TOP, _TOP))),
    "ceil": lambda x: float(math.ceil(_clip(x, -_TOP, _TOP))),
    "round": _rounded,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "ln": lambda x: _logarithm(x, math.e),
    "log10": lambda x: _logarithm(x, 10.0),
    "exp": _exp,
    "clamp": lambda x, low, high: low if x < low else min(x, high),
    "upper": lambda x: _letters(x, upper=True),
    "lower": lambda x: _letters(x, upper=False),
    "length": lambda x: float(len(x)),
    "substring": _substring,
    "year": lambda x: float(x.year),
    "quarter": lambda x: float((x.month + 2) // 3),
    "month": lambda x: float(x.month),
    "day": lambda x: float(x.day),
    "dow": lambda x: float(x.isoweekday() % 7),
    "first_of_month": lambda x: x.replace(day=1),
    "first_of_year": lambda x: x.replace(month=1, day=1),
}


def _days_later(day: dt.date, count: float) -> dt.date | None:
    try:
        return day + dt.timedelta(days=int(count))
    except OverflowError:
        return None


def _months_later(day: dt.date, count: float) -> dt.date | None:
    """Month by month, and then back to the last day that there is."""
    years, month = divmod(day.month - 1 + int(count), 12)
    for last in range(day.day, 27, -1) if day.day > 27 else (day.day,):
        try:
            return dt.date(day.year + years, month + 1, last)
        except ValueError:
            continue
    return None


_FUNCTIONS |= {
    "trim": lambda s: re.sub("^ *(.*?) *$", r"\1", s, flags=re.DOTALL),
    "ltrim": lambda s: re.sub("^ *", "", s),
    "rtrim": lambda s: re.sub(r" *\Z", "", s),
    "concat": lambda a, b: a[:10_000] + b[:10_000],
    "week": lambda d: float(d.strftime("%V")),
    "doy": lambda d: float((d - d.replace(month=1, day=1)).days + 1),
    "days_between": lambda a, b: float(b.toordinal() - a.toordinal()),
    "add_days": _days_later,
    "add_months": _months_later,
    "first_of_week": lambda d: dt.date.fromordinal(d.toordinal() - (d.toordinal() - 1) % 7),
    "first_of_quarter": lambda d: d.replace(
        month={0: 1, 1: 4, 2: 7, 3: 10}[(d.month - 1) // 3], day=1
    ),
}
_KINDS = {
    **dict.fromkeys(("sqrt", "ln", "log10", "exp"), "real"),
    **dict.fromkeys(("sign", "floor", "ceil", "round", "length"), "integer"),
    **dict.fromkeys(("year", "quarter", "month", "day", "dow", "week", "doy"), "integer"),
    "days_between": "integer",
}
_RULES: dict[type, Callable[[Any, Row], Cell]] = {
    e.Column: lambda x, row: row[x.name],
    e.Constant: _constant,
    e.Arithmetic: _arithmetic,
    e.Comparison: _comparison,
    e.Logic: _logic,
    e.Not: _not,
    e.IsNull: _is_null,
    e.Member: _member,
    e.Like: _like,
    e.Case: _case,
    e.Cast: _cast,
    e.Call: _call,
}


# Relations


def _rows(
    relation: q.Relation, catalog: Catalog, data: dict[str, list[dict[str, Any]]]
) -> list[Row]:
    if isinstance(relation, q.Scan):
        table = catalog.table(relation.table)
        assert table
        return [
            {c.name: _read(raw[c.name], c, unit=c.name == table.unit) for c in table.columns}
            for raw in data[table.name]
        ]
    if isinstance(relation, q.Filtered):
        rows = _rows(relation.rows, catalog, data)
        return [row for row in rows if evaluate(relation.condition, row)[1] is True]
    if isinstance(relation, q.Projected):
        rows = _rows(relation.rows, catalog, data)
        return [{name: evaluate(x, row) for name, x in relation.columns} for row in rows]
    if isinstance(relation, q.PerUnit):
        return _of_units(relation, catalog, data)
    assert isinstance(relation, q.Join)
    left, right = _rows(relation.left, catalog, data), _rows(relation.right, catalog, data)
    if relation.unique:
        right = [dict(row) for row in {tuple(row.items()): None for row in right}]
    empty = {name: (kind, None) for name, (kind, _) in right[0].items()}
    joined = []
    for a in left:
        pairs = [b for b in right if all(_agree(a[x.name], b[y.name]) for x, y in relation.on)]
        if not pairs and relation.how == "left":
            pairs = [empty]
        joined += [{**a, **b} for b in pairs]
    return joined


def _of_units(
    relation: q.PerUnit, catalog: Catalog, data: dict[str, list[dict[str, Any]]]
) -> list[Row]:
    """One row a unit: that of the first figure, by which rows are put together."""
    people: dict[Any, list[Row]] = {}
    unit = relation.columns[0][1].operand
    assert unit is not None
    for row in _rows(relation.rows, catalog, data):
        people.setdefault(evaluate(unit, row), []).append(row)
    return [
        {name: _of_unit(figure, rows) for name, figure in relation.columns}
        for rows in people.values()
    ]


def _of_unit(figure: q.UnitFigure, rows: list[Row]) -> Cell:
    if figure.operand is None:
        return "integer", float(min(len(rows), figure.most))
    cells = [evaluate(figure.operand, row) for row in rows]
    kind, values = cells[0][0], [value for _, value in cells if value is not None]
    if figure.function in {"values", "different"}:
        counted = len(values) if figure.function == "values" else len(set(values))
        return "integer", float(min(counted, figure.most))
    if figure.function in {"least", "greatest"}:
        choose = min if figure.function == "least" else max
        key = (lambda text: text.encode()) if kind == "text" else None
        return kind, choose(values, key=key) if values else None
    low, high, step = figure.low, figure.high, figure.step
    steps = [math.floor(_clip(v, low * step, high * step) / step + 0.5) for v in values]
    if figure.function == "mean":
        return "real", _clip(
            sum(steps) / len(steps) * step, low * step, high * step
        ) if steps else None
    whole = kind == "integer" and step == int(step)
    total = _clip(sum(steps), min(0, figure.most * low), max(0, figure.most * high))
    return "integer" if whole else "real", float(total) * step if steps else None


def _agree(a: Cell, b: Cell) -> bool:
    return a[1] is not None and a[1] == b[1]


# Codes and hashes


def _code(cell: Cell) -> Any:
    kind, value = cell
    if value is None:
        return None
    if kind == "integer":
        return value if isinstance(value, int) else math.floor(value + 0.5)
    if kind == "boolean":
        return int(value)
    if kind == "real":
        return value + 0.0
    return (value - dt.date(1970, 1, 1)).days if kind == "date" else value


def _md5(*codes: Any) -> str:
    """Of values, each with a semicolon behind it, as an engine prints them."""
    text = "".join("-;" if code is None else f"{code};" for code in codes)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def mark(*numbers: int | None) -> int:
    """Of whole numbers: the product, modulo a prime, of a polynomial's values at four points."""
    prime, product = 2**31 - 1, 1
    digits: list[int] = []
    for number in numbers:
        size, sign = abs(number or 0), -1 if (number or 0) < 0 else 1
        top = 2**20 if number is None else sign * (size >> 44)
        digits += [sign * (size & 0x3FFFFF), sign * (size >> 22 & 0x3FFFFF), top]
    for point in (314159265, 358979323, 846264338, 327950288):
        product *= sum(digit * point**at for at, digit in enumerate(digits, 1))
    return product % prime


def _place(unit: Cell, codes: Sequence[Any], *, whole: bool) -> Any:
    """What decides which of a unit's cells or values count: those with the least come first."""
    return mark(unit[1], *codes) if whole and unit[0] == "integer" else _md5(unit[1], *codes)


def _shown(code: Any, kind: str) -> Any:
    if code is None:
        return None
    if kind == "date":
        return (dt.date(1970, 1, 1) + dt.timedelta(days=code)).isoformat()
    return bool(code) if kind == "boolean" else code


# Measures


def measured(
    query: q.Query,
    measures: Sequence[m.Measure],
    catalog: Catalog,
    data: dict[str, list[dict[str, Any]]],
) -> tuple[list[Any], list[int], list[Any]]:
    """The groups, their units, and for each measure its column."""
    by_unit = _by_unit(query, _rows(query.rows, catalog, data))
    groups = _groups(query, by_unit)
    inside = [
        [(unit, rows[group]) for unit, rows in by_unit.items() if group in rows] for group in groups
    ]
    lists = [key.values for key in query.keys]
    if None not in lists:
        shown = list(itertools.product(*(values or () for values in lists)))
    else:
        shown = [
            tuple(_shown(code, key.kind) for code, key in zip(group, query.keys, strict=True))
            for group in groups
        ]
    columns = [[_measure(measure, members) for members in inside] for measure in measures]
    return shown, [len(members) for members in inside], columns


def _by_unit(query: q.Query, rows: list[Row]) -> dict[Cell, dict[Any, list[Row]]]:
    by_unit: dict[Cell, dict[Any, list[Row]]] = {}
    listed = [
        None if key.values is None else [_code(_declared(v, key.kind)) for v in key.values]
        for key in query.keys
    ]
    whole = all(key.values is not None or key.kind != "text" for key in query.keys)
    marks: dict[tuple[Cell, Any], Any] = {}
    for row in rows:
        unit = row[query.unit]
        cells = [(key.kind, evaluate(key.expression, row)[1]) for key in query.keys]
        group = tuple(_code(cell) for cell in cells)
        if unit[1] is None or any(
            values is not None and code not in values
            for code, values in zip(group, listed, strict=True)
        ):
            continue
        by_unit.setdefault(unit, {}).setdefault(group, []).append(row)
        marks[unit, group] = _place(unit, _cell(group, listed), whole=whole)
    for unit, by_group in by_unit.items():
        chosen = sorted(by_group, key=lambda group: marks[unit, group])
        by_unit[unit] = {group: by_group[group] for group in chosen[: query.contribution.groups]}
    return by_unit


def _cell(group: tuple[Any, ...], listed: list[list[Any] | None]) -> list[Any]:
    """What a cell is to the engine: the number of its declared codes, then the private ones."""
    number, declared = 0, False
    for code, values in zip(group, listed, strict=True):
        if values is not None:
            number, declared = number * len(values) + values.index(code), True
    private = [code for code, values in zip(group, listed, strict=True) if values is None]
    return [number, *private] if declared else private


def _declared(value: Any, kind: str) -> Cell:
    return kind, dt.date.fromisoformat(value) if kind == "date" and value is not None else value


def _groups(query: q.Query, by_unit: dict[Cell, dict[Any, list[Row]]]) -> list[Any]:
    if all(key.values is not None for key in query.keys):
        lists = [[_code(_declared(v, k.kind)) for v in k.values or ()] for k in query.keys]
        return list(itertools.product(*lists))
    seen = {group for by_group in by_unit.values() for group in by_group}
    return sorted(
        seen,
        key=lambda group: [
            (c is None, c if isinstance(c, int) else 0, str(c).encode().hex()) for c in group
        ],
    )


def _steps(measure: m.Total | m.ValueCounts, rows: list[Row]) -> list[int]:
    values = [evaluate(measure.operand, row)[1] for row in rows]
    return [
        int(_clip(math.floor(value / measure.step + 0.5), measure.low, measure.high))
        for value in values
        if value is not None
    ]


def _measure(measure: m.Measure, members: list[tuple[Cell, list[Row]]]) -> Any:
    if isinstance(measure, m.Units):
        return len(members)
    if isinstance(measure, m.RowCount):
        return sum(min(measure.rows, _there(measure, rows)) for _, rows in members)
    if isinstance(measure, m.Total):
        return sum(_total(_steps(measure, rows), measure.rows) for _, rows in members)
    if isinstance(measure, m.JointTotals):
        return _jointly(measure, members)
    if isinstance(measure, m.Distinct):
        return len({code for unit, rows in members for code in _different(measure, unit, rows)})
    assert isinstance(measure, m.ValueCounts)
    counts: dict[int, int] = {}
    for _, rows in members:
        for value in _thinned(sorted(_steps(measure, rows)), measure.rows):
            counts[value] = counts.get(value, 0) + 1
    return counts


def _jointly(measure: m.JointTotals, members: list[tuple[Cell, list[Row]]]) -> tuple[int, ...]:
    """Every total, of what the totals before it have left of the bound."""
    sums = [0] * len(measure.totals)
    for _, rows in members:
        left = measure.bound
        for at, total in enumerate(measure.totals):
            part = int(_clip(_total(_steps(total, rows), total.rows), -left, left))
            sums[at] += part
            left -= abs(part)
    return tuple(sums)


def _there(measure: m.RowCount, rows: list[Row]) -> int:
    if measure.operand is None:
        return len(rows)
    return sum(evaluate(measure.operand, row)[1] is not None for row in rows)


def _total(values: list[int], most: int) -> int:
    total, count = sum(values), len(values)
    if count <= most:
        return total
    return int(math.copysign(abs(total) * most // count, total))


def _different(measure: m.Distinct, unit: Cell, rows: list[Row]) -> list[Any]:
    cells = {evaluate(measure.operand, row) for row in rows}
    codes = {_code(cell): cell for cell in cells if cell[1] is not None}
    places = {
        code: _place(unit, [_printed(cell)], whole=cell[0] in {"integer", "boolean"})
        for code, cell in codes.items()
    }
    return sorted(codes, key=lambda code: places[code])[: measure.rows]


def _printed(cell: Cell) -> Any:
    kind, value = cell
    return value.isoformat() if kind == "date" else _code(cell)


def _thinned(values: list[int], most: int) -> list[int]:
    """The values in the middle of ``most`` equal stretches."""
    count = len(values)
    if count <= most:
        return values
    # The row of rank r (from 1) is picked if a middle, (2 i + 1) count / (2 most), lies in
    # (r - 1, r].
    ranks = [-(-(2 * i + 1) * count // (2 * most)) for i in range(most)]
    return [values[rank - 1] for rank in ranks]
