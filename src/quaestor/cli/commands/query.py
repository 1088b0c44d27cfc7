"""The ``query`` and ``preview`` commands: questions to private tables, answered and paid for."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.cli.arguments.files import writing_to
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import CatalogFile, Json
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.session import Curator

__all__ = ["AnswerForm", "preview", "query", "submit"]


class AnswerForm(StrEnum):
    """The forms in which an answer can be had."""

    table = "table"
    csv = "csv"
    json = "json"
    arrow = "arrow"


Sql = Annotated[
    str,
    typer.Argument(
        metavar="SQL", help='Such as "SELECT COUNT(*) FROM visits".', show_default=False
    ),
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="What it may cost, geometric noise.")
]
Rho = Annotated[float | None, typer.Option("--rho", help="What it may cost, Gaussian noise.")]
Within = Annotated[
    float | None, typer.Option("--within", help="How far off counts and sums may be, at most.")
]
Confidence = Annotated[
    float, typer.Option("--confidence", help="How surely they are to be --within that.")
]
Of = Annotated[str | None, typer.Option("--of", help="The column that --within is about.")]
Delta = Annotated[
    float | None,
    typer.Option("--delta", "-d", help="For private groups, if not a hundredth of the account's."),
]
Account = Annotated[str | None, typer.Option("--account", help="Who pays, if there are several.")]
Analyst = Annotated[
    str, typer.Option("--analyst", envvar="QUAESTOR_ANALYST", help="Who asks, if there are quotas.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", help="Rows of one unit in a group, if fewer than declared.")
]
Groups = Annotated[
    int | None, typer.Option("--groups", help="Groups of one unit, if fewer than declared.")
]


MemberOf = Annotated[
    list[str] | None, typer.Option("--member-of", help="A group that you are in; repeat it.")
]
Anew = Annotated[
    bool, typer.Option("--anew", help="Pay for another answer, though there may be one.")
]


def query(  # noqa: PLR0913  # what, for how much, on whose account, in which form
    sql: Sql,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = 0.95,
    of: Of = None,
    delta: Delta = None,
    account: Account = None,
    analyst: Analyst = "",
    purpose: Annotated[str, typer.Option("--purpose", help="Why, kept with the charge.")] = "",
    rows: Rows = None,
    groups: Groups = None,
    anew: Anew = False,  # noqa: FBT002
    approval: Annotated[
        str, typer.Option("--approval", help="What account submit has printed, once approved.")
    ] = "",
    member_of: MemberOf = None,
    audience: Annotated[
        str, typer.Option("--audience", help="Who may see it: analyst, everybody, group:NAME.")
    ] = "",
    catalog: CatalogFile = None,
    form: Annotated[
        AnswerForm, typer.Option("--format", help="How to show the answer.")
    ] = AnswerForm.table,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file for the answer, if not this terminal.")
    ] = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Ask private tables in SQL: the answer has noise, error bars, a cost and a receipt.

    Say how much it may cost (--epsilon or --rho), or how accurate it is to be (--within).
    The same question again costs nothing, unless it is asked --anew. Exit status 3: the account
    cannot pay.
    """
    form = AnswerForm.json if json else form
    _check_out(out, form)
    with _curator(catalog) as curator:
        answer = curator.ask(
            sql,
            **_budget(epsilon, rho, within, confidence, of),
            delta=delta,
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
            anew=anew,
            approval=approval,
            member_of=tuple(member_of or ()),
            audience=audience,
        )
        _show(answer, curator, form=form, out=out, analyst=analyst)


