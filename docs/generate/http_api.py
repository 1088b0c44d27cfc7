"""Every route of the service, from the OpenAPI document that it serves."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI

from docs.generate.markdown import NOTICE, escaped, one_line, table
from quaestor.service.routes import FAMILIES

__all__ = ["http_page"]

_EVERYBODY = 4
_INTRODUCTION = """\
Send a token in the header `Authorization: Bearer TOKEN`; who asks, and in which role, comes from
the token alone. Bodies and answers are JSON, errors are RFC 9457 problems with a
[code](errors.md). The service itself serves this as OpenAPI 3.1 at `/api/v1/openapi.json`.
[Running the service](../guide/service.md) goes through it step by step."""


def http_page() -> str:
    """The page of all routes, family by family, and of the bodies that they take."""
    document = _document()
    families: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            families.setdefault(operation["tags"][0], []).extend(_route(method, path, operation))
    lines = ["# HTTP API", "", _INTRODUCTION, "", f"*{NOTICE}*", ""]
    for family, routes in families.items():
        lines += [f"## {family.capitalize()}", "", *routes]
    lines += ["## Bodies", "", "What requests send.", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        if name.endswith("Body"):
            lines += _body(name, schema)
    return "\n".join(lines).rstrip() + "\n"


def _document() -> dict[str, Any]:
    app = FastAPI(openapi_url=None)
    for family in FAMILIES:
        family.register(app)
    return app.openapi()


def _route(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    roles = operation["x-who-may"]
    may = "everybody, without a token" if not roles else "anyone signed in"
    if 0 < len(roles) < _EVERYBODY:
        may = ", ".join(roles)
    lines = [f"### `{method.upper()} {path}`", "", *_prose(operation.get("description", ""))]
    facts = [f"Roles: {may}."]
    sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if sent:
        facts.append(f"Body: {_kind(sent['schema'])}.")
    answered = [status for status in operation["responses"] if status.startswith("2")]
    facts.append(f"Answers {', '.join(answered)}.")
    lines += [" ".join(facts), ""]
    rows = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"]), _default(each["schema"]))
        for each in operation.get("parameters", [])
    ]
    return lines + (table(("parameter", "in", "kind", "default"), rows) if rows else [])


def _body(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", *_prose(schema.get("description", ""))]
    required = schema.get("required", [])
    rows = [
        (f"`{field}`", _kind(kind), "required" if field in required else _default(kind))
        for field, kind in schema.get("properties", {}).items()
    ]
    lines += table(("field", "kind", "default"), rows)
    for example in schema.get("examples", []):
        lines += ["```json", json.dumps(example), "```", ""]
    return lines


def _prose(text: str) -> list[str]:
    return [line for each in text.split("\n\n") for line in (escaped(one_line(each)), "")]


def _default(schema: dict[str, Any]) -> str:
    return f"`{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    limits = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    said = [f"{words} {schema[key]:g}" for key, words in limits.items() if key in schema]
    return " ".join([schema.get("type", "anything"), ", ".join(said)]).strip()
