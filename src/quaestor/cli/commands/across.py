"""The ``across`` command: many databases, and what is known about who can be where."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from quaestor.accounting.membership.plan_file import Plan
from quaestor.accounting.membership.result import AcrossComposition, WorstMemberships
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.digits import rounded_up, typed
from quaestor.cli.arguments.files import read_plan
from quaestor.cli.drawing.numbers import interval, print_json, print_table, say
from quaestor.cli.options import Delta, Json, Verbose

__all__ = ["across"]

_MOST_NAMES = 3


def across(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A TOML file with databases, releases and public facts.",
            show_default=False,
        ),
    ],
    delta: Delta,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help=(
                "Which databases count as neighbours: add_remove, replace or replace_record; "
                "by default the plan's."
            )
        ),
    ] = None,
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute the smallest epsilon across many databases, given facts about who is in which."""
    known = read_plan(plan)
    composed = known.composed(neighbours=neighbours)
    bounds = composed.epsilon_bounds(delta=delta)
    worst = composed.worst(delta=delta)
    naive = composed.naive().epsilon_bounds(delta=delta)
    if json:
        print_json(_described(known, composed, bounds, worst, naive, delta))
        return
    say(f"epsilon = [bold]{rounded_up(bounds.upper)}[/bold] at delta = {typed(delta)}")
    say(f"[dim]{composed.method}[/dim]")
    if verbose:
        say(f"[dim]certified interval {interval(bounds)}[/dim]")
    say(f"{len(composed.databases)} databases, neighbours: {composed.neighbours}")
    if worst is not None:
        say(f"worst case: {_people(worst.first)}, against {_people(worst.second)}", plain=True)
        say(f"the two cases differ in {len(worst.differing)} databases")
    parallel = composed.parallel_epsilon()
    print_table(
        "Other ways to count",
        ["", "#epsilon"],
        [
            ["[bold]given the facts[/bold]", rounded_up(bounds.upper)],
            ["naive: every person in every database", rounded_up(naive.upper)],
            [
                "parallel: changed databases times the largest epsilon",
                "-" if math.isinf(parallel) else rounded_up(parallel),
            ],
        ],
    )


def _people(names: tuple[str, ...]) -> str:
    if not names:
        return "a person in no database"
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"a person in {shown}" + (f" and {more} more" if more > 0 else "")


def _described(  # noqa: PLR0913  # an answer has as many parts
    plan: Plan,
    composed: AcrossComposition,
    bounds: Bounds,
    worst: WorstMemberships | None,
    naive: Bounds,
    delta: float,
) -> dict[str, Any]:
    return {
        "epsilon": {"lower": bounds.lower, "upper": bounds.upper},
        "delta": delta,
        "neighbours": composed.neighbours,
        "databases": len(composed.databases),
        "membership": plan.membership.to_dict(),
        "exact": composed.exact,
        "method": composed.method,
        "worst": None if worst is None else {k: list(v) for k, v in worst._asdict().items()},
        "naive": {"lower": naive.lower, "upper": naive.upper},
        "parallel": composed.parallel_epsilon(),
    }
