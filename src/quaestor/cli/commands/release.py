"""The ``release`` command: one figure, with noise, its error and its cost."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.accounting.compose import compose
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.numerics.digits import rounded_up, typed
from quaestor.cli.arguments.files import read_numbers
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import Json
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.mechanisms.base import DescribedMechanism
    from quaestor.mechanisms.columns import Figure

__all__ = ["Statistic", "release"]


class Statistic(StrEnum):
    """What is released about a column."""

    SUM = "sum"
    COUNT = "count"
    MEAN = "mean"


def release(  # noqa: PLR0913  # the ways to say what is released
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM",
            help='The noise mechanism, quoted, such as "Geometric(scale=20)".',
            show_default=False,
        ),
    ],
    value: Annotated[
        str | None,
        typer.Option("--value", help="The number to release with noise.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--csv", help="A CSV file whose first line names the columns.", show_default=False
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--column", help="The name of a column of the CSV file.", show_default=False),
    ] = None,
    clamp: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--clamp",
            help="The lower and upper bound; values outside are moved to the nearer bound.",
            show_default=False,
        ),
    ] = None,
    statistic: Annotated[
        Statistic, typer.Option("--statistic", help="The statistic of the column to release.")
    ] = Statistic.SUM,
    delta: Annotated[
        float,
        typer.Option("--delta", "-d", help="The delta at which the cost in epsilon is computed."),
    ] = 1e-6,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Release a number, or a statistic of a CSV column, with exact noise, and print the cost."""
    from quaestor.mechanisms import mechanism_for
    from quaestor.mechanisms.columns import release_value

    drawing = mechanism_for(parse_release(mechanism))
    compose(drawing.loss).epsilon_bounds(delta=delta)  # a bad delta is found before the draw
    if (value is None) == (file is None):
        raise InvalidParameter("value", value, "given; or give --csv FILE and --column NAME")
    if file is None:
        _show(release_value(drawing, _number(str(value))), delta, json=json)
    else:
        _show(_of_column(drawing, read_numbers(file, column), clamp, statistic), delta, json=json)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise InvalidParameter("value", text, "a number") from None


def _of_column(
    drawing: DescribedMechanism,
    entries: list[float],
    clamp: tuple[float, float] | None,
    statistic: Statistic,
) -> Figure:
    from quaestor.mechanisms import release_count, release_mean, release_sum
    from quaestor.mechanisms.base import AdditiveNoise

    if not isinstance(drawing, AdditiveNoise):
        raise InvalidParameter("mechanism", drawing, "a mechanism that adds noise, for a column")
    if statistic is Statistic.COUNT:
        return release_count(drawing, entries)
    if clamp is None:
        raise InvalidParameter("clamp", clamp, f"given for a {statistic}: --clamp LOW HIGH")
    low, high = clamp
    released = release_sum if statistic is Statistic.SUM else release_mean
    return released(drawing, entries, low=low, high=high)


def _show(figure: Figure, delta: float, *, json: bool) -> None:
    from quaestor.mechanisms.columns import CONFIDENCE

    spent = compose(*figure.losses)
    bounds = spent.epsilon_bounds(delta=delta)
    releases = [str(loss) for loss in figure.losses]
    error = figure.error
    if json:
        within = None if error is None else {"lower": error.lower, "upper": error.upper}
        print_json(
            {
                "released": figure.released,
                "standard_error": figure.standard_error,
                "error": within,
                "confidence": None if error is None else CONFIDENCE,
                "releases": releases,
                "epsilon": {"lower": bounds.lower, "upper": bounds.upper},
                "delta": delta,
            }
        )
        return
    say(f"released = [bold]{figure.released!r}[/bold]")
    reach = "" if error is None else f", {CONFIDENCE:.0%} within {rounded_up(error.upper)}"
    say(f"standard error {rounded_up(figure.standard_error)}{reach}")
    say(f"cost: {' + '.join(releases)}", plain=True)
    say(f"epsilon = [bold]{rounded_up(bounds.upper)}[/bold] at delta = {typed(delta)}")
