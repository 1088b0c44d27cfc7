"""The ``init`` and ``dataset`` commands: writing the catalog, and reading what it says."""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from quaestor.cli.commands.composition import Json
from quaestor.cli.drawing.declared_tables import described, print_declared, print_tables
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Contribution

__all__ = ["CatalogFile", "add", "catalog_path", "dataset", "init", "list_tables", "show"]

CatalogFile = Annotated[
    Path | None,
    typer.Option("--catalog", help="The catalog, if not the nearest quaestor.toml."),
]

dataset = typer.Typer(
    help="The tables that questions may be asked about.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def catalog_path(given: Path | None) -> Path:
    """The catalog that was named, or the nearest one."""
    from quaestor.curator.catalog.catalog_file import CATALOG, find_catalog

    if given is None:
        return find_catalog()
    return given / CATALOG if given.is_dir() else given


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to write it.", show_default=False)
    ] = Path(),
    json: Json = False,  # noqa: FBT002
) -> None:
    """Write a commented quaestor.toml to start with; never over another."""
    from quaestor.curator.catalog.catalog_text import write_starter

    path = write_starter(folder)
    if json:
        print_json({"catalog": str(path)})
        return
    say(f"Wrote {path}", plain=True)
    say("Next:  quaestor dataset add NAME --file data.parquet --unit COLUMN --rows 20 --groups 5")


class _WithPlaces(TyperCommand):
    """A command with an option for every key by which an engine's tables are named."""

    def get_params(self, ctx: Any) -> Any:
        from quaestor.curator.catalog.sources import ENGINES, source_keys

        name, *rest = super().get_params(ctx)
        named: dict[str | None, Any] = {param.name: param for param in rest}
        places = []
        for key in source_keys().values():
            place = copy(named["table"])
            place.name, place.opts, place.help = key.name, [f"--{key.name}"], key.help
            places.append(place)
        *some, last = ENGINES
        named["engine"].help = f"{', '.join(some)} or {last}."
        return [name, *places, *rest]

    def invoke(self, ctx: Any) -> Any:
        from quaestor.curator.catalog.sources import source_keys

        ctx.obj = {key: ctx.params.pop(key) for key in source_keys()}
        return super().invoke(ctx)


