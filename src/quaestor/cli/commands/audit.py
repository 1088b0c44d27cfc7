"""The ``audit`` command: play the composition experiment against a mechanism."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaestor.accounting.numerics.digits import rounded_down, typed
from quaestor.accounting.releases.base import check_count
from quaestor.cli.arguments.files import check_picture
from quaestor.cli.drawing.numbers import print_json, say
from quaestor.cli.options import Json
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor.audit import Claim, Report, SequentialReport

__all__ = ["VIOLATED", "audit"]

VIOLATED = 4  # the exit status


def audit(  # noqa: PLR0913  # what an audit may be told
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help=(
                'What to audit: a release, such as "Geometric(scale=20)", or a Python '
                "function that takes a database, as module:function."
            ),
            show_default=False,
        ),
    ],
    neighbours: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--neighbours",
            metavar="A B",
            help="Two databases that differ in one person, as Python literals or module:name.",
            show_default=False,
        ),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            "--search",
            metavar="MODULE:NAME",
            help=(
                "Search for neighbours in this described space (audit.Rows or audit.Answers), "
                "instead of --neighbours."
            ),
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The claimed epsilon.", show_default=False),
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", "-d", help="The claimed delta.", show_default=False)
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", "-k", help="The number of answers per run.")
    ] = 1,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="The number of runs; more runs prove more.")
    ] = 100_000,
    confidence: Annotated[
        float, typer.Option("--confidence", help="The confidence of the result, between 0 and 1.")
    ] = 0.999,
    processes: Annotated[
        int,
        typer.Option("--processes", help="The number of processes that run the audit in parallel."),
    ] = 1,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            help=(
                "A seed for which database is used in each run; the noise itself is never seeded."
            ),
            show_default=False,
        ),
    ] = None,
    timing: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--timing", help="Audit how long the target takes instead of what it answers."
        ),
    ] = False,
    sequential: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--sequential",
            help=(
                "Stop as soon as the claim is refuted, with the same confidence; --runs is then "
                "the largest number of runs."
            ),
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Draw the result into this .svg, .png or .pdf file."),
    ] = None,
    json: Json = False,  # noqa: FBT002
) -> None:
    """Attack a mechanism: compute a lower bound on its epsilon and compare it with the claim.

    The exit status is 4 if the claim is false, with the stated confidence.
    """
    from quaestor.audit import Report, SequentialReport, Timed, audit_sequentially
    from quaestor.audit import audit as attack
    from quaestor.cli.arguments.audit_target import attacked_target

    check_picture("out", out)
    check_count("rounds", rounds)
    attacked, databases, promise, times = attacked_target(target, neighbours, space, rounds)
    if timing:
        function: Callable[[Any], Any] = getattr(attacked, "release", attacked)
        attacked = Timed(function)
    claim = _claim(promise, epsilon, delta)
    if sequential and (out is not None or processes > 1):
        raise InvalidParameter("sequential", sequential, "given without --out and --processes")
    told: dict[str, Any] = {"rounds": times, "runs": runs, "confidence": confidence, "seed": seed}
    report: Report | SequentialReport
    with _progress(runs, shown=not json) as advance:
        told |= {"neighbours": databases, "claim": claim, "progress": advance}
        if sequential:
            report = audit_sequentially(attacked, **told)
        else:
            report = attack(attacked, processes=processes, **told)
    if out is not None and isinstance(report, Report):
        _draw(report, out)
    if json:
        print_json({"target": target, "rounds": times, **report.to_dict()})
    elif isinstance(report, SequentialReport):
        _show_sequential(target, report)
    else:
        _show(target, report)
    if out is not None and not json:
        say(f"figure written to {out}", plain=True)
    if report.violated:
        raise typer.Exit(VIOLATED)


def _claim(promise: Any, epsilon: float | None, delta: float | None) -> Claim:
    from quaestor.audit import Claim

    if epsilon is not None:
        return Claim.of(epsilon=epsilon, delta=delta)
    if promise is not None:
        return Claim.of(promise, delta=delta)
    raise InvalidParameter("epsilon", epsilon, "given: the claimed epsilon of the target")


@contextmanager
def _progress(runs: int, *, shown: bool) -> Iterator[Callable[[int], None] | None]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("playing", total=runs)
        yield lambda played: bar.advance(task, played)


def _draw(report: Report, out: Path) -> None:
    from quaestor.figures.style import drawing

    if not report.curve:
        raise InvalidParameter("out", str(out), "left out with --timing: there is no curve to draw")
    with drawing(out, height=4.0) as (axes,):
        report.plot(axes=axes)


def _show_sequential(target: str, report: SequentialReport) -> None:
    say(f"{target}: {report.verdict}", plain=True)
    if report.test:
        say(f"last bets: {report.test} test, on {report.looks_at}", plain=True)
    for note in report.notes:
        say(note, plain=True)


def _show(target: str, report: Report) -> None:
    say(f"{target}: {report.verdict}", plain=True)
    say(f"{report.runs} runs: {report.judged} to measure the tests that the other runs selected")
    for finding in report.findings:
        counts, databases = finding.counts, ("first", "second")
        own, other = databases[finding.towards_one], databases[not finding.towards_one]
        at = f" (delta = {typed(finding.delta)})" if finding.delta else ""
        say(
            f"{finding.test} test, on {finding.looks_at}: flags "
            f"{counts.said_in_one} of {counts.runs_in_one} runs on the {own} database, "
            f"{counts.said_in_zero} of {counts.runs_in_zero} on the {other}: "
            f"epsilon at least {rounded_down(finding.epsilon)}{at}",
            plain=True,
        )
    for note in report.notes:
        say(note, plain=True)
