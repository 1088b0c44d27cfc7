"""The accountant: one place for numbers. Nothing here touches data, accounts or budgets.

Some compositions take minutes: these routes have threads of their own, so that whoever asks for
such ones keeps nobody from anything else.
"""

from __future__ import annotations

from typing import Any

from quaestor.accounting.calibrate import calibrate_expressions
from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.expressions import parse_releases
from quaestor.errors import InvalidParameter
from quaestor.service.core import TheService
from quaestor.service.problems import plain
from quaestor.service.rules import SIGNED_IN, RouteFamily
from quaestor.service.shapes import AccountantBody, CalibrationBody

__all__ = ["routes"]

routes = RouteFamily("/api/v1/accountant", tag="accountant")
_VERTICES = 201


def _composed(body: AccountantBody) -> Composition:
    return compose(*(release for text in body.releases for release in parse_releases(text)))


@routes.post("/epsilon", may=SIGNED_IN)
async def epsilon(body: AccountantBody, service: TheService) -> dict[str, Any]:
    """The smallest epsilon that is true of all these releases together, at a delta."""
    return await service.computed(_epsilon, body)


def _epsilon(body: AccountantBody) -> dict[str, Any]:
    if body.delta is None:
        raise InvalidParameter("delta", None, "given")
    composed = _composed(body)
    bounds = composed.epsilon_bounds(delta=body.delta)
    found = {"epsilon": {"lower": bounds.lower, "upper": bounds.upper}}
    said: dict[str, Any] = plain({**found, "delta": body.delta, "theorem": composed.theorem})
    return said


@routes.post("/delta", may=SIGNED_IN)
async def delta(body: AccountantBody, service: TheService) -> dict[str, Any]:
    """The smallest delta that is true of all these releases together, at an epsilon."""
    return await service.computed(_delta, body)


def _delta(body: AccountantBody) -> dict[str, Any]:
    if body.epsilon is None:
        raise InvalidParameter("epsilon", None, "given")
    composed = _composed(body)
    bounds = composed.delta_bounds(epsilon=body.epsilon)
    found = {"delta": {"lower": bounds.lower, "upper": bounds.upper}}
    said: dict[str, Any] = plain({**found, "epsilon": body.epsilon, "theorem": composed.theorem})
    return said


@routes.post("/explain", may=SIGNED_IN)
async def explain(body: AccountantBody, service: TheService) -> dict[str, Any]:
    """Every theorem side by side: what it says, or why it says nothing, and which one wins."""
    return await service.computed(_explain, body)


def _explain(body: AccountantBody) -> dict[str, Any]:
    explained = _composed(body).explain(delta=body.delta, epsilon=body.epsilon)
    said: dict[str, Any] = plain(explained.to_dict())
    return said


@routes.post("/calibrate", may=SIGNED_IN)
async def calibrate(body: CalibrationBody, service: TheService) -> dict[str, Any]:
    """The value of the one ``?`` that fits the target: least noise, or the largest epsilon."""
    return await service.computed(_calibrate, body)


def _calibrate(body: CalibrationBody) -> dict[str, Any]:
    found = calibrate_expressions(body.releases, epsilon=body.epsilon, delta=body.delta)
    said: dict[str, Any] = plain(
        {
            "parameter": found.parameter,
            "value": found.value,
            "bounds": {"lower": found.bounds.lower, "upper": found.bounds.upper},
            "releases": [str(release) for release in found.releases],
        }
    )
    return said


@routes.post("/region", may=SIGNED_IN)
async def region(body: AccountantBody, service: TheService) -> dict[str, Any]:
    """The privacy region: which false alarms and missed detections an attacker can reach."""
    return await service.computed(_region, body)


def _region(body: AccountantBody) -> dict[str, Any]:
    composed = _composed(body)
    advantage, tradeoff = composed.advantage(), composed.tradeoff()
    said: dict[str, Any] = plain(
        {
            "advantage": {"lower": advantage.lower, "upper": advantage.upper},
            "vertices": [list(vertex) for vertex in tradeoff.vertices(at_most=_VERTICES)],
            "belief": tradeoff.posterior(prior=0.5, false_positive=0.01),
        }
    )
    return said
