"""What is told of a job to whoever asked the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.ledger import QuestionJob

__all__ = ["job_view"]


def job_view(job: QuestionJob, *, phase: str | None) -> dict[str, Any]:
    """A job as plain values: how it stands, and where to go on."""
    place = f"/api/v1/jobs/{job.id}"
    return {
        "id": job.id,
        "state": job.state,
        "phase": (phase or "waiting") if job.state == "open" else job.state,
        "asked": job.asked,
        "batch": job.batch or None,
        "created": job.created,
        "finished": job.finished or None,
        "account": job.account or None,
        "charged": bool(job.entry),
        "repeated": job.repeated,
        "problem": job.error,
        "links": {"self": place, "events": f"{place}/events", "answer": f"{place}/answer"},
    }
