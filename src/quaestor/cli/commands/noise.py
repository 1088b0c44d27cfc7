"""The commands about noise and error: ``matrix``, and ``variance`` beside the papers' formulas."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaestor.accounting.compose import compose
from quaestor.accounting.numerics.digits import TO_TYPE, rounded_up, typed
from quaestor.accounting.papers.least_variance import least_variances
from quaestor.accounting.releases import ContinualCounting, MatrixMechanism
from quaestor.cli.drawing.numbers import print_json, print_table, say
from quaestor.cli.options import Delta, Epsilon, Json
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases.base import Release
    from quaestor.accounting.releases.derived.correlated_noise import CorrelatedNoise

__all__ = ["matrix", "variance"]

_EXACT = 1e-9


class StrategyName(StrEnum):
    """The strategies by name; trees differ in the error of their totals, not in privacy."""

    identity = "identity"
    prefix_sums = "prefix-sums"
    binary_tree = "binary-tree"
    honaker_tree = "honaker-tree"
    square_root = "square-root"


def matrix(  # noqa: PLR0913  # the matrix, the noise and who takes part when
    delta: Delta,
    sigma: Annotated[float, typer.Option(help="The standard deviation of the noise on Cx.")],
    file: Annotated[
        Path | None,
        typer.Option("--file", help="A CSV file with the matrix C: one row a line, no header."),
    ] = None,
    strategy: Annotated[
        StrategyName, typer.Option(help="A matrix by name, for running totals, in place of a file.")
    ] = StrategyName.square_root,
    steps: Annotated[int | None, typer.Option(help="The number of steps of the strategy.")] = None,
    bands: Annotated[
        int | None, typer.Option(help="Keep so many diagonals of the square root.")
    ] = None,
    participations: Annotated[
        int, typer.Option(help="The most steps that one person takes part in.")
    ] = 1,
    separation: Annotated[
        int, typer.Option(help="The least number of steps between two of them.")
    ] = 1,
    periodic: Annotated[  # noqa: FBT002
        bool, typer.Option("--periodic", help="Every epoch has the same order.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            help=(
                "Cyclic Poisson sampling: in every separation-th step a person is sampled with "
                "this probability. Needs columns no longer than the separation."
            )
        ),
    ] = None,
    sensitivity: Annotated[
        float, typer.Option(help="How far one person moves one step, such as the clipping norm.")
    ] = 1.0,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Compute the epsilon of DP-FTRL or a matrix mechanism, and the error of its running totals."""
    schema = {
        "sigma": sigma,
        "participations": participations,
        "separation": separation,
        "periodic": periodic,
        "sensitivity": sensitivity,
    }
    described: CorrelatedNoise
    if file is not None:
        if steps is not None or bands is not None:
            raise InvalidParameter("--file", str(file), "given without --steps and --bands")
        described = MatrixMechanism(matrix=_rows(file), **schema)  # type: ignore[arg-type]
    elif steps is None:
        raise InvalidParameter("--steps", None, "given, or a matrix with --file")
    else:
        name = strategy.value.replace("-", "_")
        described = ContinualCounting(steps=steps, strategy=name, bands=bands, **schema)  # type: ignore[arg-type]
    released = described if rate is None else described.cyclic_poisson(rate=rate)
    _print(described, released, delta, json)


def _print(described: CorrelatedNoise, released: Release, delta: float, json: bool) -> None:  # noqa: FBT001
    epsilon = compose(released).epsilon_bounds(delta=delta)
    moved, error = described.sensitivity_bounds(), described.counting_error()
    sampled = released is not described
    if json:
        print_json(
            {
                "epsilon": {"lower": epsilon.lower, "upper": epsilon.upper},
                "delta": delta,
                "release": released.to_dict(),
                "sensitivity": None if sampled else {"lower": moved.lower, "upper": moved.upper},
                "error": {"root_mean_square": error.root_mean_square, "largest": error.largest},
            }
        )
        return
    say(f"epsilon = [bold]{rounded_up(epsilon.upper)}[/bold] at delta = {typed(delta)}")
    if sampled:
        say(f"[dim]as {released}[/dim]")
    elif moved.relative_width < _EXACT:
        say(f"[dim]sensitivity of Cx: {rounded_up(moved.upper)}, which is attained[/dim]")
    else:
        say(
            f"[dim]sensitivity of Cx: at most {rounded_up(moved.upper)}; some pattern of "
            f"participation reaches {moved.lower:.6g}[/dim]"
        )
    say(
        f"standard deviation of a running total: {error.root_mean_square:.6g} "
        f"(root mean square), {error.largest:.6g} (largest)"
    )


def _rows(file: Path) -> list[list[float]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidParameter("--file", str(file), f"a readable CSV file ({problem})") from None
    try:
        return [[float(cell) for cell in line.split(",")] for line in lines if line.strip()]
    except ValueError as problem:
        raise InvalidParameter("--file", str(file), f"numbers and commas only: {problem}") from None


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
