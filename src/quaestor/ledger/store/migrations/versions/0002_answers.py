"""Answers, stored with the entry that paid for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table of answers."""
    op.create_table(
        "ledger_answers",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("entry", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("analyst", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
    )
    asked = ["account", "dataset", "query", "entry"]
    op.create_index("ledger_answers_by_query", "ledger_answers", asked)


def downgrade() -> None:
    """Take the answers away; what was charged for them stays."""
    op.drop_table("ledger_answers")
