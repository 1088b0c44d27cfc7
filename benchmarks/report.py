"""The same results twice: a table on the screen, and a file to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.isolation import MEMORY_LIMIT, TIME_LIMIT, TOO_LONG_TO_REPEAT
from benchmarks.speed import slower_than_wanted
from benchmarks.targets import targets
from benchmarks.text import COLUMNS, cells, duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.comparison import Comparison

__all__ = ["Results", "markdown", "tables"]

_NOTES = f"""\
Every measurement has a process of its own, limited to {MEMORY_LIMIT // 2**30} GiB of address \
space and to {TIME_LIMIT:.0f} s for
the first answer. *First* is the first call of that process after imports; *warm* is the median of
later calls, each from new objects (what a library keeps for itself between calls stays: quaestor
keeps quadrature rules and the probability of failure, neither of which is an answer). Calls over
{TOO_LONG_TO_REPEAT:.0f} s are not repeated. *Peer / ours* divides the peer's warm time by ours: \
below 1 the peer is
faster. *Memory* is the largest resident size of each process, imports included. The first call
pays for what a library imports only when it is needed.

*Quaestor* is the upper end of a certified interval of the given *width*; the truth lies inside.
*Below the truth* means below the lower end: the peer promises more privacy than there is. In
brackets: how far the peer is from the nearer end of our interval, as a share of it.

*dp-accounting* runs on its defaults (grid 1e-4, tails cut at 1e-15, pessimistic) and joins
different groups one after another, as its own accountant does; *tree* joins them in pairs, which
its user has to write, on the grid of 1e-4 or the one that is named. *prv-accountant* is asked for
an error of 0.01 or 0.1 in epsilon and of a thousandth of delta, as it advises; its upper bound is
shown, and *misses the truth* means that its lower bound lies above our upper one. Equal Gaussians
are one wider Gaussian to dp-accounting, as in its own accountant.

*One more* asks a history that has been priced already what one further, different release makes of
it; no peer can say so without composing the history again.

The targets for speed compare *at equal tightness*: with the fastest peer whose answer is as near to
the truth as our interval is wide, or within a thousandth; if there is none, with the tightest.
Where a peer is further from the truth than our usual interval is wide, quaestor is asked once more,
with `width=` the peer's distance (in brackets), which it answers by the cheapest way that is as
narrow: *quaestor at the peer's width*. *Peer / that* divides by the quicker of both answers.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All that one run has found."""

    machine: Mapping[str, str]
    rows: Sequence[Comparison]
    startups: Mapping[str, float]


def tables(results: Results) -> Iterable[Table]:
    """The results for the screen."""
    rows = Table(*COLUMNS, title="Composition")
    for row in results.rows:
        rows.add_row(*cells(row))
    startups = Table("python", "seconds", title="Start-up")
    for name, seconds in results.startups.items():
        startups.add_row(name, duration(seconds))
    goals = Table("target", "measured", "met", title="Targets")
    for target in targets(results.rows, results.startups):
        goals.add_row(target.goal, target.measured, _met(met=target.met))
    return rows, startups, goals


def markdown(results: Results) -> str:
    """The results for the file."""
    goals = [
        (target.goal, target.measured, _met(met=target.met))
        for target in targets(results.rows, results.startups)
    ]
    started = [(f"`{name}`", duration(seconds)) for name, seconds in results.startups.items()]
    parts = (
        "# Benchmark results",
        "Written by `make benchmark`; not edited by hand.",
        "\n".join(f"- {name}: {value}" for name, value in results.machine.items()),
        "## Targets",
        _table(("target", "measured", "met"), goals),
        "## Composition",
        _NOTES.strip(),
        *_lost(results.rows),
        "### Black boxes",
        _table(COLUMNS, [cells(row) for row in results.rows if row.case.only_black_boxes]),
        "### Mechanisms, and mixtures",
        _table(COLUMNS, [cells(row) for row in results.rows if not row.case.only_black_boxes]),
        "## Start-up",
        "The median of five fresh processes; `pass` is Python alone.",
        _table(("python", "time"), started),
    )
    return "\n\n".join(parts) + "\n"


def _lost(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Where the target for speed is missed, and why."""
    lines = slower_than_wanted(rows)
    if not lines:
        return ()
    listed = "\n".join(f"- {line}" for line in lines)
    return ("### Below the target for speed", listed)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _met(*, met: bool | None) -> str:
    return "not measured" if met is None else "yes" if met else "**no**"
