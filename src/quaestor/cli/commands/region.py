"""The ``region`` command: what an attacker can do, drawn and in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.expressions import parse_releases
from quaestor.cli.arguments.files import check_picture
from quaestor.cli.drawing.numbers import print_json, print_table, say
from quaestor.cli.options import Json
from quaestor.errors import InvalidParameter

__all__ = ["region"]

_ALARMS = (0.01, 0.05, 0.1)


def region(  # noqa: PLR0913  # what may be drawn
    releases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RELEASE...",
            help=(
                'The releases of one curve, quoted and joined with "+"; repeat for several curves.'
            ),
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Draw the curves into this .svg, .png or .pdf file."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help=(
                "Reproduce a figure instead: 1, 2 or 3 of Kairouz, Oh and Viswanath; range for "
                "Figure 1 of Dong, Durfee and Rogers; databases or beliefs for Hartmann, "
                "Bindschaedler and West."
            )
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="With --figure: the epsilon of each release."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            "-d",
            help="With --figure: the delta of each release, or of the total if the figure has one.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-k", help="With --figure: how many releases, selections or databases."
        ),
    ] = None,
    log: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--log", help="Draw with logarithmic axes: detections against rare false alarms."
        ),
    ] = False,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Show the privacy region: the false alarm and missed detection rates of the best attack."""
    check_picture("out", out)
    own = {"--epsilon": epsilon, "--delta": delta, "--count": count}
    if figure is not None:
        if releases:
            raise InvalidParameter("releases", releases[0], "left out with --figure")
        if log:
            raise InvalidParameter("--log", log, "left out with --figure")
        _paper_figure(figure, out, own, json=json)
        return
    for option, value in own.items():
        if value is not None:
            raise InvalidParameter(option, value, "left out without --figure")
    curves = [(text, _curve(text)) for text in releases or []]
    if not curves:
        raise InvalidParameter(
            "releases", None, "given: the releases of at least one curve (or --figure)"
        )
    if out is not None:
        from quaestor.figures.region import draw_regions

        corners = [(text, curve.tradeoff().vertices(at_most=201)) for text, curve in curves]
        draw_regions(corners, out=out, log=log)
    if json:
        print_json(
            {
                "out": None if out is None else str(out),
                "curves": [_numbers(text, curve) for text, curve in curves],
            }
        )
        return
    _table(curves)
    if out is not None:
        say(f"figure written to {out}", plain=True)


def _curve(text: str) -> Composition:
    return compose(*parse_releases(text))


def _paper_figure(number: str, out: Path | None, own: dict[str, Any], *, json: bool) -> None:
    from quaestor.paper_figures.catalogue import NOT_COUNTED, PAPER_FIGURES
    from quaestor.paper_figures.parameters import FigureParameters

    if number not in PAPER_FIGURES:
        raise InvalidParameter("figure", number, f"one of {', '.join(map(str, PAPER_FIGURES))}")
    path = out if out is not None else Path(f"figure{number}.svg")
    if number in NOT_COUNTED and own["--count"] is not None:
        raise InvalidParameter("--count", own["--count"], f"left out of figure {number}")
    given = {option.removeprefix("--"): value for option, value in own.items()}
    PAPER_FIGURES[number](path, FigureParameters(**given))
    if json:
        asked = {name: value for name, value in given.items() if value is not None}
        print_json({"out": str(path), "figure": number, **asked})
    else:
        say(f"figure {number} written to {path}", plain=True)


def _numbers(text: str, curve: Composition) -> dict[str, Any]:
    tradeoff, advantage = curve.tradeoff(), curve.advantage()
    misses = {alarm: tradeoff.false_negative_bounds(false_positive=alarm) for alarm in _ALARMS}
    return {
        "releases": text,
        "advantage": {"lower": advantage.lower, "upper": advantage.upper},
        "false_negative": [
            {"false_positive": alarm, "lower": missed.lower, "upper": missed.upper}
            for alarm, missed in misses.items()
        ],
        "vertices": [list(vertex) for vertex in tradeoff.vertices(at_most=201)],
    }


def _table(curves: list[tuple[str, Composition]]) -> None:
    for number, (text, _) in enumerate(curves, start=1):
        say(f"curve {number}: {text}", plain=True)
    rows: dict[str, list[str]] = {}
    for _, curve in curves:
        for name, value in curve.tradeoff().attack_rows():
            rows.setdefault(name, []).append(value)
    print_table(
        "The best attack",
        ["", *(f"#curve {number}" for number in range(1, len(curves) + 1))],
        ([name, *values] for name, values in rows.items()),
    )
