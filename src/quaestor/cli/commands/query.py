"""The ``query`` and ``preview`` commands: questions to private tables, answered and paid for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.cli.arguments.files import check_picture
from quaestor.cli.arguments.question_plan import read_question_plan
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.drawing.shown_answers import Shown, show, show_plan
from quaestor.cli.options import CatalogFile, Json, Verbose, exit_status
from quaestor.cli.question_options import (
    Account,
    Analyst,
    Anew,
    Confidence,
    Delta,
    Epsilon,
    Groups,
    MemberOf,
    Noise,
    Of,
    QuantileIntervals,
    Rho,
    Rows,
    Server,
    Sql,
    SqlOrPlan,
    Token,
    WholeError,
    Within,
)
from quaestor.errors import InvalidParameter, MissingExtra, QuaestorError

if TYPE_CHECKING:
    from quaestor.client.remote_curator import RemoteCurator
    from quaestor.curator.answers.forms import Form
    from quaestor.curator.session import Curator

__all__ = ["AnswerForm", "preview", "query", "submit"]

_USUAL_CONFIDENCE = 0.95


class AnswerForm(StrEnum):
    """The forms in which an answer can be had, as ``quaestor.curator.answers.forms`` has them."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    html = "html"
    latex = "latex"
    arrow = "arrow"
    parquet = "parquet"
    xlsx = "xlsx"


