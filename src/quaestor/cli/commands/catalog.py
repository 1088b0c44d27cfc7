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
    from quaestor.cli.arguments.table_declaration import TableOptions, table_declaration
    from quaestor.curator.catalog import add_table
    from quaestor.curator.reports.table_description import table_description

    path, _ = _read(catalog)  # what is there already must be right first
    facts = {"bounds": bounds, "keys": keys, "granularity": granularity, "kind": kind}
    options = TableOptions(
        name=name,
        place={**places.obj, "table": table, "engine": engine},
        unit=unit,
        public=public,
        rows=rows,
        groups=groups,
        total_rows=total_rows,
        dataset=to,
        facts=facts,
    )
    declared, left_out = table_declaration(options, folder=path.parent)
    added = add_table(path, declared).table(name)
    if added is None:  # what was just read back
        raise InvalidParameter("table", name, "a name that can be found again")
    if json:
        print_json({"catalog": str(path), **table_description(added), "left_out": list(left_out)})
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
