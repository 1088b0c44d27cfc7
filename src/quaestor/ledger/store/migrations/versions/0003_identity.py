"""Which ledger this is, and whether it is one or the backup of one."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Give the ledger an identity."""
    table = op.create_table(
        "ledger_identity",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
    )
    op.bulk_insert(table, [{"id": secrets.token_hex(16), "kind": "ledger"}])


def downgrade() -> None:
    """Take the identity away."""
    op.drop_table("ledger_identity")
