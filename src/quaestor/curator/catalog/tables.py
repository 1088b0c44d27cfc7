"""The tables of the catalog: whose rows they hold, and how much one person may contribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.time_blocks import EVERY
from quaestor.curator.catalog.columns import read_columns
from quaestor.curator.catalog.model import Table, TableBlocks, TunedLimits, engine_kind
from quaestor.curator.catalog.names import check_differ, check_table_name
from quaestor.curator.catalog.sections import nearest
from quaestor.curator.catalog.sources import read_source, source_keys
from quaestor.curator.catalog.text_format import FORMAT_KEYS
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import ColumnFacts
    from quaestor.curator.catalog.sections import Section

__all__ = ["MOST_GROUPS", "MOST_ROWS", "read_tables"]

MOST_ROWS = 10**6
MOST_GROUPS = 10**6
_PRIVATE = (
    *("unit", "rows", "groups", "total_rows", "dataset", "blocks", "tuned"),
    *("outer_rows", "outer_groups", "outer_total_rows"),
)
_BLOCKS = 'write  blocks = { date = "visited", every = "month" },  with a column of the kind date'
_ROWS = "write  rows = 20  if at most 20 rows of one person should count in a group"
_TOTAL = "write  total_rows = 100  if at most 100 rows of one person should count in total"
_GROUPS = "write  groups = 5  if one person should count in at most 5 groups"
_TUNED = "leave it as  quaestor dataset tune  wrote it, or remove it"
_HEADER = "write  [tables.visits]  and the keys of the table below it"


def read_tables(document: Section) -> tuple[Table, ...]:
    """Every table under ``[tables]``, each checked alone and against the others."""
    tables = document.section("tables", title="", remedy=_HEADER)
    for name in tables.values:
        check_table_name(tables, name)
    check_differ(tables, "table")
    read: dict[str, tuple[Table, Section]] = {}
    for name, section in tables.sections(kind="table", remedy=_HEADER):
        table = _table(section, name)
        for other, _ in read.values():
            _check_together(section, table, other)
        read[name] = table, section
    return tuple(table for table, _ in read.values())


def _table(section: Section, name: str) -> Table:
    section.only("engine", *source_keys(), "table", *FORMAT_KEYS, *_PRIVATE, "public", "columns")
    public = section.truth(
        "public", remedy="write  public = true  if its rows are not about people"
    )
    source = read_source(section, name=name)
    if public:
        for key in _PRIVATE:
            if key in section.values:
                problem = f"a public table has no {key}"
                raise section.wrong(key, problem, "remove it, or remove  public = true")
        columns = read_columns(section, title=section.title)
        return Table(name=name, source=source, columns=columns)
    if "unit" not in section.values:
        problem = "the privacy unit is missing"
        remedy = 'write  unit = "patient"  (the column that identifies a person), or  public = true'
        raise section.wrong(None, problem, remedy)
    columns = read_columns(section, title=section.title)
    unit, caps = _unit(section, columns), _contribution(section)
    total = section.whole("total_rows", largest=MOST_ROWS, remedy=_TOTAL)
    return Table(
        name=name,
        source=source,
        columns=columns,
        unit=unit,
        contribution=caps,
        total_rows=total,
        dataset=section.text("dataset", remedy='write  dataset = "clinic"') or name,
        blocks=_blocks(section, columns),
        tuned=_tuned(section, columns),
        outer_rows=_outer(section, "outer_rows", caps.rows),
        outer_groups=_outer(section, "outer_groups", caps.groups),
        outer_total_rows=_outer(section, "outer_total_rows", total or caps.rows * caps.groups),
    )


def _outer(section: Section, name: str, inner: int) -> int | None:
    """An outer limit, if it is declared: none is below the inner one."""
    short = name.removeprefix("outer_").replace("_", " ")
    remedy = f"write  {name} = {10 * inner}  if no person has more {short}"
    given = section.whole(name, largest=10 * MOST_ROWS, remedy=remedy)
    if given is not None and given < inner:
        problem = f"{name} ({given}) is below the number that counts for one person ({inner})"
        raise section.wrong(name, problem, remedy)
    return given


def _tuned(section: Section, columns: tuple[ColumnFacts, ...]) -> tuple[TunedLimits, ...]:
    """What paid for limits that ``dataset tune`` has chosen."""
    known = {"rows", "groups", *(column.name for column in columns)}
    found = []
    for entry in section.entries("tuned", kind="tuned", remedy=_TUNED):
        entry.only("account", "receipt", "limits")
        account = entry.text("account", remedy=_TUNED)
        receipt = entry.whole("receipt", largest=2**62, remedy=_TUNED)
        limits = entry.texts("limits", remedy=_TUNED)
        if account is None or receipt is None or not limits or not known.issuperset(limits):
            raise entry.wrong(None, "its accounts and limits are missing", _TUNED)
        found.append(TunedLimits(account=account, receipt=receipt, limits=limits))
    return tuple(found)


def _blocks(section: Section, columns: tuple[ColumnFacts, ...]) -> TableBlocks | None:
    """How rows are divided by time, if they are."""
    if "blocks" not in section.values:
        return None
    blocks = section.section("blocks", title=f"{section.title}, blocks", remedy=_BLOCKS)
    blocks.only("date", "every")
    every = blocks.choice("every", EVERY, remedy=_BLOCKS)
    date = blocks.text("date", remedy=_BLOCKS)
    if every is None or date is None:
        raise blocks.wrong(None, f"{'date' if date is None else 'every'} is missing", _BLOCKS)
    found = next((column for column in columns if column.name == date), None)
    if found is None or found.kind != "date":
        problem = (
            f"{date!r} is not among the columns" if found is None else f"{date!r} is not a date"
        )
        raise blocks.wrong("date", problem, f'write  {date} = "date"  under  columns')
    return TableBlocks(date=date, every=every)


def _unit(section: Section, columns: tuple[ColumnFacts, ...]) -> str:
    remedy = 'write  unit = "patient",  the column that identifies a person'
    unit = section.text("unit", remedy=remedy) or ""
    found = next((column for column in columns if column.name == unit), None)
    if found is None:
        near = nearest(unit, (column.name for column in columns))
        hint = f"did you mean {near!r}? Or write" if near else "write"
        remedy = f'{hint}  {unit} = "integer"  (or "text") under  columns'
        raise section.wrong("unit", f"the unit {unit!r} is not among the columns", remedy)
    if found.kind not in {"integer", "text"}:
        problem = f"the unit {unit!r} is of kind {found.kind}"
        raise section.wrong("unit", problem, "the privacy unit must be an integer or a text")
    if found.low is not None or found.keys is not None:
        problem = f"the unit {unit!r} has bounds or keys, but is never summed or grouped"
        raise section.wrong("unit", problem, f'write  {unit} = "{found.kind}"  under  columns')
    return unit


def _contribution(section: Section) -> Contribution:
    rows = section.whole("rows", largest=MOST_ROWS, remedy=_ROWS)
    if rows is None:
        raise section.wrong(None, "rows is missing", _ROWS)
    groups = section.whole("groups", largest=MOST_GROUPS, remedy=_GROUPS)
    if groups is None:
        raise section.wrong(None, "groups is missing", _GROUPS)
    return Contribution(rows=rows, groups=groups)


def _check_together(section: Section, table: Table, other: Table) -> None:
    if _identity(table) == _identity(other) and table.dataset != other.dataset:
        problem = f"table {other.name!r} already has these rows, with another dataset"
        remedy = (
            f'write  dataset = "{other.dataset}"  here too'
            if other.private and table.private
            else "the same rows cannot be public and private: remove one of the tables"
        )
        raise section.wrong(None, problem, remedy)
    if table.dataset is None or table.dataset != other.dataset:
        return
    mine, theirs = _unit_kind(table), _unit_kind(other)
    if mine != theirs:
        problem = (
            f"the unit is of kind {mine}, but of kind {theirs} in table {other.name!r} of the same "
            f"dataset {table.dataset!r}"
        )
        remedy = (
            "tables of one dataset must have units of the same kind: give this one another dataset"
        )
        raise section.wrong("unit", problem, remedy)
    if table.blocks and other.blocks and table.blocks.every != other.blocks.every:
        problem = (
            f"it is divided by the {table.blocks.every}, and table {other.name!r} of the same "
            f"dataset by the {other.blocks.every}"
        )
        raise section.wrong("blocks", problem, "divide all tables of a dataset in the same way")


def _unit_kind(table: Table) -> str:
    return next(column.kind for column in table.columns if column.name == table.unit)


def _identity(table: Table) -> tuple[str | None, ...]:
    return engine_kind(table.source.engine).identity(table.source)