def query(  # noqa: PLR0913  # what, for how much, on whose account, in which form
    sql: SqlOrPlan = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = _USUAL_CONFIDENCE,
    of: Of = None,
    delta: Delta = None,
    quantile_intervals: QuantileIntervals = True,  # noqa: FBT002
    account: Account = None,
    analyst: Analyst = "",
    purpose: Annotated[
        str,
        typer.Option(
            "--purpose", help="The purpose of the question, in one line; stored with the charge."
        ),
    ] = "",
    rows: Rows = None,
    groups: Groups = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            help="A TOML file of questions to answer in order, together.",
        ),
    ] = None,
    whole_error: WholeError = None,
    noise: Noise = None,
    anew: Anew = False,  # noqa: FBT002
    approval: Annotated[
        str,
        typer.Option(
            "--approval", help='The approval ID that "account submit" printed, once approved.'
        ),
    ] = "",
    member_of: MemberOf = None,
    audience: Annotated[
        str,
        typer.Option(
            "--audience", help="Who may see the answer: analyst, everybody or group:NAME."
        ),
    ] = "",
    catalog: CatalogFile = None,
    server: Server = None,
    token: Token = "",
    form: Annotated[
        AnswerForm | None,
        typer.Option(
            "--format",
            help=(
                "The format of the answer; by default a table, or what the ending of --out implies."
            ),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help=(
                "The file to write the answer to: .csv, .parquet, .arrow, .json, .xlsx, .md, "
                ".html, .tex or .txt."
            ),
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            help="Also draw the answer with its intervals into this .svg, .png or .pdf file.",
        ),
    ] = None,
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Answer a SQL question with noise, and charge it to an account.

    Give its cost (--epsilon or --rho) or its accuracy (--within). The answer has error bars and
    a receipt. The same question again costs nothing, unless you add --anew. The exit status is 3
    if the account has too little budget left.

    A plan file has one table [[questions]] per question: sql, epsilon (or rho, or within), purpose.
    Each question is charged and answered, or refused, by itself.
    """
    if plan is not None:
        _refuse_beside_plan(sql, epsilon, rho, within, of, delta, rows, groups, whole_error, noise)
        _refuse_for_plan(
            format=form,
            out=out,
            plot=plot,
            confidence=None if confidence == _USUAL_CONFIDENCE else confidence,
        )
        if not quantile_intervals:
            _refuse_for_plan(**{"no-quantile-intervals": True})
        asked_for, questions = read_question_plan(plan)
        terms: dict[str, Any] = {
            "account": account,
            "purpose": purpose or asked_for,
            "anew": anew,
            "approval": approval,
            "audience": audience,
        }
        if server is not None:
            with _remote(server, token, catalog, analyst, member_of) as remote:
                outcomes = remote.ask_many(questions, **terms)
            show_plan(questions, outcomes, None, analyst="", json=json, verbose=verbose)
        else:
            with _curator(catalog) as curator:
                members = tuple(member_of or ())
                outcomes = curator.ask_many(questions, **terms, analyst=analyst, member_of=members)
                show_plan(questions, outcomes, curator, analyst=analyst, json=json, verbose=verbose)
        failed = [type(each) for each in outcomes if isinstance(each, QuaestorError)]
        if failed:
            raise typer.Exit(exit_status(failed[0]))
        return
    question = _given(sql)
    wanted = Shown(form=_form(out, form, json=json), out=out, plot=plot, json=json)
    _check_plot(plot)
    asked = {
        **_budget(epsilon, rho, within, confidence, of),
        "delta": delta,
        "quantile_intervals": quantile_intervals,
        "account": account,
        "purpose": purpose,
        "rows": rows,
        "groups": groups,
        "whole_error": whole_error,
        "noise": noise,
        "anew": anew,
        "approval": approval,
        "audience": audience,
    }
    if server is not None:
        with _remote(server, token, catalog, analyst, member_of) as remote:
            answer = remote.ask(question, **asked)
        show(answer, None, wanted, analyst="", verbose=verbose)
        return
    with _curator(catalog) as curator:
        answer = curator.ask(question, **asked, analyst=analyst, member_of=tuple(member_of or ()))
        show(answer, curator, wanted, analyst=analyst, verbose=verbose)


def preview(  # noqa: PLR0913  # as for a query
    sql: Sql,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = _USUAL_CONFIDENCE,
    of: Of = None,
    delta: Delta = None,
    quantile_intervals: QuantileIntervals = True,  # noqa: FBT002
    account: Account = None,
    analyst: Analyst = "",
    rows: Rows = None,
    groups: Groups = None,
    whole_error: WholeError = None,
    noise: Noise = None,
    anew: Anew = False,  # noqa: FBT002
    member_of: MemberOf = None,
    catalog: CatalogFile = None,
    server: Server = None,
    token: Token = "",
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show what a question would cost and how accurate it would be; no charge, no data read."""
    from quaestor.cli.drawing.answers import print_preview

    asked = {
        **_budget(epsilon, rho, within, confidence, of),
        "delta": delta,
        "quantile_intervals": quantile_intervals,
        "account": account,
        "rows": rows,
        "groups": groups,
        "whole_error": whole_error,
        "noise": noise,
        "anew": anew,
    }
    if server is not None:
        with _remote(server, token, catalog, analyst, member_of) as remote:
            seen = remote.preview(sql, **asked)
    else:
        with _curator(catalog) as curator:
            seen = curator.preview(sql, **asked, analyst=analyst, member_of=tuple(member_of or ()))
    if json:
        print_json(seen.to_dict())
        return
    print_preview(seen, verbose=verbose)


