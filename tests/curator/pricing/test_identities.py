"""The text that a question is known by, written in pieces that are kept, is the whole one."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Source
from quaestor.curator.engines.engine import tables_of
from quaestor.curator.language.compound import Compound
from quaestor.curator.language.expressions import Column, Comparison, Constant
from quaestor.curator.language.kept_results import KeptResults
from quaestor.curator.language.query import Filtered
from quaestor.curator.pricing.known_prices import known_price
from quaestor.curator.pricing.priced_question import (
    Budget,
    declared_facts_of,
    plan_question,
    price,
)
from quaestor.curator.questions.stored_form import canonical_json, to_wire
from quaestor.errors import QuaestorError
from tests.curator.hostile.generator import statements
from tests.curator.hostile.neighbours import catalog_in

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.priced_question import Priced

STATEMENTS = 60
CATALOG = catalog_in(Source(engine="duckdb", connection="nowhere.duckdb", table="none"))


def written_at_once(priced: Priced, catalog: Catalog) -> str:
    """The slow, obvious way: one dictionary of everything, written at once."""
    made, query = priced.offer, priced.query
    blocks, fine = made.measurement.blocks, made.measurement.fine
    told: dict[str, Any] = {
        "version": 1,
        "query": canonical_json(query),
        "draws": [to_wire(draw) for draw in (made.choice, *made.draws)],
        "confidence": made.confidence,
        "tables": [
            declared_facts_of(table)
            for name in sorted(set(tables_of(query.rows)))
            if (table := catalog.table(name)) is not None
        ],
    }
    if blocks is not None:
        told["blocks"] = asdict(blocks)
    if fine:
        told["fine"] = list(fine)
    if made.whole is not None and made.whole_draws:
        caps, total_rows = made.whole.caps, dict(made.whole.total_rows)
        told["outer"] = {"groups": caps.groups, "total_rows": total_rows}
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)


def queries(count: int) -> list[Query]:
    found: list[Query] = []
    for each in statements(CATALOG, 20_261_118, count):
        try:
            asked = plan_question(each.sql, CATALOG)
        except QuaestorError:
            continue
        found += asked.parts if isinstance(asked, Compound) else [asked]
    return found


def test_an_identity_in_pieces_is_the_one_that_is_written_at_once() -> None:
    compared = 0
    for query in queries(STATEMENTS):
        for edition in (4, 3, 2, 1):
            for budget in (Budget(epsilon=0.5, whole_error=True), Budget(rho=0.1)):
                try:
                    made = price(query, budget, CATALOG, delta=1e-6, edition=edition)
                except QuaestorError:
                    continue
                assert made.identity == written_at_once(made, CATALOG)
                compared += 1
    assert compared > STATEMENTS


def test_what_is_kept_of_an_object_is_not_given_for_another_that_compares_equal() -> None:
    kept = KeptResults(8)
    whole, real = Constant(0.0, "real"), Constant(-0.0, "real")
    assert whole == real
    assert kept.or_made(whole, "sign", lambda: "+") == "+"
    assert kept.or_made(real, "sign", lambda: "-") == "-"
    assert kept.or_made(whole, "sign", lambda: "made again") == "+"


def test_questions_that_compare_equal_and_are_written_otherwise_have_their_own_identities() -> None:
    query = next(each for each in queries(20) if not each.keys)
    column = Column("age")
    zeros = [
        replace(query, rows=Filtered(query.rows, Comparison("<", column, Constant(zero, "real"))))
        for zero in (0.0, -0.0)
    ]
    assert zeros[0] == zeros[1]
    assert canonical_json(zeros[0]) != canonical_json(zeros[1])


@pytest.mark.parametrize("known", [False, True], ids=["priced", "known price"])
def test_a_price_is_of_the_catalog_that_is_given(*, known: bool) -> None:
    query = next(each for each in queries(20) if each.aggregates)
    budget = Budget(epsilon=0.5)
    way = known_price if known else price
    tables = tuple(replace(table, total_rows=7) for table in CATALOG.tables)
    other = replace(CATALOG, tables=tables)
    before = way(query, budget, CATALOG, delta=1e-6).identity
    after = way(query, budget, other, delta=1e-6).identity
    assert '"total_rows":7' in after
    assert '"total_rows":7' not in before
    assert way(query, budget, CATALOG, delta=1e-6).identity == before
