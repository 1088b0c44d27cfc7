"""From JSON back to facts."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

from quaestor.accounting.membership.facts import FACTS, All, Fact
from quaestor.errors import InvalidParameter

__all__ = ["fact_from_dict", "fact_from_json"]


def fact_from_dict(described: object) -> Fact:
    """Read back what :meth:`Fact.to_dict` wrote."""
    if not isinstance(described, dict) or not isinstance(described.get("fact"), str):
        raise InvalidParameter("fact", described, 'an object with a "fact", such as "AtMost"')
    name, given = described["fact"], {k: v for k, v in described.items() if k != "fact"}
    kind = FACTS.get(name)
    if kind is None:
        raise InvalidParameter("fact", name, f"one of {', '.join(FACTS)}")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # dataclasses all
    for field in given:
        if field not in known:
            raise InvalidParameter(name, field, f"given {' and '.join(known)} only")
    for field in fields(kind):  # type: ignore[arg-type]  # dataclasses all
        if field.name not in given and field.default is MISSING:
            raise InvalidParameter(name, sorted(given), f"given {field.name} too")
    return _built(kind, given)


def _built(kind: type[Fact], given: dict[str, Any]) -> Fact:
    if kind is All:
        facts = given["facts"]
        if not isinstance(facts, list):
            raise InvalidParameter("facts", facts, "a list of facts")
        return All(*map(fact_from_dict, facts))
    return kind(**given)


def fact_from_json(text: str) -> Fact:
    """Read back what :meth:`Fact.to_json` wrote.

    >>> fact_from_json('{"fact": "AtMost", "m": 365}')
    AtMost(365)
    """
    try:
        return fact_from_dict(json.loads(text))
    except InvalidParameter:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidParameter("fact", text, f"JSON text ({problem})") from None
