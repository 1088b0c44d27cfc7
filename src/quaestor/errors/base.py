"""The root of all errors, and those that every part raises."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "BeyondFloats",
    "CertificationFault",
    "InconsistentAnswers",
    "InvalidExpression",
    "InvalidParameter",
    "MissingExtra",
    "QuaestorError",
    "TargetOutOfReach",
    "TheoremDoesNotApply",
    "pointed",
    "shorter",
    "shown",
]

_LONGEST_VALUE_SHOWN = 80


def shown(value: object) -> str:
    """The value as a person can take it in: short, printable, never an error itself."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= _LONGEST_VALUE_SHOWN else text[:_LONGEST_VALUE_SHOWN] + "..."


def shorter(text: str, most: int = 300) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[:most] + "..."


def pointed(line: str, column: int, problem: str) -> str:
    """The problem, with an arrow to its column (from 1) under an excerpt of the line."""
    start = max(0, column - 41)
    window = "".join(c if c.isprintable() else " " for c in line[start : start + 80])
    before, after = "..." if start else "", "..." if start + 80 < len(line) else ""
    pointer = " " * (len(before) + column - 1 - start) + "^"
    return f"column {column}: {problem}\n  {before}{window}{after}\n  {pointer}"


def _rebuild(kind: type[Any], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error: Any = Exception.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class QuaestorError(Exception):
    """The root of all errors of this package.

    What to do: read ``code`` and ``fields()`` in programs; the message says what to change.

    >>> from quaestor import PureDP
    >>> try:
    ...     PureDP(epsilon=-1.0)
    ... except QuaestorError as error:
    ...     print(error.code, error.fields()["field"])
    invalid_parameter epsilon
    """

    code: ClassVar[str] = "error"

    def fields(self) -> dict[str, Any]:
        """What a program may want to read, beside the message."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes."""
        return _rebuild, (type(self), self.args, self.__dict__)


class InvalidParameter(QuaestorError, ValueError):
    """A parameter is outside its valid range or of the wrong kind.

    What to do: give the parameter that ``field`` names a value that ``valid`` describes.

    >>> InvalidParameter("delta", 2.0, "a number in [0, 1]").fields()
    {'field': 'delta', 'value': '2.0', 'valid': 'a number in [0, 1]'}
    """

    code = "invalid_parameter"

    def __init__(self, field: str, value: object, valid: str) -> None:
        missing = value is None and valid.startswith("given")
        got = "" if missing else f", got {shown(value)}"
        super().__init__(f"{field} must be {valid}{got}")
        self.field, self.value, self.valid = field, value, valid

    def fields(self) -> dict[str, Any]:
        """The parameter, the value that was given, and what would have been valid."""
        return {"field": self.field, "value": shown(self.value), "valid": self.valid}


class InvalidExpression(InvalidParameter):
    """A release expression does not parse; ``column`` (from 1) says where.

    What to do: correct the expression at ``column``; the arrow under it points there.

    >>> from quaestor import parse_release
    >>> try:
    ...     parse_release("PureDP(epsilon=0.1")
    ... except InvalidExpression as error:
    ...     print(error.column)
    19
    """

    code = "invalid_expression"

    def __init__(self, text: str, column: int, problem: str) -> None:
        ValueError.__init__(self, pointed(text, column, problem))
        self.field, self.value, self.valid = "expression", text, "a release expression"
        self.text, self.column, self.problem = text, column, problem

    def fields(self) -> dict[str, Any]:
        """Where the expression stops making sense, and why."""
        return {"column": self.column, "problem": self.problem}


class TheoremDoesNotApply(QuaestorError):
    """The theorem says nothing about these releases; the message says why.

    What to do: use :func:`quaestor.compose`, which chooses among the theorems that apply.

    >>> TheoremDoesNotApply("it needs equal releases").reason
    'it needs equal releases'
    """

    code = "theorem_does_not_apply"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def fields(self) -> dict[str, Any]:
        """Why the theorem does not apply."""
        return {"reason": self.reason}


class TargetOutOfReach(QuaestorError):
    """No value of the free parameter meets the target.

    What to do: raise the target, or let the parameter reach further.

    >>> from quaestor import PureDP, calibrate
    >>> try:
    ...     calibrate(lambda e: PureDP(epsilon=1.0 + e), epsilon=0.5, delta=1e-6)
    ... except TargetOutOfReach as error:
    ...     print(error.code)
    target_out_of_reach
    """

    code = "target_out_of_reach"


class InconsistentAnswers(QuaestorError):
    """Two certified answers to one question exclude each other: one is wrong, and neither is given.

    A fault of Quaestor's own; nothing is wrong with what was asked.

    What to do: report the call, with the version; use neither number.

    >>> fault = InconsistentAnswers("delta at epsilon = 1", first=(0.0, 0.1), second=(0.2, 0.3))
    >>> fault.first, fault.second
    ((0.0, 0.1), (0.2, 0.3))
    """

    code = "inconsistent_answers"

    def __init__(
        self, question: str, *, first: tuple[float, float], second: tuple[float, float]
    ) -> None:
        super().__init__(
            f"two independent computations of {question} disagree: [{first[0]!r}, "
            f"{first[1]!r}] and [{second[0]!r}, {second[1]!r}]; this is a bug in "
            "Quaestor, please report it"
        )
        self.question, self.first, self.second = question, first, second

    def fields(self) -> dict[str, Any]:
        """The question and both answers, as text, for infinities are no JSON."""
        return {"question": self.question, "first": str(self.first), "second": str(self.second)}


class CertificationFault(QuaestorError):
    """A certified computation broke one of its own rules; no number is given.

    This is a fault of this package and not of the caller: please report the call.

    What to do: report the call, with the version.

    >>> CertificationFault("the masses sum to 0.5").code
    'certification_fault'
    """

    code = "certification_fault"


class BeyondFloats(QuaestorError, OverflowError):
    """A certified computation left the range of floats; no number is given.

    Where a wider bound is known to be true, it is given instead of this error.

    What to do: ask for a less extreme parameter, such as a larger delta or a smaller count.

    >>> issubclass(BeyondFloats, OverflowError)
    True
    """

    code = "beyond_floats"


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation: a clone, a wheel file, or a registry's.

    On PyPI the name ``quaestor`` belongs to an unrelated tool; this package is ``quaestor-dp``.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("quaestor-dp").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if not url.startswith("file:"):
        return f"pip install 'quaestor-dp[{extra}]'"
    if not origin.get("dir_info", {}).get("editable"):
        return f"pip install 'quaestor-dp[{extra}] @ {url}'"
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return f"pip install -e '{url2pathname(urlsplit(url).path)}[{extra}]'"


class MissingExtra(QuaestorError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it.

    What to do: run the command in the message; it suits how Quaestor was installed.

    >>> MissingExtra("matplotlib", extra="plot", purpose="drawing").fields()
    {'package': 'matplotlib', 'extra': 'plot'}
    """

    code = "missing_extra"

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: run  {install_command(extra)}"
        )
        self.package, self.extra = package, extra

    def fields(self) -> dict[str, Any]:
        """The missing package and the extra that brings it."""
        return {"package": self.package, "extra": self.extra}
