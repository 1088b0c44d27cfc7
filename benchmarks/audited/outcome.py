"""One line of a table of audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.audit import Primitive

__all__ = ["Outcome", "from_outside", "looked_inside"]

_RUNS = 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who was audited, how, and what came of it."""

    target: str
    claim: str
    found: str

    def line(self) -> str:
        """The line of a Markdown table."""
        return f"| {self.target} | {self.claim} | {self.found} |"


def from_outside(
    name: str, target: Any, neighbours: Any, claim: Any, *, runs: int = _RUNS
) -> Outcome:
    """A sequential audit of one target."""
    from quaestor.audit import audit_sequentially

    report = audit_sequentially(target, neighbours=neighbours, claim=claim, runs=runs)
    words = report.verdict.replace(" with 99.9 % confidence", "")
    if report.violated:
        words = f"**{words}** ({report.test}: {report.looks_at})"
    return Outcome(name, f"`{claim}`", words)


def looked_inside(
    name: str,
    algorithm: Callable[[Any], Any],
    neighbours: tuple[Any, Any],
    primitives: Sequence[Primitive],
    epsilon: float,
) -> Outcome:
    """One recording, and the sum of what its calls lose on these neighbours."""
    from quaestor.audit import record_play

    recording = record_play(algorithm, neighbours=neighbours, primitives=primitives)
    lost = sum(
        call.claim.epsilon * call.distance / call.sensitivity
        for call in recording.calls
        if call.claim is not None and call.distance and call.sensitivity
    )
    found = list(recording.problems)
    if lost > epsilon * (1 + 1e-9):
        found.append(f"its calls lose epsilon {lost:.3g} together")
    used = [
        call.distance / call.sensitivity
        for call in recording.calls
        if call.distance and call.sensitivity
    ]
    words = f"nothing; {len(recording.calls)} calls of primitives, inputs differ by up to "
    words += f"{100 * max(used, default=0.0):.0f} % of the declared sensitivity"
    if lost:
        words += f"; they lose epsilon {lost:.3g} on these neighbours"
    return Outcome(name, f"epsilon {epsilon:g}", f"**{'; '.join(found)}**" if found else words)
