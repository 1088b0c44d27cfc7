"""Jobs: who works on a charge, under which key, for how long; and a mark before noise is drawn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table of jobs, and let a charge have one mark only."""
    texts = ("token", "request", "question", "holder", "lease")
    op.create_table(
        "ledger_jobs",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("entry", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
    )
    for name, table, columns, where, unique in (
        ("ledger_jobs_by_token", "ledger_jobs", ["account", "token"], "token <> ''", True),
        (
            "ledger_jobs_by_question",
            "ledger_jobs",
            ["account", "question", "entry"],
            "question <> ''",
            False,
        ),
        ("ledger_events_drawing", "ledger_events", ["account", "entry"], "kind = 'drawing'", True),
    ):
        some = sa.text(where)
        op.create_index(
            name, table, columns, unique=unique, sqlite_where=some, postgresql_where=some
        )


def downgrade() -> None:
    """Take the jobs away; what was charged for them stays."""
    op.drop_index("ledger_events_drawing", "ledger_events")
    op.drop_table("ledger_jobs")
