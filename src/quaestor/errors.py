"""Every exception that Quaestor raises.

::

    QuaestorError
    ├── InvalidParameter          a value outside its range, or of the wrong kind
    │   └── InvalidExpression     a release expression that does not parse
    ├── TheoremDoesNotApply       a theorem was asked about releases it says nothing about
    │   └── NotYetTight           the exact optimum is out of reach; carries a certified bracket
    ├── TargetOutOfReach          no noise, or no count, meets the target that was asked for
    └── MissingExtra              an optional dependency is needed and not installed

Each class has a stable ``code`` for programs, fields that can be read, and a sentence that says
what to do next.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "InvalidExpression",
    "InvalidParameter",
    "MissingExtra",
    "NotYetTight",
    "QuaestorError",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
]

_LONGEST_VALUE_SHOWN = 80


class QuaestorError(Exception):
    """The root of all errors of this package."""

    code: ClassVar[str] = "error"

    def fields(self) -> dict[str, Any]:
        """What a program may want to read, beside the message."""
        return {}


class InvalidParameter(QuaestorError, ValueError):
    """A parameter is outside its valid range or of the wrong kind."""

    code = "invalid_parameter"

    def __init__(self, field: str, value: object, valid: str) -> None:
        shown = repr(value)
        if len(shown) > _LONGEST_VALUE_SHOWN:
            shown = shown[:_LONGEST_VALUE_SHOWN] + "..."
        super().__init__(f"{field} must be {valid}, got {shown}")
        self.field, self.value, self.valid = field, value, valid

    def fields(self) -> dict[str, Any]:
        """The parameter, the value that was given, and what would have been valid."""
        return {"field": self.field, "value": repr(self.value)[:200], "valid": self.valid}


class InvalidExpression(InvalidParameter):
    """A release expression does not parse; ``column`` (from 1) says where."""

    code = "invalid_expression"

    def __init__(self, text: str, column: int, problem: str) -> None:
        start = max(0, column - 41)
        window = text[start : start + 80]
        before, after = "..." if start else "", "..." if start + 80 < len(text) else ""
        pointer = " " * (len(before) + column - 1 - start) + "^"
        ValueError.__init__(
            self, f"column {column}: {problem}\n  {before}{window}{after}\n  {pointer}"
        )
        self.field, self.value, self.valid = "expression", text, "a release expression"
        self.text, self.column, self.problem = text, column, problem

    def fields(self) -> dict[str, Any]:
        """Where the expression stops making sense, and why."""
        return {"column": self.column, "problem": self.problem}


class TheoremDoesNotApply(QuaestorError):
    """The theorem says nothing about these releases; the message says why."""

    code = "theorem_does_not_apply"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """Why the theorem does not apply."""
        return {"reason": self.reason}


class NotYetTight(TheoremDoesNotApply):
    """The exact optimum is out of reach here; ``best`` is a certified bracket of it.

    ``best`` is a profile: ``error.best.epsilon_bounds(delta=1e-6)`` contains the optimum, and its
    upper end is sound to report.
    """

    code = "not_yet_tight"

    def __init__(self, reason: str, *, best: Any) -> None:
        super().__init__(f"{reason}; .best holds a certified bracket")
        self.reason, self.best = reason, best


class TargetOutOfReach(QuaestorError):
    """No value of the free parameter meets the target."""

    code = "target_out_of_reach"


class MissingExtra(QuaestorError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    code = "missing_extra"

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f"run  pip install 'quaestor[{extra}]'"
        )
        self.package, self.extra = package, extra

    def fields(self) -> dict[str, Any]:
        """The missing package and the extra that brings it."""
        return {"package": self.package, "extra": self.extra}