def submit(  # noqa: PLR0913  # as for a query
    sql: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL",
            help="The question in SQL, exactly as it will be asked.",
            show_default=False,
        ),
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = _USUAL_CONFIDENCE,
    of: Of = None,
    delta: Delta = None,
    quantile_intervals: QuantileIntervals = True,  # noqa: FBT002
    account: Account = None,
    analyst: Analyst = "",
    purpose: Annotated[
        str,
        typer.Option(
            "--purpose",
            help="The purpose of the question, in one line, for the person who decides.",
        ),
    ] = "",
    rows: Rows = None,
    groups: Groups = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", help="A TOML file of questions to submit together under one ID."),
    ] = None,
    whole_error: WholeError = None,
    noise: Noise = None,
    catalog: CatalogFile = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Submit a question, or a plan of several, for approval; this costs nothing.

    A plan file has one table [[questions]] per question: sql, epsilon (or rho, or within), purpose.
    """
    if plan is not None:
        _refuse_beside_plan(sql, epsilon, rho, within, delta, rows, groups)
        asked_for, questions = read_question_plan(plan)
        with _curator(catalog) as curator:
            payer, made = curator.submit_plan(
                questions, account=account, analyst=analyst, purpose=purpose or asked_for
            )
        _submitted(payer, made, questions=len(questions), json=json)
        return
    question = _given(sql)
    with _curator(catalog) as curator:
        payer, made = curator.submit(
            question,
            **_budget(epsilon, rho, within, confidence, of),
            delta=delta,
            quantile_intervals=quantile_intervals,
            account=account,
            analyst=analyst,
            purpose=purpose,
            rows=rows,
            groups=groups,
            whole_error=whole_error,
            noise=noise,
        )
    _submitted(payer, made, questions=0, json=json)


def _given(sql: str | None) -> str:
    if sql is None:
        valid = "given: a question in SQL; or give --plan FILE with several questions"
        raise InvalidParameter("SQL", None, valid)
    return sql


def _refuse_for_plan(**given: object) -> None:
    """Options that are for one answer only."""
    valid = "left out with --plan; a question's own options belong into the file"
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(f"--{name}", str(value), valid)


def _refuse_beside_plan(*given: object) -> None:
    if any(each is not None for each in given):
        valid = "given without SQL and its options, which the file has for each question"
        raise InvalidParameter("--plan", "a file and a question", valid)


def _submitted(payer: str, made: str, *, questions: int, json: bool) -> None:
    if json:
        several = {"questions": questions} if questions else {}
        print_json({"account": payer, "approval": made, "status": "submitted", **several})
        return
    what = f"a plan of {questions} questions, " if questions > 1 else ""
    say(f"{what}submitted to account {payer} as {made}: another person can approve it", plain=True)
    then = "each question, as it is in the file," if questions > 1 else "the same"
    say(f"After approval, ask {then} with  quaestor query ... --approval {made}", plain=True)


@contextmanager
def _remote(
    server: str, token: str, catalog: Path | None, analyst: str, member_of: list[str] | None
) -> Iterator[RemoteCurator]:
    """The curator behind a service; who asks is known there by the token."""
    import quaestor
    from quaestor.cli.drawing.progress import waiting

    if not token:
        valid = (
            "given, with --token or the environment variable QUAESTOR_TOKEN; an owner of "
            "the service can create one for you"
        )
        raise InvalidParameter("--token", None, valid)
    for name, given in (("catalog", catalog), ("analyst", analyst), ("member-of", member_of)):
        if given:
            valid = "left out with --server, because the service sets it"
            raise InvalidParameter(f"--{name}", str(given), valid)
    with waiting() as progress:
        yield quaestor.connect(server, token=token, progress=progress)


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
            "budget", None, "given in exactly one way: --epsilon 0.1, --rho 0.005 or --within 50"
        )
    if within is None:
        return {"epsilon": epsilon, "rho": rho}
    return {"accuracy": Accuracy(within=within, confidence=confidence, of=of)}


def _form(out: Path | None, named: AnswerForm | None, *, json: bool) -> Form:
    """The form that is wanted; that it has a place is seen before it is paid for."""
    from quaestor.curator.answers.forms import FORMS, form_for

    if out is None:
        form = FORMS[AnswerForm.json if json else (named or AnswerForm.table)]
        if not form.text:
            raise InvalidParameter("--out", None, f"given: the format {form.name} needs a file")
        return form
    _check_folder("--out", out)
    return form_for(out, name=named)


def _check_folder(option: str, out: Path | None) -> None:
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise InvalidParameter(option, str(out), "a file in an existing folder")


def _check_plot(plot: Path | None) -> None:
    """See that a picture can be drawn before the answer is paid for."""
    check_picture("--plot", plot)
    _check_folder("--plot", plot)
    if plot is not None and find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", extra="plot", purpose="drawing")
