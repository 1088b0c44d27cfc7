"""The accountant's commands: epsilon, delta, explain, calibrate, count."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

import typer

from quaestor.accounting.calibrate import calibrate_expressions, largest_count
from quaestor.accounting.compose import Composition, compose, compose_nonadaptive
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.digits import TO_TYPE, rounded_down, rounded_up, typed
from quaestor.accounting.releases import PureDP
from quaestor.cli.arguments.release_list import read_releases
from quaestor.cli.drawing.numbers import interval, print_explanation, print_json, say
from quaestor.cli.options import REFUSED, Delta, Epsilon, Expressions, Json, Verbose
from quaestor.errors import InvalidParameter

__all__ = ["calibrate", "count", "delta", "epsilon", "explain"]

Width = Annotated[
    float | None,
    typer.Option(
        "--width",
        help=(
            "The relative width of the certified interval, such as 1e-6; narrower takes longer. "
            "If it is out of reach, the answer says so."
        ),
    ),
]
AtMost = Annotated[
    float | None,
    typer.Option(
        "--at-most",
        help=(
            "A limit, for scripts: the exit status is 3 unless the result is certainly within it."
        ),
    ),
]
NonAdaptive = Annotated[
    bool,
    typer.Option(
        "--non-adaptive",
        help=(
            "Assume that every query is fixed before the first answer, as on a "
            "dashboard. Unsound otherwise."
        ),
    ),
]
OptionalEpsilon = Annotated[
    float | None,
    typer.Option("--epsilon", "-e", help="Compare the theorems by their delta at this epsilon."),
]
OptionalDelta = Annotated[
    float | None,
    typer.Option("--delta", "-d", help="Compare the theorems by their epsilon at this delta."),
]


def _composed(expressions: list[str], *, in_advance: bool) -> Composition:
    releases = read_releases(expressions)
    return compose_nonadaptive(*releases) if in_advance else compose(*releases)


def epsilon(  # noqa: PLR0913  # what, at which delta, how closely, for whom
    releases: Expressions,
    delta: Delta,
    width: Width = None,
    at_most: AtMost = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute the smallest epsilon of all releases together, at a delta."""
    composed = _composed(releases, in_advance=non_adaptive)
    bounds = composed.epsilon_bounds(delta=delta, width=width)
    _print_bounds(
        {"epsilon": bounds},
        {"delta": delta},
        composed.theorem,
        _Asked(width, at_most),
        verbose=verbose,
        json=json,
    )


def delta(  # noqa: PLR0913  # as for epsilon
    releases: Expressions,
    epsilon: Epsilon,
    width: Width = None,
    at_most: AtMost = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute the smallest delta of all releases together, at an epsilon."""
    composed = _composed(releases, in_advance=non_adaptive)
    bounds = composed.delta_bounds(epsilon=epsilon, width=width)
    _print_bounds(
        {"delta": bounds},
        {"epsilon": epsilon},
        composed.theorem,
        _Asked(width, at_most),
        verbose=verbose,
        json=json,
    )


class _Asked(NamedTuple):
    width: float | None
    at_most: float | None


def _print_bounds(  # noqa: PLR0913  # what was found, and how it is wanted
    found: dict[str, Bounds],
    at: dict[str, float],
    theorem: str,
    asked: _Asked,
    *,
    verbose: bool,
    json: bool,
) -> None:
    at_most = asked.at_most
    [(name, bounds)], [(given, value)] = found.items(), at.items()
    if at_most is not None and not at_most >= 0:
        raise InvalidParameter("--at-most", at_most, "0 or a positive number")
    holds = at_most is None or bounds.upper <= at_most
    if json:
        ends = {"lower": bounds.lower, "upper": bounds.upper}
        limit = {} if at_most is None else {"at_most": at_most, "holds": holds}
        print_json({name: ends, given: value, "theorem": theorem, **limit, **_width(bounds, asked)})
    else:
        say(f"{name} = [bold]{rounded_up(bounds.upper)}[/bold] at {given} = {typed(value)}")
        say(f"[dim]theorem: {theorem}[/dim]")
        if verbose:
            say(f"[dim]certified interval {interval(bounds)}[/dim]")
        if bounds.missed_width is not None:
            say(f"The width was not reached: {bounds.shortfall}. The answer is true all the same.")
        if at_most is not None:
            say(_verdict(bounds, at_most))
    if not holds:
        raise typer.Exit(REFUSED)


def _width(bounds: Bounds, asked: _Asked) -> dict[str, object]:
    """Of a width that was asked for, what became of it."""
    if asked.width is None:
        return {}
    reached = bounds.missed_width is None
    return {"width": {"asked": asked.width, "found": bounds.relative_width, "reached": reached}}


def _verdict(bounds: Bounds, at_most: float) -> str:
    limit = f"the limit of {typed(at_most)}"
    if bounds.upper <= at_most:
        return f"within {limit}"
    if bounds.lower > at_most:
        return f"above {limit}"
    return f"not certain to be within {limit}: the certified upper bound is {bounds.upper!r}"


def explain(
    releases: Expressions,
    delta: OptionalDelta = None,
    epsilon: OptionalEpsilon = None,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compare every composition theorem: its result, or why it does not apply, and the tightest."""
    explanation = _composed(releases, in_advance=non_adaptive).explain(delta=delta, epsilon=epsilon)
    if json:
        print_json(explanation.to_dict())
        return
    print_explanation(explanation)


def calibrate(
    releases: Expressions,
    epsilon: Epsilon,
    delta: Delta,
    verbose: Verbose = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Find the value of the one "?" that meets a target: least noise, or largest epsilon."""
    found = calibrate_expressions(releases, epsilon=epsilon, delta=delta)
    bounds = found.bounds
    if json:
        print_json(
            {
                "parameter": found.parameter,
                "value": found.value,
                "bounds": {"lower": bounds.lower, "upper": bounds.upper},
                "epsilon": epsilon,
                "delta": delta,
                "releases": [str(release) for release in found.releases],
            }
        )
        return
    rounding = rounded_down if found.rises else rounded_up
    shown = rounding(found.value, digits=TO_TYPE)
    say(f"{found.parameter} = [bold]{shown}[/bold] fits {_target(epsilon, delta)}")
    if verbose:
        say(f"[dim]certified: the best value is in {interval(bounds)}[/dim]")


def _target(epsilon: float, delta: float) -> str:
    return f"epsilon = {typed(epsilon)}, delta = {typed(delta)}"


def count(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE",
            help='One release, quoted, such as "PureDP(epsilon=0.1)".',
            show_default=False,
        ),
    ],
    epsilon: Epsilon,
    delta: Delta,
    non_adaptive: NonAdaptive = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute how many times a release fits within a target."""
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
    say(f"count = [bold]{largest}[/bold] fits {_target(epsilon, delta)}")
    if others:
        say(
            f"[dim]{others['black_boxes']} if only epsilon is known; "
            f"{others['non_adaptive']} if every query is fixed before the first "
            "answer[/dim]"
        )
