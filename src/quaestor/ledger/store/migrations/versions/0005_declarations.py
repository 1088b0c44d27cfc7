"""Declarations of datasets, which are few among many events, are found without reading all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Index the events that are about a dataset and not about a charge."""
    some = sa.text("kind IN ('declared', 'refreshed')")
    op.create_index(
        "ledger_events_of_datasets",
        "ledger_events",
        ["account", "seq"],
        sqlite_where=some,
        postgresql_where=some,
    )


def downgrade() -> None:
    """Take the index away."""
    op.drop_index("ledger_events_of_datasets", "ledger_events")
