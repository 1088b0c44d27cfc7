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
    help="Declare, list, check and tune the tables of the catalog.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def init(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="[FOLDER]",
            help="The folder for the new quaestor.toml; by default this folder.",
            show_default=False,
        ),
    ] = Path(),
    json: Json = False,  # noqa: FBT002
) -> None:
    """Write a commented quaestor.toml to start from; an existing file is never overwritten."""
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
        named["engine"].help = (
            f"The database engine: {', '.join(some)} or {last}; by default the one that "
            "the place implies."
        )
        return [name, *places, *rest]

    def invoke(self, ctx: Any) -> Any:
        from quaestor.curator.catalog.sources import source_keys

        ctx.obj = {key: ctx.params.pop(key) for key in source_keys()}
        return super().invoke(ctx)


@dataset.command("add", cls=_WithPlaces)
def add(  # noqa: PLR0913  # a table has as many sides
    name: Annotated[str, typer.Argument(help="The name of the table in SQL.")],
    places: typer.Context,
    table: Annotated[
        str | None, typer.Option(help="The name of the table in its database; by default NAME.")
    ] = None,
    engine: Annotated[str | None, typer.Option()] = None,
    unit: Annotated[
        str | None, typer.Option(help="The privacy unit: the column that identifies a person.")
    ] = None,
    public: Annotated[  # noqa: FBT002
        bool, typer.Option("--public", help="The table is public: its rows are not about people.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(help="The most rows of one person that count in a group.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="The most groups in which one person counts.")
    ] = None,
    total_rows: Annotated[
        int | None, typer.Option(help="The most rows of one person that count in total.")
    ] = None,
    outer_rows: Annotated[
        int | None,
        typer.Option(
            help=("The most rows that one person can have in a group; for whole-error intervals.")
        ),
    ] = None,
    outer_groups: Annotated[
        int | None,
        typer.Option(help="The most groups that one person can be in; for whole-error intervals."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--dataset", help="The dataset whose account pays for questions; by default NAME."
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH",
            help="The lower and upper bound of a numeric column, from public knowledge.",
        ),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=A,B,...",
            help="The values of a column for GROUP BY, from public knowledge.",
        ),
    ] = None,
    outer_bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH",
            help="The widest possible range of a numeric column; for whole-error intervals.",
        ),
    ] = None,
    granularity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=STEP",
            help="The step to which values of a column are rounded, such as 0.1.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=KIND",
            help=(
                "The kind of a column (integer, real, text, boolean, date, timestamp); by "
                "default from its type."
            ),
        ),
    ] = None,
    replace: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--replace", help="Replace the declaration of a table that the catalog already has."
        ),
    ] = False,
    separator: Annotated[
        str | None,
        typer.Option(help="CSV files: the character between fields, such as ';', '\\t' or '|'."),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Text files: the encoding, such as utf-8, windows-1252, latin-1 or utf-16."
        ),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Text files: the decimal mark of numbers: . or ,")
    ] = None,
    thousands: Annotated[
        str | None,
        typer.Option(help="Text files: the character between thousands, such as a comma."),
    ] = None,
    date_format: Annotated[
        str | None, typer.Option(help="Text files: the format of dates, such as %d.%m.%Y")
    ] = None,
    null: Annotated[
        list[str] | None,
        typer.Option(
            help=("Text files: a text that means a missing value, such as NA; repeat for several.")
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Text files: whether the first line names the columns."
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Text files with --no-header: the names of the columns, in order.",
        ),
    ] = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Add a table to the catalog, from its schema; no value of the data is written there.

    Declare public facts by column and repeat the options as needed: --bounds age=0:120,
    --keys sex=F,M, --granularity weight=0.1, --kind visited=date. CSV and JSON lines files are
    checked against their encoding, on this machine.
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
        added = replace_table(path, declared_anew(path, made.table, before)).table(name)
    else:
        added = add_table(path, made.table).table(name)
    if added is None:  # what was just read back
        raise InvalidParameter("table", name, "a name that the catalog can store")
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
            (
                "Left out, because their types or names are not supported: "
                f"{', '.join(made.left_out)}"
            ),
            plain=True,
        )
    say(
        (f"Next:  quaestor dataset check {name}  (prints exact figures, for the data owner only)"),
        plain=True,
    )


@dataset.command("list")
def list_tables(
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """List the tables of the catalog with their privacy units and datasets."""
    from quaestor.curator.reports.table_description import table_description

    path, known = _read(catalog)
    if json:
        print_json({"catalog": str(path), "tables": [table_description(t) for t in known.tables]})
        return
    if not known.tables:
        say(
            (
                f"{path} has no tables yet. Add one with  quaestor dataset add NAME --file "
                "data.parquet --unit COLUMN --rows 20 --groups 5"
            ),
            plain=True,
        )
        return
    print_tables(known.tables)


@dataset.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The name of the table.")],
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show what the catalog declares about a table, and what is still missing."""
    from quaestor.curator.catalog.sections import nearest
    from quaestor.curator.reports.table_description import table_description

    path, known = _read(catalog)
    table = known.table(name)
    if table is None:
        near = nearest(name, [each.name for each in known.tables])
        hint = f"did you mean {near!r}?" if near else "see  quaestor dataset list"
        raise InvalidParameter("table", name, f"a table of the catalog ({hint})")
    if json:
        print_json({"catalog": str(path), **table_description(table)})
        return
    print_declared(table)


@dataset.command("refreshed")
def refreshed(
    name: Annotated[str, typer.Argument(help="The name of the dataset.")],
    version: Annotated[
        str, typer.Option(help="A label for the new version of the data, such as 2026-11.")
    ],
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Record that a dataset has new rows, with every account that covers it; budgets stay.

    From then on answers name the version of the data; query --anew asks again on the new data.
    """
    with opened(ledger) as book:
        accounts = book.refreshed(name, version=version)
    if json:
        print_json({"dataset": name, "version": version, "accounts": list(accounts)})
        return
    said = f"dataset {name} is now at data version {version}"
    say(f"{said}, recorded with {', '.join(accounts)}", plain=True)


def _read(given: Path | None) -> tuple[Path, Catalog]:
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path

    path = catalog_path(given)
    return path, read_catalog(path)
