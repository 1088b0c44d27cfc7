"""Accounts, their chained events, and what the events add up to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables of a new ledger."""
    op.create_table(
        "ledger_accounts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_heads",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("closed", sa.Integer, nullable=False),
        sa.Column("pricing", sa.Integer, nullable=False),
    )
    texts = ("time", "analyst", "dataset", "purpose", "query", "releases", "detail", "answer")
    op.create_table(
        "ledger_events",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        sa.Column("previous", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    settled = sa.text("kind IN ('released', 'void')")
    op.create_index(
        "ledger_events_settled",
        "ledger_events",
        ["account", "entry"],
        sqlite_where=settled,
        postgresql_where=settled,
    )
    op.create_table(
        "ledger_balances",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("analyst", sa.Text, primary_key=True),
        sa.Column("totals", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Take everything away."""
    for name in ("ledger_balances", "ledger_events", "ledger_heads", "ledger_accounts"):
        op.drop_table(name)
