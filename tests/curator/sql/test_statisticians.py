"""Eighty statements that statisticians would write: answered, or refused in words they typed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from quaestor.curator.language.compound import Compound
from quaestor.curator.sql import parse_question
from quaestor.errors import RefusedQuery
from tests.curator.sql.hospital import CATALOG

WRITTEN = tomllib.loads((Path(__file__).parent / "statisticians.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", WRITTEN["answered"])
def test_a_statement_is_answered_as_it_stands(text: str) -> None:
    asked = parse_question(text, CATALOG)
    parts = asked.parts if isinstance(asked, Compound) else (asked,)
    assert all(part.outputs for part in parts)


@pytest.mark.parametrize(("text", "typed", "instead"), WRITTEN["refused"])
def test_a_refusal_names_what_was_typed_and_what_to_write(
    text: str, typed: str, instead: str
) -> None:
    with pytest.raises(RefusedQuery) as caught:
        parse_question(text, CATALOG)
    assert typed in caught.value.reason
    assert instead in caught.value.remedy


def test_there_are_eighty() -> None:
    assert len(WRITTEN["answered"]) + len(WRITTEN["refused"]) >= 80