def preview(  # noqa: PLR0913  # as for a query
    sql: Sql,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = 0.95,
    of: Of = None,
    delta: Delta = None,
    account: Account = None,
    analyst: Analyst = "",
    rows: Rows = None,
    groups: Groups = None,
    anew: Anew = False,  # noqa: FBT002
    member_of: MemberOf = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """What a question would cost, and how accurate it would be; nothing is charged or read."""
    from quaestor.cli.drawing.answers import print_preview

    with _curator(catalog) as curator:
        seen = curator.preview(
            sql,
            **_budget(epsilon, rho, within, confidence, of),
            delta=delta,
            account=account,
            analyst=analyst,
            rows=rows,
            groups=groups,
            anew=anew,
            member_of=tuple(member_of or ()),
        )
    if json:
        print_json(seen.to_dict())
        return
    print_preview(seen)


def submit(  # noqa: PLR0913  # as for a query
    sql: Sql,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = 0.95,
    of: Of = None,
    delta: Delta = None,
    account: Account = None,
    analyst: Analyst = "",
    purpose: Annotated[str, typer.Option("--purpose", help="Why, for who decides.")] = "",
    rows: Rows = None,
    groups: Groups = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Ask for approval of a question, as it will be given to query; it costs nothing."""
    with _curator(catalog) as curator:
        payer, made = curator.submit(
            sql,
            **_budget(epsilon, rho, within, confidence, of),
            delta=delta,
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
        )
    if json:
        print_json({"account": payer, "approval": made, "status": "submitted"})
        return
    say(f"submitted to account {payer} as {made}: somebody else can approve it", plain=True)
    say(f"then ask the same with  quaestor query ... --approval {made}", plain=True)


@contextmanager
def _curator(given: Path | None) -> Iterator[Curator]:
    from quaestor.cli.drawing.progress import waiting
    from quaestor.curator.catalog.catalog_file import read_catalog
    from quaestor.curator.catalog.nearest import catalog_path
    from quaestor.curator.session import Curator

    with (
        waiting() as progress,
        Curator(read_catalog(catalog_path(given)), progress=progress) as curator,
    ):
        yield curator


def _budget(
    epsilon: float | None,
    rho: float | None,
    within: float | None,
    confidence: float,
    of: str | None,
) -> dict[str, Any]:
    from quaestor.curator.pricing.accuracy import Accuracy

    if sum(given is not None for given in (epsilon, rho, within)) != 1:
        raise InvalidParameter(
            "budget", None, "given in one way: --epsilon 0.1, --rho 0.005 or --within 50"
        )
    if within is None:
        return {"epsilon": epsilon, "rho": rho}
    return {"accuracy": Accuracy(within=within, confidence=confidence, of=of)}


def _check_out(out: Path | None, form: AnswerForm) -> None:
    """See that the answer will have a place before it is paid for."""
    if out is None:
        if form is AnswerForm.arrow:
            raise InvalidParameter("--out", None, "a file, for Arrow is not for terminals")
        return
    if out.is_dir() or not out.parent.is_dir():
        raise InvalidParameter("--out", str(out), "a file in a folder that there is")


def _show(
    answer: Answer, curator: Curator, *, form: AnswerForm, out: Path | None, analyst: str
) -> None:
    from quaestor.cli.drawing.answers import print_answer

    account = curator.account(str(answer.account))
    standing = account.standing_on(answer.dataset, analyst=analyst)
    if form is AnswerForm.table and out is None:
        print_answer(answer, standing)
    elif form is AnswerForm.json and out is None:
        print_json({**json_module.loads(answer.to_json()), "repeated": answer.repeated})
    elif form is AnswerForm.csv and out is None:
        typer.echo(answer.to_csv(), nl=False)
    elif out is not None:
        _write(answer, form, out)
        if form is AnswerForm.json:
            print_json({"out": str(out), "account": answer.account, "receipt": answer.receipt})
        else:
            receipt = "" if answer.receipt is None else f", receipt {answer.receipt}"
            say(f"Wrote {out}{receipt} of account {answer.account}", plain=True)


def _write(answer: Answer, form: AnswerForm, out: Path) -> None:
    with writing_to(out, otherwise="; ask again, it costs nothing"):
        if form is AnswerForm.arrow:
            from pyarrow import feather

            feather.write_feather(answer.to_arrow(), str(out), compression="uncompressed")
        elif form is AnswerForm.json:
            out.write_text(answer.to_json() + "\n", encoding="utf-8")
        elif form is AnswerForm.csv:
            out.write_text(answer.to_csv(), encoding="utf-8")
        else:
            from rich.console import Console

            with out.open("w", encoding="utf-8") as stream:
                Console(file=stream, highlight=False, width=200).print(answer)
