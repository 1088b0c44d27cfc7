"""Options and arguments of the commands that take a question: one wording for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

__all__ = [
    "Account",
    "Analyst",
    "Anew",
    "Confidence",
    "Delta",
    "Epsilon",
    "Groups",
    "MemberOf",
    "Noise",
    "Of",
    "QuantileIntervals",
    "Rho",
    "Rows",
    "Server",
    "Sql",
    "SqlOrPlan",
    "Token",
    "WholeError",
    "Within",
]

Sql = Annotated[
    str,
    typer.Argument(
        metavar="SQL",
        help='The question in SQL, quoted, such as "SELECT COUNT(*) FROM visits".',
        show_default=False,
    ),
]
SqlOrPlan = Annotated[
    str | None,
    typer.Argument(
        metavar="SQL",
        help='The question in SQL, quoted, such as "SELECT COUNT(*) FROM visits".',
        show_default=False,
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="The most that the question may cost, in epsilon at the account's delta.",
    ),
]
Rho = Annotated[
    float | None,
    typer.Option(
        "--rho",
        help=("The cost of the question in rho (zero-concentrated privacy), with Gaussian noise."),
    ),
]
Within = Annotated[
    float | None,
    typer.Option(
        "--within",
        help=("The largest error of counts and sums, in their own unit; the cost follows from it."),
    ),
]
Confidence = Annotated[
    float,
    typer.Option("--confidence", help="The probability with which intervals, and --within, hold."),
]
Of = Annotated[
    str | None,
    typer.Option(
        "--of", help="The output column that --within applies to; by default all counts and sums."
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        "-d",
        help=(
            "The delta for showing groups whose names are private; by default a "
            "hundredth of the account's."
        ),
    ),
]
QuantileIntervals = Annotated[
    bool,
    typer.Option(
        "--quantile-intervals/--no-quantile-intervals",
        help="Whether medians and quantiles spend a quarter of their cost on an interval.",
    ),
]
Account = Annotated[
    str | None,
    typer.Option("--account", help="The account that pays; needed if several cover the dataset."),
]
Analyst = Annotated[
    str,
    typer.Option(
        "--analyst",
        envvar="QUAESTOR_ANALYST",
        help="The name of the analyst; needed if the account has quotas.",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", help="The most rows of one person that count in a group; by default as declared."
    ),
]
Groups = Annotated[
    int | None,
    typer.Option(
        "--groups", help="The most groups in which one person counts; by default as declared."
    ),
]


MemberOf = Annotated[
    list[str] | None,
    typer.Option("--member-of", help="A group that you are in; repeat for several."),
]
WholeError = Annotated[
    bool | None,
    typer.Option(
        "--whole-error/--no-whole-error",
        help=(
            "Whether a tenth of the cost pays for intervals that also cover what caps "
            "and bounds cut; on by default, except for planned and dashboard accounts."
        ),
        show_default=False,
    ),
]
Noise = Annotated[
    Literal["geometric", "gaussian"] | None,
    typer.Option(
        "--noise",
        help=(
            "The noise to draw: geometric, or gaussian with --within; by default whichever "
            "is better for the question on its account."
        ),
        show_default=False,
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="QUAESTOR_SERVER",
        help="The address of a Quaestor service to ask, instead of local data.",
    ),
]
Token = Annotated[
    str, typer.Option("--token", envvar="QUAESTOR_TOKEN", help="The API token for --server.")
]
Anew = Annotated[
    bool,
    typer.Option(
        "--anew", help="Pay for a new answer even if the same question was answered before."
    ),
]
