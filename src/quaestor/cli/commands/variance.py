"""The ``variance`` command: how much noise k answers need, beside the papers' formulas."""

from __future__ import annotations

from typing import Annotated

import typer

from quaestor.accounting.numerics.digits import TO_TYPE, rounded_up, typed
from quaestor.accounting.papers.least_variance import least_variances
from quaestor.cli.drawing.numbers import print_json, print_table, say
from quaestor.cli.options import Delta, Epsilon, Json

__all__ = ["variance"]


def variance(
    epsilon: Epsilon,
    delta: Delta,
    count: Annotated[int, typer.Option("--count", "-k", help="The number of answers.")],
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute the least noise, by mechanism, with which a number of answers meets a target."""
    rows = least_variances(epsilon=epsilon, delta=delta, count=count)
    if json:
        print_json(
            {
                "epsilon": epsilon,
                "delta": delta,
                "count": count,
                "rows": [
                    {
                        "release": str(row.release),
                        "variance": row.variance,
                        "paper": row.paper,
                        "source": row.source or None,
                        "stated": row.stated,
                    }
                    for row in rows
                ],
            }
        )
        return
    print_table(
        f"variance of one answer of {count}: epsilon = {typed(epsilon)}, delta = {typed(delta)}",
        ["noise", "#variance", "#paper", "stated in"],
        (
            [
                type(row.release).__name__,
                rounded_up(row.variance, digits=TO_TYPE),
                "-" if row.paper is None else rounded_up(row.paper, digits=TO_TYPE),
                row.source,
            ]
            for row in rows
        ),
    )
    for row in rows:
        if row.source and not row.stated:
            say(f"[dim]{row.source}: proved only for other targets[/dim]")
