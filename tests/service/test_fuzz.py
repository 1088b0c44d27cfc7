"""Random requests made from the service's own description: none is a fault of the server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

if TYPE_CHECKING:
    from tests.service.running import RunningService


def _fuzzed(service: RunningService, examples: int) -> int:
    """Try every operation with so many requests each; how many were sent."""
    headers = {"Authorization": f"Bearer {service.tokens['all']}"}
    schema = schemathesis.openapi.from_url(f"{service.url}/api/v1/openapi.json", headers=headers)
    sent = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if operation.path.endswith("/events"):
            continue

        def attempt(case: Any) -> None:
            nonlocal sent
            sent += 1
            answered = case.call(headers=headers, timeout=120)
            assert answered.status_code < 500, (case.as_curl_command(), answered.text)
            if answered.status_code >= 400:
                assert answered.json()["code"]

        tried = settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        tried(given(operation.as_strategy())(attempt))()  # type: ignore[no-untyped-call]
    return sent


def test_no_request_is_a_fault(service: RunningService) -> None:
    assert _fuzzed(service, 4) > 60


@pytest.mark.slow
def test_no_request_of_many_is_a_fault(service: RunningService) -> None:
    assert _fuzzed(service, 150) > 1000
