"""What to do about what a check has found.

Remedies about *reading* (separators, encodings, kinds, formats of dates) are commands to paste.
They hold what the catalog declares, and options. Remedies about bounds, caps and keys are words
made of names alone: a value or a count that was copied from exact data into the catalog would be a
release that nobody paid for. The functions that write the latter are given names and nothing else.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from quaestor.curator.catalog.columns import plain
from quaestor.curator.catalog.default_steps import default_granularity
from quaestor.curator.catalog.model import engine_kind
from quaestor.curator.catalog.text_format import format_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.curator.catalog.model import ColumnFacts, Table
    from quaestor.curator.inspection.table_check import ColumnCheck, TableCheck

__all__ = ["Remedy", "remedies_for"]


_LATIN = ("--encoding", "latin-1")


class Remedy(NamedTuple):
    """What to do, and for what: ``reading`` remedies are commands."""

    about: str
    """``reading``, ``unit``, ``bounds``, ``caps`` or ``keys``."""
    words: str
    command: str = ""


def remedies_for(table: Table, found: TableCheck) -> tuple[Remedy, ...]:
    """All remedies, those about reading first; each once."""
    problems = [*_of_files(found), *_of_columns(found)]
    listed = [Remedy("reading", words) for words, _, _ in problems]
    options = [(option, value) for _, option, value in problems if option is not None]
    if options:
        command = _command(table, dict.fromkeys(options))
        listed.append(Remedy("reading", "to read them as they are meant:", command))
    if found.without_unit:
        listed.append(_about_units(table.name, table.unit or ""))
    for column in found.columns:
        listed += _about_column(table, column)
    people = found.people
    if people is not None and (
        people.rows_cut or people.total_cut or any(group.rows_cut for group in people.groups)
    ):
        listed.append(_about_caps(table.name))
    return tuple(dict.fromkeys(listed))


def _of_files(found: TableCheck) -> Iterator[tuple[str, str | None, str]]:
    """What is wrong with files: in words, and the option and its value if one helps."""
    lines = found.lines
    if lines is None:
        return
    if lines.undecodable:
        yield f"the files of {found.table} are not in their declared encoding", *_LATIN
    if lines.ragged and lines.other_separator is not None:
        words = f"fields of {found.table} seem to have another separator between them"
        yield words, "--separator", lines.other_separator
    elif lines.ragged:
        yield "put quotes around fields that hold the separator, at the source", None, ""


def _of_columns(found: TableCheck) -> Iterator[tuple[str, str | None, str]]:
    for column in found.columns:
        for _, problem in column.first:
            of = "text that is " if problem.words.startswith("not ") else ""
            words = f"{column.column} contains {of}{problem.words}"
            value = problem.value
            if problem.option == "--kind":
                value = f"{column.column}={value}"
            yield words, problem.option, value
        if column.numbers is not None and column.numbers.fractions:
            words = f"{column.column} is declared as a whole number but contains fractions"
            yield words, "--kind", f"{column.column}=real"


def _command(table: Table, options: Iterable[tuple[str, str]]) -> str:
    """``dataset add`` with all that is declared, and these options."""
    kinds: dict[str, str] = {}
    more: dict[str, list[str]] = {}
    for option, value in options:  # the commonest problem first: of options that are given once
        if option == "--kind":
            column, _, kind = value.rpartition("=")
            kinds.setdefault(column, kind)
        elif option == "--null" or option not in more:
            more.setdefault(option, []).extend([option, value])
    parts = _declared(table)
    for facts in table.columns:
        parts += _facts(facts, kinds.get(facts.name, facts.kind))
    return shlex.join([*parts, *(part for each in more.values() for part in each)])


def _declared(table: Table) -> list[str]:
    parts = ["quaestor", "dataset", "add", table.name, "--replace"]
    for key, place in engine_kind(table.source.engine).written(table.source).items():
        if place is not None:
            parts += [f"--{key}", str(place)]
    for key, value in format_values(table.source.format).items():
        option = f"--{key.replace('_', '-')}"
        if key == "header":
            parts.append("--no-header")
        elif key == "names":
            parts += [option, ",".join(value)]
        else:
            values = value if isinstance(value, tuple) else (value,)
            parts += [part for each in values for part in (option, each)]
    if table.unit is None:
        parts.append("--public")
    elif table.contribution is not None:
        parts += ["--unit", table.unit, "--rows", str(table.contribution.rows)]
        parts += ["--groups", str(table.contribution.groups)]
    if table.total_rows is not None:
        parts += ["--total-rows", str(table.total_rows)]
    if table.dataset is not None and table.dataset != table.name:
        parts += ["--dataset", table.dataset]
    return parts


def _facts(column: ColumnFacts, kind: str) -> list[str]:
    parts = ["--kind", f"{column.name}={kind}"]
    if kind in {"text", "timestamp"} and column.kind in {"integer", "real"}:
        return parts  # its bounds were of numbers
    if column.low is not None and column.high is not None:
        low, high = float(column.low), float(column.high)
        parts += ["--bounds", f"{column.name}={plain(low)}:{plain(high)}"]
        usual = 1.0 if column.kind == "integer" else default_granularity(low, high)
        if column.granularity is not None and column.granularity != usual:
            parts += ["--granularity", f"{column.name}={plain(float(column.granularity))}"]
    if column.keys is not None:
        keys = ",".join(str(key) for key in column.keys if key is not None)
        parts += ["--keys", f"{column.name}={keys}"]
    return parts


# Names alone from here on


def _about_column(table: Table, found: ColumnCheck) -> Iterator[Remedy]:
    name = found.column
    if found.numbers is not None and (found.numbers.below or found.numbers.above):
        yield _about_bounds(table.name, name)
    if found.other_keys is not None and found.other_keys.rows:
        yield _about_keys(name)
    if found.variants:
        yield _about_spellings(name)


def _about_units(table: str, unit: str) -> Remedy:
    words = (
        f"rows of {table} without a {unit} are ignored: add it at the source, or "
        "state in your publication that they are missing"
    )
    return Remedy("unit", words)


def _about_bounds(table: str, column: str) -> Remedy:
    words = (
        f"{column} has values outside its bounds: choose bounds from public knowledge "
        "(what is possible, not what is in the data), or privately with  quaestor "
        f"dataset tune {table} --epsilon E"
    )
    return Remedy("bounds", words)


def _about_caps(table: str) -> Remedy:
    words = (
        "the caps cut rows: choose them from public knowledge, or privately with  "
        f"quaestor dataset tune {table} --epsilon E"
    )
    return Remedy("caps", words)


def _about_keys(column: str) -> Remedy:
    words = (
        f"{column} has values that are not among its keys, so their rows are in no "
        "group: add keys from public knowledge (a code book, a form), or omit keys, "
        "so that groups with enough people are shown at a cost in delta"
    )
    return Remedy("keys", words)


def _about_spellings(column: str) -> Remedy:
    words = (
        f"values of {column} differ only in spaces or case and form different groups: "
        f"correct them at the source, or group by LOWER({column})"
    )
    return Remedy("keys", words)
