"""A question as the form of the page holds it, and as the API's shapes read it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, fields
from hashlib import sha256
from json import dumps
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.datastructures import FormData

from quaestor.service.pages.content.form_fields import read_shape, text_of
from quaestor.service.shapes import PreviewBody

__all__ = ["AskedQuestion"]

Body = TypeVar("Body", bound=PreviewBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """The fields of the form, as texts."""

    sql: str = ""
    account: str = ""
    by: str = "accuracy"
    """Whether ``within``, ``epsilon`` or ``rho`` counts."""
    within: str = "20"
    confidence: str = "0.95"
    epsilon: str = "0.1"
    rho: str = "0.01"
    purpose: str = ""
    audience: str = ""
    approval: str = ""
    anew: str = ""
    narrow: str = ""
    """Whether the whole error is left out."""
    nonce: str = ""
    """Of the page that the form was on: sent twice, it is one question."""

    @classmethod
    def blank(cls, **more: str) -> AskedQuestion:
        """A new form."""
        return cls(nonce=secrets.token_hex(16), **more)

    @classmethod
    def from_form(cls, form: FormData) -> AskedQuestion:
        """What was sent."""
        sent = {each.name: text_of(form, each.name) for each in fields(cls)}
        usual = {"by": "accuracy", "confidence": "0.95"}
        return cls(**{name: value or usual.get(name, "") for name, value in sent.items()})

    @classmethod
    def from_job(cls, asked: dict[str, Any]) -> AskedQuestion:
        """What a job was asked, to be asked again or changed."""
        accuracy = asked.get("accuracy") or {}
        prices: list[str] = [name for name in ("epsilon", "rho") if name in asked]
        said: dict[str, str] = {name: str(asked[name]) for name in prices}
        said |= {name: str(accuracy[name]) for name in ("within", "confidence") if name in accuracy}
        words = {n: str(asked.get(n) or "") for n in ("sql", "account", "purpose", "audience")}
        by = prices[0] if prices else "accuracy"
        narrow = "yes" if asked.get("whole_error") is False else ""
        return cls.blank(by=by, narrow=narrow, **said, **words)

    def read_as(self, shape: type[Body]) -> Body:
        """One of the API's shapes."""
        said: dict[str, Any] = {
            "sql": self.sql,
            "account": self.account,
            "purpose": self.purpose,
            "audience": self.audience,
            "approval": self.approval,
            "anew": bool(self.anew) or None,
            "whole_error": False if self.narrow else None,
        }
        if self.by in {"epsilon", "rho"}:
            said[self.by] = getattr(self, self.by)
        else:
            said["accuracy"] = {"within": self.within, "confidence": self.confidence}
        return read_shape(shape, {n: v for n, v in said.items() if n in shape.model_fields})

    def key(self, body: BaseModel) -> str:
        """The same page and the same question is the same job."""
        text = dumps([self.nonce, body.model_dump(mode="json")], sort_keys=True)
        return f"page-{sha256(text.encode()).hexdigest()}" if self.nonce else ""
