"""Measure everything, show it, and keep it in ``docs/benchmarks``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.cases import CASES
from benchmarks.comparison import Comparison
from benchmarks.isolation import measure
from benchmarks.machine import load, machine
from benchmarks.peers import NOBODY, OURS, rivals
from benchmarks.report import Results, markdown, tables
from benchmarks.source import fingerprint
from benchmarks.startup import STARTUPS, median_seconds
from benchmarks.text import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.case import Case

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "composition.md"
_WIDE = 230  # columns, where the output is not a terminal


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the slowest peer cases")
    parser.add_argument("--only", metavar="PATTERN", help="cases whose name matches, as in '*40*'")
    arguments = parser.parse_args()
    cases = [case for case in CASES if fnmatch(case.name, arguments.only or "*")]
    if not cases:
        parser.error(f"no case matches {arguments.only!r}; there are: {_names(CASES)}")

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    measured = fingerprint(OURS)
    results = _run(cases, console, quick=arguments.quick)
    for table in tables(results):
        console.print(table)
    if arguments.quick or arguments.only:
        console.print(f"{RESULTS.name} is left alone: only a full run writes it.")
    elif fingerprint(OURS) != measured:
        console.print(f"{RESULTS.name} is left alone: quaestor's source changed during the run.")
        raise SystemExit(1)
    else:
        RESULTS.write_text(markdown(results), encoding="utf-8")
        console.print(f"Written: {RESULTS.name}")


def _run(cases: Sequence[Case], console: Console, *, quick: bool) -> Results:
    before = load()
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(STARTUPS) + len(cases))
        startups = {}
        for startup in STARTUPS:
            progress.update(task, description=startup.name)
            startups[startup.name] = median_seconds(startup)
            progress.advance(task)
        rows = []
        for case in cases:
            progress.update(task, description=case.name)
            for row in _compared(case, quick=quick):
                console.print(summary(row), style="dim")
                rows.append(row)
            progress.advance(task)
    loads = {"load before, after": f"{before}, {load()} (the benchmark itself is 1)"}
    return Results(machine=machine() | loads, rows=rows, startups=startups)


def _compared(case: Case, *, quick: bool) -> Iterator[Comparison]:
    for question in case.questions:
        ours = measure(OURS, case, question)
        for peer in rivals(case) or (NOBODY,):
            skipped = peer == NOBODY or (quick and case.slow)
            theirs = None if skipped else measure(peer, case, question)
            row = Comparison(case=case, question=question, peer=peer, ours=ours, theirs=theirs)
            if row.peers_width is not None:
                alike = measure(OURS, case, question, width=row.peers_width)
                row = replace(row, alike=alike)
            yield row


def _names(cases: Sequence[Case]) -> str:
    return ", ".join(case.name for case in cases)


if __name__ == "__main__":
    main()
