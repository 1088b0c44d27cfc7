"""The ``demo`` command: the curator's story on a real study, and the accountant's on a year."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaestor.accounting.compose import compose
from quaestor.accounting.expressions import parse_releases
from quaestor.accounting.numerics.digits import rounded_up
from quaestor.cli.drawing.numbers import print_explanation, print_json, say
from quaestor.cli.options import Json
from quaestor.errors import InvalidParameter

__all__ = ["demo"]

_DELTA = 1e-6
_YEAR = {
    "a count every week": "52 * ApproxDP(epsilon=0.05, delta=1e-9)",
    "a report every month": "12 * ApproxDP(epsilon=0.2, delta=1e-8)",
    "one table for a study": "PureDP(epsilon=0.5)",
}


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for the files that the demo writes.")
    ] = Path("demo"),
    accounting: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--accounting", help="Run the accounting demo instead: a hospital's year of releases."
        ),
    ] = False,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Run a demo: a liver study in SQL, with a dozen answers, their cost, a refusal and the truth.

    With --accounting: what a hospital's year of releases costs by every theorem, with a figure.
    """
    if accounting:
        _year(out, json=json)
        return
    from quaestor.cli.demo.story import fresh_folder, story

    told = story(fresh_folder(out), aloud=not json)
    if json:
        print_json(told)


def _year(out: Path, *, json: bool) -> None:
    from quaestor.figures.region import draw_regions

    year = compose(*(release for text in _YEAR.values() for release in parse_releases(text)))
    explanation = year.explain(delta=_DELTA)
    regions = [
        (text, compose(*parse_releases(text)).tradeoff().vertices(at_most=201))
        for text in _YEAR.values()
    ]
    regions.append(("the whole year", year.tradeoff().vertices(at_most=201)))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        valid = f"a folder that can be created ({problem.strerror})"
        raise InvalidParameter("out", str(out), valid) from None
    for name in ("region.svg", "region.png"):
        draw_regions(regions, out=out / name)
    if json:
        print_json({"out": str(out), "releases": list(_YEAR.values()), **explanation.to_dict()})
        return
    say("[bold]A hospital's year of releases about the same patients[/bold]")
    for purpose, expression in _YEAR.items():
        say(f"  {purpose:<24}{expression}")
    say("")
    print_explanation(explanation)
    basic = next(iter(explanation)).bounds
    best = year.epsilon_bounds(delta=_DELTA)
    if basic is not None:
        say(
            f"Adding up epsilons gives {rounded_up(basic.upper)}; the optimal bound is "
            f"[bold]{rounded_up(best.upper)}[/bold]."
        )
    picture = out / "region.svg"
    say(f"A figure of what an attacker can do is in {picture} (and .png).", plain=True)
