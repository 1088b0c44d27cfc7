"""The ``init`` and ``dataset`` commands: writing the catalog, and reading what it says."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.declared_tables import print_declared, print_tables
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import HERE, CatalogFile, Json, LedgerPlace
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog

__all__ = ["add", "dataset", "init", "list_tables", "refreshed", "show"]

dataset = typer.Typer(
    help="The tables that questions may be asked about.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


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
        from quaestor.curator.catalog.model import ENGINES
        from quaestor.curator.catalog.sources import source_keys

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
    outer_rows: Annotated[
        int | None, typer.Option(help="Rows that one unit has in a group, for the whole error.")
    ] = None,
    outer_groups: Annotated[
        int | None, typer.Option(help="Groups that one unit really is in, for the whole error.")
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
    outer_bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LOW:HIGH", help="Where it really lies, for the whole error."),
    ] = None,
    granularity: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=STEP", help="What sums are rounded to.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=KIND", help="If not what its type says.")
    ] = None,
    replace: Annotated[  # noqa: FBT002
        bool, typer.Option("--replace", help="Declare a table anew that is there already.")
    ] = False,
    separator: Annotated[
        str | None, typer.Option(help="What stands between fields: ';', '\\t', '|'.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text files: utf-8, windows-1252, latin-1, utf-16.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="The decimal mark of numbers in text files: . or ,")
    ] = None,
    thousands: Annotated[
        str | None, typer.Option(help="What groups digits by thousands in text files.")
    ] = None,
    date_format: Annotated[
        str | None, typer.Option(help="How dates are written in text files: %d.%m.%Y")
    ] = None,
    null: Annotated[
        list[str] | None, typer.Option(help="A text that means no value, such as NA.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns."),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The columns in their order, with --no-header."),
    ] = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Declare a table in the catalog, from its schema; no value of it is written there.

    Facts are given by column, as often as needed: --bounds age=0:120, --keys sex=F,M,
    --granularity weight=0.1, --kind visited=date. Of CSV files and JSON lines the bytes are
    checked against the encoding on this machine.
    """
    from quaestor.cli.arguments.table_declaration import TableOptions, table_declaration
    from quaestor.curator.catalog import add_table
    from quaestor.curator.catalog.catalog_edit import declared_anew, replace_table
    from quaestor.curator.reports.table_description import table_description

    path, known = _read(catalog)  # what is there already must be right first
    facts = {
        "bounds": bounds,
        "keys": keys,
        "granularity": granularity,
        "kind": kind,
        "outer-bounds": outer_bounds,
    }
    options = TableOptions(
        name=name,
        place={**places.obj, "table": table, "engine": engine},
        unit=unit,
        public=public,
        rows=rows,
        groups=groups,
        total_rows=total_rows,
        outer_rows=outer_rows,
        outer_groups=outer_groups,
        dataset=to,
        facts=facts,
        format={
            "separator": separator,
            "encoding": encoding,
            "decimal": decimal,
            "thousands": thousands,
            "date_format": date_format,
            "null": null or None,
            "header": header,
            "names": None if names is None else [part.strip() for part in names.split(",")],
        },
    )
    made = table_declaration(options, folder=path.parent)
    before = known.table(name) if replace else None
    if before is not None:
        added = replace_table(path, declared_anew(made.table, before)).table(name)
    else:
        added = add_table(path, made.table).table(name)
    if added is None:  # what was just read back
        raise InvalidParameter("table", name, "a name that can be found again")
    if json:
        said = {"left_out": list(made.left_out), "notes": list(made.notes)}
        print_json({"catalog": str(path), **table_description(added), **said})
        return
    say(f"Added to {path}:", plain=True)
    print_declared(added)
    for note in made.notes:
        say(f"Note: {note}", plain=True)
    if made.left_out:
        say(
            f"Left out, for their types or names cannot be asked about: {', '.join(made.left_out)}",
            plain=True,
        )
    say(f"Next:  quaestor dataset check {name}  (exact figures, for your eyes only)", plain=True)


@dataset.command("list")
def list_tables(
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """The tables of the catalog, and whose rows they hold."""
    from quaestor.curator.reports.table_description import table_description

    path, known = _read(catalog)
    if json:
        print_json({"catalog": str(path), "tables": [table_description(t) for t in known.tables]})
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
    from quaestor.curator.reports.table_description import table_description

    path, known = _read(catalog)
    table = known.table(name)
    if table is None:
        near = nearest(name, [each.name for each in known.tables])
        hint = f"did you mean {near!r}?" if near else "see  quaestor dataset list"
        raise InvalidParameter("table", name, f"one of the catalog ({hint})")
    if json:
        print_json({"catalog": str(path), **table_description(table)})
        return
    print_declared(table)


@dataset.command("refreshed")
def refreshed(
    name: Annotated[str, typer.Argument(help="The dataset.")],
    version: Annotated[str, typer.Option(help="What to call the data from here on.")],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Record that a dataset has new rows, with every account that covers it; budgets stay.

    Answers say from here on which version they are of; query --anew asks for another one.
    """
    with opened(ledger) as book:
        accounts = book.refreshed(name, version=version)
    if json:
        print_json({"dataset": name, "version": version, "accounts": list(accounts)})
        return
    said = f"dataset {name} has data version {version} from here on"
    say(f"{said}, recorded with {', '.join(accounts)}", plain=True)


def _read(given: Path | None) -> tuple[Path, Catalog]:
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path

    path = catalog_path(given)
    return path, read_catalog(path)
