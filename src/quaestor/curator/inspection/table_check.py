"""The check of a table: what it really holds, beside what is declared of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import engine_kind
from quaestor.curator.catalog.sections import nearest
from quaestor.curator.inspection.exact_figures import ExactRows, Numbers, OtherKeys
from quaestor.curator.inspection.remedies import Remedy, remedies_for
from quaestor.curator.inspection.text_files import TextLines, text_lines
from quaestor.curator.inspection.text_problems import TextProblem, text_problem
from quaestor.errors import EngineFailed, InvalidParameter, QuaestorError

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Table

__all__ = ["ColumnCheck", "GroupCheck", "TableCheck", "UnitCheck", "check_table"]


_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ColumnCheck:
    """What a column holds."""

    column: str
    kind: str
    missing: int
    unreadable: int
    first: tuple[tuple[str, TextProblem], ...]
    """The commonest texts that cannot be read, and why."""
    numbers: Numbers | None = None
    mass_moved: float = 0.0
    """Which share of the sum of magnitudes bounds move away."""
    mass_capped: float = 0.0
    """Which share of what is left the cap on rows a unit leaves out of a total."""
    other_keys: OtherKeys | None = None
    variants: int = 0
    """How many sets of values differ only by blanks or case."""
    first_variants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupCheck:
    """In how many groups of one column units are, and what the caps leave out there."""

    column: str
    units: dict[int, int]
    """How many units are in so many groups."""
    rows_cut: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UnitCheck:
    """How much units have."""

    units: int
    rows: dict[int, int]
    """How many units have so many rows."""
    rows_cut: float
    """Which share of the rows the cap on rows a unit leaves out where there are no groups."""
    total_cut: float
    """Which share ``total_rows`` leaves out."""
    groups: tuple[GroupCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableCheck:
    """Everything that was found, exactly. It is not private: show it to the owner alone."""

    table: str
    rows: int
    without_unit: int
    lines: TextLines | None
    lost: int
    """Lines of the files that are not rows of the table once all its columns are asked about."""
    columns: tuple[ColumnCheck, ...]
    people: UnitCheck | None
    remedies: tuple[Remedy, ...] = ()

    def __repr__(self) -> str:
        """Nothing of the data: it may end up in a log."""
        return f"<check of {self.table!r}: exact figures, for the data owner only>"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def check_table(catalog: Catalog, name: str) -> TableCheck:
    """Read a table exactly; nothing is charged, and no ledger is opened.

    Raises:
        SourceUnavailable: the table is not there, or its unit cannot be read.
        EngineFailed: the engine could not answer; what it said is not repeated.
    """
    table = catalog.table(name)
    if table is None:
        near = nearest(name, [each.name for each in catalog.tables])
        hint = f"did you mean {near!r}?" if near else "see  quaestor dataset list"
        raise InvalidParameter("table", name, f"a table of the catalog ({hint})")
    try:
        with closing(engine_kind(table.source.engine).connection(catalog, table)) as connection:
            return _checked(catalog, table, ExactRows(table, connection))
    except QuaestorError as error:
        failed: QuaestorError = error
    except Exception:  # noqa: BLE001  # what engines say holds values, and errors are logged
        failed = EngineFailed()
    failed.__context__ = None
    raise failed


def _checked(catalog: Catalog, table: Table, exact: ExactRows) -> TableCheck:
    rows, known = exact.sizes()
    lines = text_lines(catalog, table)
    whole, counts = exact.read_rows()
    columns = tuple(_column(table, exact, facts, counts[facts.name]) for facts in table.columns)
    people = _people(table, exact) if table.private else None
    lost = 0 if lines is None else max(0, lines.records - whole)
    found = TableCheck(
        table=table.name,
        rows=rows,
        without_unit=rows - known,
        lines=lines,
        lost=lost,
        columns=columns,
        people=people,
    )
    return replace(found, remedies=remedies_for(table, found))


def _column(
    table: Table, exact: ExactRows, facts: ColumnFacts, counted: tuple[int, int]
) -> ColumnCheck:
    missing, unreadable = counted
    texts = exact.unread(facts.name) if unreadable else ()
    typed = facts.name in exact.typed
    problems = {
        TextProblem(f"no {facts.kind}") if typed else text_problem(text, facts.kind): text
        for text in reversed(texts)
    }
    first = tuple((text, problem) for problem, text in reversed(problems.items()))[:_SHOWN]
    bare = ColumnCheck(
        column=facts.name, kind=facts.kind, missing=missing, unreadable=unreadable, first=first
    )
    if facts.name == table.unit or facts.name in exact.unreadable:
        return bare
    numbers = exact.numbers(facts) if facts.kind in {"integer", "real"} else None
    variants = exact.variants(facts) if facts.kind == "text" else (0, ())
    return ColumnCheck(
        column=facts.name,
        kind=facts.kind,
        missing=missing,
        unreadable=unreadable,
        first=first,
        numbers=numbers,
        mass_moved=_share(numbers.moved, numbers.mass) if numbers else 0.0,
        mass_capped=_mass_capped(table, exact, facts) if numbers else 0.0,
        other_keys=exact.other_keys(facts) if facts.keys else None,
        variants=variants[0],
        first_variants=variants[1],
    )


def _mass_capped(table: Table, exact: ExactRows, facts: ColumnFacts) -> float:
    if table.contribution is None:
        return 0.0
    by_rows = exact.mass_by_rows(facts)
    cap = table.contribution.rows
    cut = sum(mass * max(0.0, 1.0 - cap / n) for n, mass in by_rows)
    return _share(cut, sum(mass for _, mass in by_rows))


def _people(table: Table, exact: ExactRows) -> UnitCheck:
    rows = exact.rows_by_unit()
    every = sum(n * count for n, count in rows.items())
    cap = table.contribution.rows if table.contribution else 1
    groups = [
        _groups(table, exact, facts)
        for facts in table.columns
        if facts.name not in {table.unit, *exact.unreadable}
        and (facts.keys is not None or facts.kind in {"text", "boolean"})
    ]
    total = table.total_rows
    return UnitCheck(
        units=sum(rows.values()),
        rows=rows,
        rows_cut=_share(sum(max(0, n - cap) * count for n, count in rows.items()), every),
        total_cut=0.0
        if total is None
        else _share(sum(max(0, n - total) * count for n, count in rows.items()), every),
        groups=tuple(groups),
    )


def _groups(table: Table, exact: ExactRows, facts: ColumnFacts) -> GroupCheck:
    """Which groups of a unit count is decided by a digest: as if it was by chance."""
    cells = exact.cells_by_unit(facts)
    most = table.contribution
    rows, groups = (1, 1) if most is None else (most.rows, most.groups)
    kept = sum(count * min(n, rows) * min(1.0, groups / g) for g, n, count in cells)
    every = sum(count * n for _, n, count in cells)
    units: dict[int, int] = {}
    for g, _, count in cells:
        units[g] = units.get(g, 0) + count
    return GroupCheck(
        column=facts.name,
        units={g: count // g for g, count in sorted(units.items())},
        rows_cut=_share(every - kept, every),
    )


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
