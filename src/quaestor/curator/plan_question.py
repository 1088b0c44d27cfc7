"""A question of a plan, which is submitted for approval together with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.pricing.priced_question import Budget

if TYPE_CHECKING:
    from quaestor.curator.builder.tables import AnyQuestion
    from quaestor.curator.pricing.accuracy import Accuracy

__all__ = ["PlanQuestion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """One question of a plan; its fields are parameters of :meth:`Curator.ask`.

    ::

        plan = [
            PlanQuestion(question="SELECT COUNT(*) FROM visits", epsilon=0.1),
            PlanQuestion(question="SELECT AVG(age) FROM visits", epsilon=0.2),
        ]
        account, made = curator.submit_plan(plan, analyst="ada", purpose="annual report")

    >>> asked = PlanQuestion(question="SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
    >>> asked.epsilon
    0.1
    """

    question: str | AnyQuestion
    epsilon: float | None = None
    rho: float | None = None
    accuracy: Accuracy | None = None
    delta: float | None = None
    rows: int | None = None
    groups: int | None = None
    purpose: str = ""

    @property
    def budget(self) -> Budget:
        """What it may cost, or how accurate it is to be."""
        return Budget(epsilon=self.epsilon, rho=self.rho, accuracy=self.accuracy, delta=self.delta)
