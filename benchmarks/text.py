"""Numbers as the report writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.comparison import Verdict
from benchmarks.isolation import Measured
from benchmarks.peers import NOBODY

if TYPE_CHECKING:
    from benchmarks.comparison import Comparison
    from benchmarks.isolation import Outcome

__all__ = ["COLUMNS", "cells", "duration", "summary"]

COLUMNS = (
    "case",
    "question",
    "quaestor",
    "width",
    "peer",
    "peer says",
    "verdict",
    "quaestor first",
    "quaestor warm",
    "peer first",
    "peer warm",
    "peer / ours",
    "quaestor at the peer's width",
    "peer / that",
    "memory (MB)",
)


_NAMES = {
    "dp_accounting": "dp-accounting",
    "dp_accounting_tree": "dp-accounting, tree",
    "dp_accounting_tree.FINE": "dp-accounting, tree, 1e-5",
    "dp_accounting_tree.COARSE": "dp-accounting, tree, 1e-3",
    "prv_accountant.FINE": "prv-accountant, 0.01",
    "prv_accountant.COARSE": "prv-accountant, 0.1",
}

_WITH_GAP = {Verdict.OURS, Verdict.BELOW, Verdict.MISSES}


def duration(seconds: float) -> str:
    """Like ``4.6 ms`` or ``12 s``: two or three digits and a unit."""
    if seconds < 1e-6:
        return f"{seconds * 1e9:.3g} ns"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def cells(row: Comparison) -> tuple[str, ...]:
    """A row of the table, one text for each of ``COLUMNS``."""
    return (
        row.case.name,
        row.case.asked(row.question),
        _said(row.ours),
        _width(row.ours),
        _NAMES.get(row.peer, row.peer),
        _said(row.theirs) if row.peer != NOBODY else "-",
        _verdict(row),
        *_times(row.ours),
        *_times(row.theirs),
        _ratio(row.ratio),
        _time_alike(row),
        _ratio(row.equal_ratio),
        f"{_memory(row.ours)} / {_memory(row.theirs)}",
    )


def summary(row: Comparison) -> str:
    """A row in one line, for those who watch."""
    cell = dict(zip(COLUMNS, cells(row), strict=True))
    said = f"{cell['quaestor']}; {cell['peer']}: {cell['peer says']}, {cell['verdict']}"
    return f"{cell['case']}, {cell['question']}: {said}"


def _said(outcome: Outcome | None) -> str:
    if outcome is None:
        return "left out"
    if isinstance(outcome, Measured):
        return f"{outcome.answer.upper:.12g}"
    return outcome.why


def _ratio(ratio: float | None) -> str:
    """Three digits, never in the manner of ``1.2e+03``."""
    if ratio is None:
        return "-"
    return f"{float(f'{ratio:.3g}'):,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _width(outcome: Outcome) -> str:
    if isinstance(outcome, Measured) and outcome.answer.lower is not None:
        return f"{outcome.answer.upper - outcome.answer.lower:.1e}"
    return "-"


def _verdict(row: Comparison) -> str:
    if row.gap is None or row.verdict not in _WITH_GAP:
        return row.verdict
    return f"{row.verdict} ({row.gap:+.1e})"


def _times(outcome: Outcome | None) -> tuple[str, str]:
    if not isinstance(outcome, Measured):
        return "-", "-"
    return duration(outcome.first), duration(outcome.warm) if outcome.repeats else "-"


def _time_alike(row: Comparison) -> str:
    if not isinstance(row.alike, Measured):
        return "-"
    return f"{duration(row.alike.warm)} ({row.peers_width:.1e})"


def _memory(outcome: Outcome | None) -> str:
    return f"{outcome.memory / 1e6:,.0f}" if isinstance(outcome, Measured) else "-"