@dataset.command("add", cls=_WithPlaces)
def add(  # noqa: PLR0913  # a table has as many sides
    name: Annotated[str, typer.Argument(help="What SQL will call the table.")],
    places: typer.Context,
    table: Annotated[str | None, typer.Option(help="Its name there, if not NAME.")] = None,
    engine: Annotated[str | None, typer.Option()] = None,
    unit: Annotated[str | None, typer.Option(help="The column that says whom.")] = None,
    public: Annotated[  # noqa: FBT002
        bool, typer.Option("--public", help="Its rows are about nobody.")
    ] = False,
    rows: Annotated[int | None, typer.Option(help="Rows of one unit in a group.")] = None,
    groups: Annotated[int | None, typer.Option(help="Groups that one unit is in.")] = None,
    total_rows: Annotated[
        int | None, typer.Option(help="Rows of one unit that count at all; see the guide.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--dataset", help="Whose account pays, if not NAME's.")
    ] = None,
    bounds: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=LOW:HIGH", help="Where a number lies.")
    ] = None,
    keys: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=A,B,...", help="The values one groups by.")
    ] = None,
    granularity: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=STEP", help="What sums are rounded to.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=KIND", help="If not what its type says.")
    ] = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Declare a table in the catalog, from its schema; no value of it is looked at.

    Facts are given by column, as often as needed: --bounds age=0:120, --keys sex=F,M,
    --granularity weight=0.1, --kind visited=date.
    """
    from quaestor.curator.catalog import Table, add_table, columns_of
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.declaration import TypedFacts, declared_columns, declared_source
    from quaestor.curator.catalog.sources import source_keys
    from quaestor.curator.catalog.tables import MOST_ROWS

    path = catalog_path(catalog)
    read_catalog(path)  # what is there already must be right first
    contribution = _contribution(unit, public=public, rows=rows, groups=groups)
    if total_rows is not None and (public or not 1 <= total_rows <= MOST_ROWS):
        valid = f"a whole number from 1 to {MOST_ROWS}, for a private table"
        raise InvalidParameter("--total-rows", total_rows, valid)
    place = {
        key: _seen_from(path.parent, given) if source_keys()[key].path else given
        for key, given in places.obj.items()
    }
    source = declared_source(name, {**place, "table": table, "engine": engine})
    facts = TypedFacts(
        bounds=_by_column("bounds", bounds),
        keys=_by_column("keys", keys),
        granularity=_by_column("granularity", granularity),
        kinds=_by_column("kind", kind),
    )
    columns, left_out = declared_columns(columns_of(source, path.parent), facts)
    declared = Table(
        name=name,
        source=source,
        columns=columns,
        unit=unit,
        contribution=contribution,
        total_rows=total_rows,
        dataset=to or (None if public else name),
    )
    added = add_table(path, declared).table(name)
    if added is None:  # what was just read back
        raise InvalidParameter("table", name, "a name that can be found again")
    if json:
        print_json({"catalog": str(path), **described(added), "left_out": list(left_out)})
        return
    say(f"Added to {path}:", plain=True)
    print_declared(added)
    if left_out:
        say(
            f"Left out, for their types or names cannot be asked about: {', '.join(left_out)}",
            plain=True,
        )


@dataset.command("list")
def list_tables(
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """The tables of the catalog, and whose rows they hold."""
    path, known = _read(catalog)
    if json:
        print_json({"catalog": str(path), "tables": [described(t) for t in known.tables]})
        return
    if not known.tables:
        say(f"{path} declares no tables yet; run  quaestor dataset add", plain=True)
        return
    print_tables(known.tables)


@dataset.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The table.")],
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """What is declared of a table, and which questions still lack a fact."""
    from quaestor.curator.catalog.sections import nearest

    path, known = _read(catalog)
    table = known.table(name)
    if table is None:
        near = nearest(name, [each.name for each in known.tables])
        hint = f"did you mean {near!r}?" if near else "see  quaestor dataset list"
        raise InvalidParameter("table", name, f"one of the catalog ({hint})")
    if json:
        print_json({"catalog": str(path), **described(table)})
        return
    print_declared(table)


def _read(given: Path | None) -> tuple[Path, Catalog]:
    from quaestor.curator.catalog.catalog_file import read_catalog

    path = catalog_path(given)
    return path, read_catalog(path)


def _contribution(
    unit: str | None, *, public: bool, rows: int | None, groups: int | None
) -> Contribution | None:
    from quaestor.curator.catalog.tables import MOST_GROUPS, MOST_ROWS
    from quaestor.curator.language.query import Contribution

    if public == (unit is not None):
        valid = "the column that says whom a row is about, or else give --public"
        raise InvalidParameter("--unit", unit, valid)
    if public:
        return None
    for option, given, most in (("--rows", rows, MOST_ROWS), ("--groups", groups, MOST_GROUPS)):
        if given is None or not 1 <= given <= most:
            valid = f"given with --unit: a whole number from 1 to {most}"
            raise InvalidParameter(option, given, valid)
    return Contribution(rows=rows or 1, groups=groups or 1)


def _seen_from(folder: Path, given: str | None) -> str | None:
    """A path that was typed here, as the catalog is to have it."""
    if given is None or "://" in given or Path(given).is_absolute():
        return given
    return Path(os.path.relpath(given, folder)).as_posix()


def _by_column(option: str, given: list[str] | None) -> dict[str, str]:
    facts: dict[str, str] = {}
    for text in given or []:
        column, equals, fact = text.partition("=")
        if not equals or column in facts:
            example = {"bounds": "0:120", "keys": "F,M", "granularity": "0.1", "kind": "date"}
            valid = f"COLUMN={example[option]}, once for each column"
            raise InvalidParameter(f"--{option}", text, valid)
        facts[column] = fact
    return facts
