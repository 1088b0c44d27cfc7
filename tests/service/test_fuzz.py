"""Random requests made from the service's own description: no fault, and nothing undeclared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

if TYPE_CHECKING:
    from tests.service.running import RunningService

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def _fuzzed(service: RunningService, examples: int, mode: GenerationMode) -> int:
    """Try every operation with so many requests each; how many were sent."""
    headers = {"Authorization": f"Bearer {service.tokens['all']}"}
    schema = schemathesis.openapi.from_url(f"{service.url}/api/v1/openapi.json", headers=headers)
    sent = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]

        def attempt(case: Any) -> None:
            nonlocal sent
            sent += 1
            answered = case.call(headers=headers, timeout=120)
            case.validate_response(answered, checks=CHECKS)
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
        made = operation.as_strategy(generation_mode=mode)
        tried(given(made)(attempt))()  # type: ignore[no-untyped-call]
    return sent


def test_no_request_is_a_fault(service: RunningService) -> None:
    assert _fuzzed(service, 4, GenerationMode.POSITIVE) > 60


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_of_many_is_a_fault(service: RunningService, mode: GenerationMode) -> None:
    assert _fuzzed(service, 150, mode) > 1000
