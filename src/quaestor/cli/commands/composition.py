"""The accountant's commands: epsilon, delta, explain, calibrate, count."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from quaestor.accounting.calibrate import calibrate_bounds, largest_count
from quaestor.accounting.compose import Composition, compose, compose_nonadaptive
from quaestor.accounting.explain import Explanation
from quaestor.accounting.expressions import parse_release, parse_releases, parse_templates
from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.accounting.releases import PureDP
from quaestor.cli.drawing.numbers import (
    interval,
    print_json,
    print_table,
    say,
)
from quaestor.errors import InvalidParameter

__all__ = [
    "Expressions",
    "Json",
    "calibrate",
    "count",
    "delta",
    "epsilon",
    "explain",
    "print_explanation",
]

Expressions = Annotated[
    list[str],
    typer.Argument(
        metavar="RELEASE...",
        help='Such as "ApproxDP(epsilon=0.1, delta=1e-8) * 30".',
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="The total epsilon.")]
Delta = Annotated[float, typer.Option("--delta", "-d", help="The total delta.")]
Width = Annotated[
    float | None,
    typer.Option("--width", help="Ask for an interval of this relative width, such as 1e-6."),
]
NonAdaptive = Annotated[
    bool,
    typer.Option(
        "--non-adaptive",
        help="Every query is fixed before the first answer (a dashboard). Unsound otherwise.",
    ),
]
OptionalEpsilon = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="Ask for delta at this epsilon.")
]
OptionalDelta = Annotated[
    float | None, typer.Option("--delta", "-d", help="Ask for epsilon at this delta.")
]


def _composed(expressions: list[str], *, in_advance: bool) -> Composition:
    releases = (release for text in expressions for release in parse_releases(text))
    return compose_nonadaptive(*releases) if in_advance else compose(*releases)


def epsilon(
    releases: Expressions,
    delta: Delta,
    width: Width = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """The smallest epsilon that is true of all these releases together, at a delta."""
    composed = _composed(releases, in_advance=non_adaptive)
    bounds = composed.epsilon_bounds(delta=delta, width=width)
    if json:
        print_json(
            {
                "epsilon": {"lower": bounds.lower, "upper": bounds.upper},
                "delta": delta,
                "theorem": composed.theorem,
            }
        )
        return
    say(f"epsilon = [bold]{rounded_up(bounds.upper)}[/bold] at delta = {delta!r}")
    say(f"[dim]certified {interval(bounds)}, theorem: {composed.theorem}[/dim]")


def delta(
    releases: Expressions,
    epsilon: Epsilon,
    width: Width = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """The smallest delta that is true of all these releases together, at an epsilon."""
    composed = _composed(releases, in_advance=non_adaptive)
    bounds = composed.delta_bounds(epsilon=epsilon, width=width)
    if json:
        print_json(
            {
                "delta": {"lower": bounds.lower, "upper": bounds.upper},
                "epsilon": epsilon,
                "theorem": composed.theorem,
            }
        )
        return
    say(f"delta = [bold]{rounded_up(bounds.upper)}[/bold] at epsilon = {epsilon!r}")
    say(f"[dim]certified {interval(bounds)}, theorem: {composed.theorem}[/dim]")


def explain(
    releases: Expressions,
    delta: OptionalDelta = None,
    epsilon: OptionalEpsilon = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Every theorem side by side: what it says, or why it says nothing, and which one wins."""
    explanation = _composed(releases, in_advance=non_adaptive).explain(delta=delta, epsilon=epsilon)
    if json:
        print_json(explanation.to_dict())
        return
    print_explanation(explanation)


def print_explanation(explanation: Explanation) -> None:
    """Draw the theorems side by side, the winner marked."""
    print_table(
        f"{explanation.quantity} at {explanation.given} = {explanation.value!r}",
        ["", "theorem", f"#{explanation.quantity}", "stated in"],
        (
            [
                ">" if row.best else "",
                f"[bold]{row.theorem}[/bold]" if row.best else row.theorem,
                "-" if row.bounds is None else rounded_up(row.bounds.upper),
                row.source,
            ]
            for row in explanation
        ),
    )
    for row in explanation:
        if row.note:
            say(f"[dim]{row.theorem}: {row.note}[/dim]")


def calibrate(
    releases: Expressions,
    epsilon: Epsilon,
    delta: Delta,
    json: Json = False,  # noqa: FBT002
) -> None:
    """The value of the one "?" that fits the target: least noise, or the largest epsilon."""
    templates = [template for text in releases for template in parse_templates(text)]
    unknown = [template for template in templates if template.unknown is not None]
    if len(unknown) != 1:
        raise InvalidParameter(
            "releases", f"{len(unknown)} of them", 'such that exactly one holds a "?"'
        )

    def build(value: float) -> Composition:
        return compose(*(template.build(value) for template in templates))

    bounds = calibrate_bounds(build, epsilon=epsilon, delta=delta)
    rises = build(bounds.upper).delta(epsilon=epsilon) > delta
    value = bounds.lower if rises else bounds.upper
    name = unknown[0].unknown
    if json:
        print_json(
            {
                "parameter": name,
                "value": value,
                "bounds": {"lower": bounds.lower, "upper": bounds.upper},
                "epsilon": epsilon,
                "delta": delta,
                "releases": [str(template.build(value)) for template in templates],
            }
        )
        return
    shown = rounded_down(value) if rises else rounded_up(value)
    say(f"{name} = [bold]{shown}[/bold] fits epsilon = {epsilon!r}, delta = {delta!r}")
    say(f"[dim]the best value lies in {interval(bounds)}[/dim]")


def count(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE", help='Such as "PureDP(epsilon=0.1)".', show_default=False
        ),
    ],
    epsilon: Epsilon,
    delta: Delta,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """How many times a release may be made within a target."""
    described = parse_release(release)
    fitting = partial(largest_count, epsilon=epsilon, delta=delta)
    largest = fitting(described, in_advance=non_adaptive)
    others: dict[str, int] = {}
    single, times = described.counted()
    if single.range_epsilon is not None:
        others["black_boxes"] = fitting(PureDP(epsilon=single.range_epsilon) * times)
        others["non_adaptive"] = fitting(described, in_advance=True)
    if json:
        target = {"epsilon": epsilon, "delta": delta}
        print_json({"count": largest, "release": str(described), **target, **others})
        return
    say(f"count = [bold]{largest}[/bold] fits epsilon = {epsilon!r}, delta = {delta!r}")
    if others:
        say(
            f"[dim]{others['black_boxes']} as black boxes; {others['non_adaptive']} if every query "
            "is fixed before the first answer[/dim]"
        )
