"""An assertion for the tests of other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.audit.verdict import audit

if TYPE_CHECKING:
    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release
    from quaestor.audit.claims import Claim

__all__ = ["assert_private"]


def assert_private(  # noqa: PLR0913  # what an audit may be told
    mechanism: Any,
    *,
    neighbours: tuple[Any, Any],
    claim: Release | Composition | Claim | None = None,
    rounds: int = 1,
    runs: int = 50_000,
    confidence: float = 0.999999,
) -> None:
    """Fail if the mechanism certainly breaks its claim.

    A sound mechanism fails with probability at most ``1 - confidence``: one test run in a million,
    by default.

    >>> from quaestor import PureDP, mechanisms
    >>> assert_private(
    ...     mechanisms.Geometric(scale=2.0), claim=PureDP(epsilon=0.5), neighbours=(0, 1)
    ... )
    """
    report = audit(
        mechanism,
        neighbours=neighbours,
        claim=claim,
        rounds=rounds,
        runs=runs,
        confidence=confidence,
    )
    if report.violated:
        best = report.best
        raise AssertionError(
            f"{report.verdict}; found by the {best.test} test, which looks at {best.looks_at}"
        )
