"""The ``account report`` command: what the ledger knows, in the forms that others ask for."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quaestor.cli.arguments.files import writing_to
from quaestor.cli.arguments.opened_ledger import opened
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import HERE, AccountName, CatalogFile, Json, LedgerPlace

__all__ = ["ReportForm", "report"]


class ReportForm(StrEnum):
    """Which report it is."""

    REGISTRY = "registry"
    NIST = "nist"


def report(  # noqa: PLR0913  # which, of what, and where to
    name: AccountName,
    form: Annotated[
        ReportForm,
        typer.Option(
            "--format",
            help=(
                "The kind of report. registry: a record for the OpenDP deployments registry "
                "(YAML, tier 3). nist: a worksheet based on NIST SP 800-226 (Markdown)."
            ),
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write to; by default standard output.")
    ] = None,
    catalog: CatalogFile = None,
    ledger: LedgerPlace = HERE,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Write a report about an account, filled in from the ledger and the catalog.

    What only a person can answer is marked TO BE FILLED IN. The report is for the owner; it does
    not mention single analysts, purposes or answers.
    """
    from quaestor.curator.catalog.nearest import nearest_catalog
    from quaestor.curator.reports.deployment_facts import facts_of
    from quaestor.curator.reports.nist_worksheet import nist_worksheet
    from quaestor.curator.reports.registry_record import registry_record

    with opened(ledger) as book:
        facts = facts_of(book, name, nearest_catalog(catalog))
    text = registry_record(facts) if form is ReportForm.REGISTRY else nist_worksheet(facts)
    missing = text.count("TO BE FILLED IN:")
    if out is not None:
        with writing_to(out):
            out.write_text(text, encoding="utf-8")
    if json:
        described = {"account": name, "format": form.value, "to_fill_in": missing}
        print_json(
            {**described, "out": str(out)} if out is not None else {**described, "text": text}
        )
    elif out is None:
        typer.echo(text, nl=False)
    else:
        say(f"written to {out}; {missing} answers are TO BE FILLED IN", plain=True)
