"""The curator: tables stay where they are, analysts ask, a ledger pays, answers carry noise.

::

    from quaestor.curator import Curator, col, count, mean, table

    with Curator.from_file("quaestor.toml") as curator:
        print(curator.ask("SELECT COUNT(*) FROM visits", epsilon=0.1).to_csv())
        asked = table("visits").where(col("age") >= 18).aggregate(n=count(), cost=mean("cost"))
        print(curator.ask(asked, rho=0.01).to_csv())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.builder.tables import (
        Question,
        absolute,
        case,
        ceil,
        clamp,
        coalesce,
        col,
        count,
        count_distinct,
        cube,
        exp,
        floor,
        greatest,
        grouping,
        grouping_sets,
        least,
        ln,
        lower,
        mean,
        median,
        month,
        quantile,
        rollup,
        rounded,
        sqrt,
        stddev,
        table,
        total,
        upper,
        variance,
        year,
    )
    from quaestor.curator.plan_question import PlanQuestion
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.curator.session import Curator

__all__ = [
    "Accuracy",
    "Answer",
    "Curator",
    "PlanQuestion",
    "Preview",
    "Question",
    "absolute",
    "case",
    "ceil",
    "clamp",
    "coalesce",
    "col",
    "count",
    "count_distinct",
    "cube",
    "exp",
    "floor",
    "greatest",
    "grouping",
    "grouping_sets",
    "least",
    "ln",
    "lower",
    "mean",
    "median",
    "month",
    "quantile",
    "rollup",
    "rounded",
    "sqrt",
    "stddev",
    "table",
    "total",
    "upper",
    "variance",
    "year",
]

_HOMES = {
    "Accuracy": "quaestor.curator.pricing.accuracy",
    "Answer": "quaestor.curator.answers.answer",
    "Curator": "quaestor.curator.session",
    "PlanQuestion": "quaestor.curator.plan_question",
    "Preview": "quaestor.curator.preview",
}
_BUILDER = "quaestor.curator.builder.tables"


def __getattr__(name: str) -> Any:
    """Bring a public name when it is first used: engines and parsers are heavy."""
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, _BUILDER)), name)
    if not name.startswith("_") and name in (made := _aggregates()):
        return made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and the builder's function for every aggregate that there is."""
    return sorted({*__all__, *_aggregates()})


def _aggregates() -> dict[str, Any]:
    from quaestor.curator.aggregates import builder_functions

    return builder_functions()
