"""Five thousand statements: each is a query or a refusal, soon, and never anything else."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

from quaestor.curator.questions.plan import describe
from quaestor.curator.questions.stored_form import canonical_json, fingerprint, from_dict, to_dict
from quaestor.curator.sql import parse
from quaestor.errors import RefusedQuery
from tests.curator.sql.grammar import Grammar
from tests.curator.sql.hospital import CATALOG

if TYPE_CHECKING:
    from quaestor.curator.language.query import Query

STATEMENTS = 2_000  # ten thousand others of this grammar are asked in tests/curator/hostile
CPU_SECONDS_EACH = 2.0  # a thousand times what is usual


def outcome(text: str) -> Query | RefusedQuery:
    try:
        return parse(text, CATALOG)
    except RefusedQuery as refusal:
        return refusal


def test_every_statement_is_understood_or_refused() -> None:
    grammar = Grammar(random.Random(20_261_116))
    kinds = [grammar.statement] * 6 + [grammar.broken] * 3 + [grammar.noise]
    found: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for number in range(STATEMENTS):
        text = kinds[number % len(kinds)]()
        before = time.thread_time()
        made = outcome(text)
        assert time.thread_time() - before < CPU_SECONDS_EACH, text
        found[type(made).__name__] += 1
        if isinstance(made, RefusedQuery):
            assert made.remedy, text
            reasons[made.reason.split(" ")[0]] += 1
        else:
            check(made)
    assert found["Query"] > STATEMENTS / 20
    assert found["RefusedQuery"] > STATEMENTS / 2
    assert len(reasons) > 40


def check(query: Query) -> None:
    """What must hold of every query: it says all, is bounded, and never shows the unit."""
    assert from_dict(json.loads(json.dumps(to_dict(query)))) == query
    assert fingerprint(query) == fingerprint(from_dict(json.loads(canonical_json(query))))
    assert describe(query)
    for aggregate in query.aggregates:
        assert -1e15 <= aggregate.low <= aggregate.high <= 1e15
        assert max(abs(aggregate.low), abs(aggregate.high)) / aggregate.step <= 2**24
        assert aggregate.low % aggregate.step == aggregate.high % aggregate.step == 0
    for key in query.keys:
        assert key.values is None or 0 < len(key.values) <= 100_000
        assert key.values is None or len(set(key.values)) == len(key.values)
    assert 1 <= query.contribution.rows <= 50
    assert 1 <= query.contribution.groups <= 5


def test_the_same_statement_always_has_the_same_outcome() -> None:
    grammar = Grammar(random.Random(7))
    for _ in range(200):
        text = grammar.statement()
        assert str(outcome(text)) == str(outcome(text))
