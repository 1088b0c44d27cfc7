"""The fingerprint of a question: what it asks, of which declared data, with which noise.

Two questions with one fingerprint have the same answers with the same probabilities, so that the
stored answer to one is an answer to the other, and costs nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.registry import tables_of
from quaestor.curator.questions.canonical import canonical_json
from quaestor.curator.questions.wire import to_wire

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Offer

__all__ = ["identity_of"]

_VERSION = 1


def identity_of(query: Query, offer: Offer, catalog: Catalog) -> str:
    """All that the answer's law depends on beside the rows, as one text.

    Its SHA-256 is the fingerprint. It holds the query in its canonical form, everything that will
    be drawn for it, and what the catalog declares of the tables it reads, for declared bounds move
    values before they are compared. Where a table lives is left out: moving it does not make it
    another one.
    """
    tables = sorted(set(tables_of(query.rows)))
    told = {
        "version": _VERSION,
        "query": canonical_json(query),
        "draws": [to_wire(draw) for draw in (offer.choice, *offer.draws)],
        "confidence": offer.confidence,
        "tables": [_declared(table) for name in tables if (table := catalog.table(name))],
    }
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _declared(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "unit": table.unit,
        "dataset": table.dataset,
        **({} if table.total_rows is None else {"total_rows": table.total_rows}),
        "columns": [to_wire(column) for column in table.columns],
    }
