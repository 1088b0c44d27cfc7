"""From what was sent to what is asked: who asks, and in which groups, is never what was sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.pipeline import Inquiry
from quaestor.curator.pricing.accuracy import Accuracy
from quaestor.curator.pricing.priced_question import Budget

if TYPE_CHECKING:
    from quaestor.ledger import QuestionJob

__all__ = ["inquiry_from", "inquiry_of"]


def inquiry_from(asked: dict[str, Any], *, analyst: str, groups: tuple[str, ...]) -> Inquiry:
    """The inquiry of an analyst, from the values that were sent."""
    accuracy = asked.get("accuracy")
    return Inquiry(
        question=asked["sql"],
        budget=Budget(
            epsilon=asked.get("epsilon"),
            rho=asked.get("rho"),
            accuracy=None if accuracy is None else Accuracy(**accuracy),
            delta=asked.get("delta"),
            quantile_intervals=asked.get("quantile_intervals", True),
            whole_error=asked.get("whole_error"),
            wanted_noise=asked.get("noise"),
        ),
        account=asked.get("account"),
        analyst=analyst,
        purpose=asked.get("purpose", ""),
        rows=asked.get("rows"),
        groups=asked.get("groups"),
        anew=asked.get("anew", False),
        approval=asked.get("approval", ""),
        audience=asked.get("audience", ""),
        member_of=groups,
    )


def inquiry_of(job: QuestionJob, *, groups: tuple[str, ...], patience: float) -> Inquiry:
    """The inquiry of a question that was written down."""
    asked = inquiry_from(job.asked, analyst=job.analyst, groups=groups)
    return replace(asked, job=job.id, patience=patience)
