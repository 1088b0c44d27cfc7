"""A file of questions that are submitted for approval together, in TOML.

::

    purpose = "annual report"                    # for questions that say none themselves

    [[questions]]
    sql = "SELECT COUNT(*) FROM visits"
    epsilon = 0.1                                # or rho, or within (with confidence and of)

    [[questions]]
    sql = "SELECT AVG(age) FROM visits"
    epsilon = 0.2
    purpose = "the age that the funding depends on"
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter, InvalidPlan

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator import PlanQuestion

__all__ = ["read_question_plan"]

_NUMBERS = ("epsilon", "rho", "within", "confidence", "delta")
_WHOLE = ("rows", "groups")
_TEXTS = ("sql", "of", "purpose")
_KEYS = ("sql", *_NUMBERS, "of", *_WHOLE, "purpose")
_EXAMPLE = (
    'write  [[questions]]  and below it  sql = "SELECT COUNT(*) FROM visits"  and  epsilon = 0.1'
)


def read_question_plan(path: Path) -> tuple[str, list[PlanQuestion]]:
    """The purpose that a file has for all, and its questions; errors say where and what to do."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidPlan(str(path), f"cannot be read ({problem.strerror}); {_EXAMPLE}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidPlan(str(path), f"is not TOML ({problem}); {_EXAMPLE}") from None
    purpose, listed = document.pop("purpose", ""), document.pop("questions", None)
    if document or not isinstance(purpose, str):
        wrong = next(iter(document), "purpose")
        raise InvalidPlan(wrong, "a plan has only a purpose, in one line, and [[questions]]")
    if not isinstance(listed, list) or not listed:
        raise InvalidPlan(str(path), f"it has no questions; {_EXAMPLE}")
    return purpose, [_question(each, number) for number, each in enumerate(listed, start=1)]


def _question(given: Any, number: int) -> PlanQuestion:
    from quaestor.curator import Accuracy, PlanQuestion

    place = f"question {number}"
    if not isinstance(given, dict) or not given.get("sql"):
        raise InvalidPlan(place, f"it has no sql; {_EXAMPLE}")
    for key, value in given.items():
        if key not in _KEYS:
            raise InvalidPlan(
                place, f"{key!r} is not a known key; a question has {', '.join(_KEYS)}"
            )
        kinds: Any = str if key in _TEXTS else int if key in _WHOLE else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool):
            what = "a text" if key in _TEXTS else "a whole number" if key in _WHOLE else "a number"
            raise InvalidPlan(place, f"{key} must be {what}")
    ways = [key for key in ("epsilon", "rho", "within") if key in given]
    if len(ways) != 1:
        valid = "give the cost or the accuracy of the question"
        raise InvalidPlan(place, f"{valid}, in one way: epsilon = 0.1, rho = 0.005 or within = 50")
    said = dict(given)
    accuracy = None
    within, confidence, of = (
        said.pop("within", None),
        said.pop("confidence", 0.95),
        said.pop("of", None),
    )
    try:
        if within is not None:
            accuracy = Accuracy(within=within, confidence=confidence, of=of)
        return PlanQuestion(question=said.pop("sql"), accuracy=accuracy, **said)
    except InvalidParameter as problem:
        raise InvalidPlan(place, str(problem)) from None
