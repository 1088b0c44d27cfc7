"""What is shown before one pays: the price, the expected error, what is left, and the belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.compose import compose
from quaestor.accounting.releases.black_box import ApproxDP, PureDP
from quaestor.service.pages.content.charts import RegionChart, region_chart
from quaestor.service.routes.questions import preview

if TYPE_CHECKING:
    from quaestor.service.core import ServiceCore
    from quaestor.service.identity.callers import Caller
    from quaestor.service.shapes import PreviewBody

__all__ = ["AttackView", "PriceView", "attack_view", "price_view"]

_ALARM = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackView:
    """What an attacker can come to believe, and the papers' region."""

    belief: float
    """At most, of somebody who was half sure before."""
    alarms: float
    """The rate of false alarms at which it is meant; 0: at any."""
    region: RegionChart


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceView:
    """What the API says of a question, and what follows from it."""

    seen: dict[str, Any]
    left: float | None
    """The share of the budget that would be left."""
    more: int | None
    """How many questions like this would fit, this one included."""
    attack: AttackView | None


def price_view(service: ServiceCore, caller: Caller, body: PreviewBody) -> PriceView:
    """Everything that can be said of a question without touching data; nothing is charged."""
    seen = preview(body, service, caller)
    epsilon, delta = seen["epsilon"], seen["delta"]
    return PriceView(
        seen=seen,
        left=seen["left"],
        more=seen["more"],
        attack=attack_view(epsilon, delta) if isinstance(epsilon, float) else None,
    )


def attack_view(epsilon: float, delta: float) -> AttackView:
    """Of everything that is (epsilon, delta)-private: Kairouz, Oh and Viswanath's region."""
    release = ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
    tradeoff = compose(release).tradeoff()
    alarms = _ALARM if delta else 0.0
    return AttackView(
        belief=tradeoff.posterior(prior=0.5, false_positive=alarms),
        alarms=alarms,
        region=region_chart(tradeoff.vertices(at_most=201)),
    )
