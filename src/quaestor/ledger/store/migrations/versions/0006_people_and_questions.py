"""People, their credentials, what they did to each other, and questions asked of a service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_TEXTS = {
    "ledger_people": ("folded", "roles", "groups", "password", "created", "ended"),
    "ledger_credentials": ("id", "kind", "person", "scopes", "note", "created", "expires", "ended"),
    "ledger_trail": ("time", "kind", "actor", "subject", "detail", "previous", "hash"),
    "ledger_secrets": ("secret",),
    "ledger_questions": (
        *("analyst", "token", "request", "inquiry", "created", "account", "state", "problem"),
        *("holder", "lease", "finished"),
    ),
}


def upgrade() -> None:
    """Make the tables."""
    for table, key in (
        ("ledger_people", "name"),
        ("ledger_credentials", "digest"),
        ("ledger_secrets", "name"),
        ("ledger_questions", "id"),
    ):
        numbers = ("entry", "answered", "repeated") if table == "ledger_questions" else ()
        op.create_table(
            table,
            sa.Column(key, sa.Text, primary_key=True),
            *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS[table]),
            *(sa.Column(name, sa.BigInteger, nullable=False) for name in numbers),
        )
    op.create_table(
        "ledger_trail",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS["ledger_trail"]),
    )
    for name, table, columns, where, unique in (
        ("ledger_people_by_folded", "ledger_people", ["folded"], None, True),
        ("ledger_credentials_by_id", "ledger_credentials", ["id"], None, True),
        ("ledger_credentials_of", "ledger_credentials", ["person", "kind"], None, False),
        ("ledger_trail_by_kind", "ledger_trail", ["kind", "time"], None, False),
        (
            "ledger_questions_by_token",
            "ledger_questions",
            ["analyst", "token"],
            "token <> ''",
            True,
        ),
        ("ledger_questions_of", "ledger_questions", ["analyst", "created"], None, False),
        ("ledger_questions_open", "ledger_questions", ["lease"], "state = 'open'", False),
    ):
        some = None if where is None else sa.text(where)
        op.create_index(
            name, table, columns, unique=unique, sqlite_where=some, postgresql_where=some
        )


def downgrade() -> None:
    """Take them away; what was charged stays."""
    for table in _TEXTS:
        op.drop_table(table)
