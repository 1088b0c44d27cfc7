"""From JSON back to releases."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, NoReturn

from quaestor.accounting.releases import RELEASES, Release, ReleaseSum
from quaestor.errors import InvalidParameter

__all__ = ["build_release", "checked_json", "release_from_dict", "release_from_json"]


def build_release(name: str, parameters: dict[str, Any]) -> Release:
    """Make the release called ``name``, naming whatever parameter is missing or unknown."""
    kind = RELEASES.get(name)
    if kind is None:
        raise InvalidParameter("type", name, f"one of {', '.join(sorted(RELEASES))}")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # dataclasses all
    for given in parameters:
        if given not in known:
            raise InvalidParameter(
                name, given, f"given only its own parameters ({', '.join(known)})"
            )
    try:
        return kind(**parameters)
    except TypeError:
        missing = ", ".join(
            field.name
            for field in fields(kind)  # type: ignore[arg-type]  # dataclasses all
            if field.name not in parameters and field.default is MISSING
        )
        raise InvalidParameter(name, sorted(parameters), f"given {missing} too") from None


def release_from_dict(described: object) -> Release:
    """Read back what :meth:`Release.to_dict` wrote."""
    if not isinstance(described, dict) or not isinstance(described.get("type"), str):
        raise InvalidParameter("release", described, 'an object with a "type"')
    parameters = {
        key: _part_from_dict(value) if isinstance(value, dict) else value
        for key, value in described.items()
        if key != "type"
    }
    return build_release(described["type"], parameters)


def _part_from_dict(described: dict[str, Any]) -> Release | ReleaseSum:
    """A release inside another, or a sum of them."""
    if described.get("type") != ReleaseSum.__name__:
        return release_from_dict(described)
    terms = described.get("releases")
    if not isinstance(terms, list) or set(described) != {"type", "releases"}:
        raise InvalidParameter("releases", terms, "a list of releases")
    return ReleaseSum(tuple(map(release_from_dict, terms)))


def release_from_json(text: str) -> Release:
    """Read back what :meth:`Release.to_json` wrote.

    >>> release_from_json('{"type": "PureDP", "epsilon": 0.5}')
    PureDP(epsilon=0.5)
    """
    try:
        return release_from_dict(checked_json(text))
    except RecursionError:
        raise InvalidParameter("release", text, "JSON that is nested less deeply") from None


def checked_json(text: str) -> Any:
    """The values of JSON text, which has neither infinities nor a field twice."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_doubles)
    except InvalidParameter:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidParameter("release", text, f"JSON text ({problem})") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise InvalidParameter("release", [key for key, _ in pairs], "without doubled fields")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidParameter("release", name, "made of finite numbers")
