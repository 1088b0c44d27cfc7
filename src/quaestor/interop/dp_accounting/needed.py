"""What of dp-accounting is used here, or how to get it."""

from __future__ import annotations

from quaestor.errors import MissingExtra

try:
    from dp_accounting import dp_event, privacy_accountant
except ImportError as missing:
    raise MissingExtra(
        "dp-accounting", extra="interop", purpose="reading and writing its events"
    ) from missing

__all__ = ["Relation", "dp_event", "privacy_accountant"]

Relation = privacy_accountant.NeighboringRelation
