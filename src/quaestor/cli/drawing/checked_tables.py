"""What a check has found in a table, drawn for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from quaestor.cli.drawing.numbers import print_words, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.curator.catalog.model import Table
    from quaestor.curator.inspection.table_check import ColumnCheck, TableCheck, UnitCheck

__all__ = ["EXACT", "print_check"]

EXACT = "EXACT figures, for the data owner only: not private, and not charged."
_WIDTH = 32
_LONGEST = 40


def print_check(table: Table, found: TableCheck) -> None:
    """The whole check; its first line says what it is."""
    say(EXACT, plain=True)
    say(f"table {found.table}: {found.rows:,} rows", plain=True)
    for line in _lines(table, found):
        say(f"  {line}", plain=True)
    heads = ["column", "kind", "#missing", "#unreadable", "#outside", "#bounds cut", "#caps cut"]
    print_words(heads, [_figures(column) for column in found.columns])
    for column in found.columns:
        for line in _words(column):
            say(f"  {line}", plain=True)
    if found.people is not None:
        _print_people(table, found.people)
    for remedy in found.remedies:
        say(f"- {remedy.words}", plain=True)
        if remedy.command:
            say(f"    {remedy.command}", plain=True)
    if not found.remedies:
        say("All values can be read, and neither bounds nor caps cut anything.")


def _lines(table: Table, found: TableCheck) -> Iterator[str]:
    lines = found.lines
    if found.lost:
        yield f"{found.lost:,} lines of the files are not valid rows and are ignored"
    if lines is not None and lines.undecodable:
        at = lines.first_undecodable
        yield f"{lines.undecodable:,} lines are not UTF-8 (the first is line {at})"
    if lines is not None and lines.ragged and lines.first_ragged is not None:
        at, has, wanted = lines.first_ragged
        some = f"(line {at} has {has}, the header {wanted})"
        yield f"{lines.ragged:,} lines do not have as many fields as the header {some}"
    if found.without_unit:
        yield f"{found.without_unit:,} rows have no {table.unit} and are ignored"


def _figures(column: ColumnCheck) -> list[str]:
    numbers = column.numbers
    outside = "" if numbers is None else f"{numbers.below + numbers.above:,}"
    if column.other_keys is not None:
        outside = f"{column.other_keys.rows:,}"
    return [
        column.column,
        column.kind,
        f"{column.missing:,}",
        f"{column.unreadable:,}",
        outside,
        "" if numbers is None else _percent(column.mass_moved),
        "" if numbers is None else _percent(column.mass_capped),
    ]


def _words(column: ColumnCheck) -> Iterator[str]:
    for text, problem in column.first:
        yield f"{column.column}: {_short(text)} is {problem.words}"
    if column.numbers is not None and column.numbers.fractions:
        yield f"{column.column}: {column.numbers.fractions:,} values are not whole numbers"
    if column.numbers is not None and column.numbers.below + column.numbers.above:
        below, above = column.numbers.below, column.numbers.above
        yield f"{column.column}: {below:,} values below the bounds, {above:,} above"
    if column.other_keys is not None and column.other_keys.rows:
        some = ", ".join(map(_short, column.other_keys.first))
        yield f"{column.column}: {column.other_keys.rows:,} rows of undeclared keys, such as {some}"
    if column.variants:
        some = ", ".join(map(_short, column.first_variants))
        yield f"{column.column}: differ only by blanks or case: {some}"


def _print_people(table: Table, people: UnitCheck) -> None:
    limits = table.contribution
    rows, groups = (1, 1) if limits is None else (limits.rows, limits.groups)
    say(f"{people.units:,} different values of {table.unit}; rows per value:", plain=True)
    _print_histogram(people.rows, rows)
    say(f"  the cap of {rows} rows cuts {_percent(people.rows_cut)} of all rows")
    if table.total_rows is not None:
        cut = _percent(people.total_cut)
        say(f"  total_rows = {table.total_rows} cuts {cut} of all rows")
    for group in people.groups:
        say(f"groups by {group.column} per {table.unit}:", plain=True)
        _print_histogram(group.units, groups)
        cut = _percent(group.rows_cut)
        say(f"  {rows} rows in each of {groups} groups cut about {cut} of its rows")


def _print_histogram(counts: Mapping[int, int], cap: int) -> None:
    full = "#" if Console().options.ascii_only else "█"
    bins = _bins(counts, cap)
    largest = max((count for _, _, count in bins), default=1)
    for first, last, count in bins:
        name = f"{first}" if first == last else f"{first} to {last}"
        beyond = " above the cap" if first > cap else ""
        drawn = full * max(1, round(_WIDTH * count / largest))
        say(f"  {name:>16} {drawn} {count:,}{beyond}", plain=True)


def _bins(counts: Mapping[int, int], cap: int) -> list[tuple[int, int, int]]:
    """Bins that double, cut where the cap is; those without units are left out."""
    found: dict[tuple[int, int], int] = {}
    for number, count in counts.items():
        first = 1 << (number.bit_length() - 1)
        last = 2 * first - 1
        if first <= cap < last:
            first, last = (first, cap) if number <= cap else (cap + 1, last)
        found[first, last] = found.get((first, last), 0) + count
    return [(first, last, count) for (first, last), count in sorted(found.items())]


def _percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.1f} %"


def _short(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return repr(shown)
