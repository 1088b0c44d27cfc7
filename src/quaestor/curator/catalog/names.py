"""Which names tables and columns may have, and which are taken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quaestor.curator.catalog.sections import shown

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section

__all__ = [
    "LONGEST_NAME",
    "RESERVED",
    "check_column_name",
    "check_differ",
    "check_table_name",
    "is_column_name",
]

LONGEST_NAME = 63  # as PostgreSQL has it
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = "quaestor_"

# Words of SQL that mean something else where a table's name is expected.
_WORDS = """\
all and any as asc between by case cast cross current date default delete desc distinct drop
else end except exists false fetch filter for from full group having if in inner insert
intersect interval into is join lateral left like limit natural not null offset on or order
outer over partition right row rows select set some table then time timestamp true union unique
unit unnest update using values when where window with
"""
RESERVED = frozenset(_WORDS.split())


def check_table_name(tables: Section, name: str) -> None:
    """A table's name is written in SQL, mostly without quotes."""
    if not _IDENTIFIER.fullmatch(name) or len(name) > LONGEST_NAME:
        problem = f"{shown(name)} cannot be the name of a table"
        remedy = (
            f"use letters, digits and _, at most {LONGEST_NAME} characters, not starting "
            "with a digit"
        )
        raise tables.wrong(name, problem, remedy)
    if name.lower() in RESERVED or name.lower().startswith(_OURS):
        problem = f"the name {name!r} is reserved"
        raise tables.wrong(name, problem, f"rename the table, for example to {_other(name)!r}")


def is_column_name(name: str) -> bool:
    """Whether a column of that name can be declared; SQL can quote nearly everything."""
    printable = name.strip() != "" and name.isprintable() and '"' not in name
    return printable and len(name) <= LONGEST_NAME and not name.lower().startswith(_OURS)


def check_column_name(columns: Section, name: str) -> None:
    """A column has the name that it has where it lives."""
    if is_column_name(name):
        return
    if name.lower().startswith(_OURS):
        problem = f"names that begin with {_OURS!r} are reserved"
        raise columns.wrong(name, problem, "omit the column, or rename it in its database")
    problem = f"{shown(name)} cannot be the name of a column"
    remedy = (
        f"omit it, or rename it in its database: at most {LONGEST_NAME} printable "
        "characters, without double quotes"
    )
    raise columns.wrong(name, problem, remedy)


def check_differ(section: Section, kind: str) -> None:
    """SQL does not tell names apart by their case, so that they must differ otherwise."""
    seen: dict[str, str] = {}
    for name in section.values:
        if name.lower() in seen:
            problem = f"the {kind}s {seen[name.lower()]!r} and {name!r} differ only in case"
            raise section.wrong(name, problem, f"SQL does not distinguish them: rename this {kind}")
        seen[name.lower()] = name


def _other(name: str) -> str:
    short = name[len(_OURS) :] if name.lower().startswith(_OURS) else name
    return f"{short or 'my'}_table"
