"""Approvals: questions that were submitted, and what was decided about them."""

from __future__ import annotations

from typing import Any

from quaestor.service.core import TheService
from quaestor.service.inquiries import inquiry_from
from quaestor.service.problems import plain
from quaestor.service.rules import SIGNED_IN, RouteFamily, SomebodyKnown, only
from quaestor.service.shapes import DecisionBody, PlanBody, SubmissionBody

__all__ = ["routes"]

routes = RouteFamily("/api/v1/approvals", tag="approvals")


@routes.post("", may=only("analyst"), status_code=201)
def submit(body: SubmissionBody, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Ask for approval of a question; it costs nothing."""
    asked = inquiry_from(body.model_dump(), analyst=caller.name, groups=caller.groups)
    account, made = service.curator.submitted(asked)
    return {"account": account, "approval": made, "status": "submitted"}


@routes.post("/plans", may=only("analyst"), status_code=201)
def submit_plan(body: PlanBody, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """Ask for approval of several questions on one account, under one id; it costs nothing.

    Once they are approved, ask them with that id in any order, alone or in a batch.
    """
    asked = [
        inquiry_from(each.model_dump(), analyst=caller.name, groups=caller.groups)
        for each in body.questions
    ]
    account, made = service.curator.submitted_plan(asked)
    said = {"account": account, "approval": made, "status": "submitted"}
    return {**said, "questions": len(asked)}


@routes.get("/{account}", may=SIGNED_IN)
def list_approvals(account: str, service: TheService, caller: SomebodyKnown) -> dict[str, Any]:
    """What was submitted to an account: by you or, for those who oversee it, by all."""
    whose = "" if caller.oversees else caller.name
    listed = service.ledger.account(account).approvals(analyst=whose)
    return {"account": account, "approvals": [plain(each.to_dict()) for each in listed]}


@routes.post("/{account}/{approval}", may=only("approver"))
def decide(
    account: str, approval: str, body: DecisionBody, service: TheService, caller: SomebodyKnown
) -> dict[str, Any]:
    """Approve or decline what somebody else has submitted: once, and for good."""
    found = service.ledger.account(account)
    decided = found.approve if body.decision == "approve" else found.decline
    decided(approval, by=caller.name, reason=body.reason)
    return {"account": account, "approval": approval, "decision": body.decision}
