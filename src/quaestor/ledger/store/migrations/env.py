"""What alembic runs: the revisions, on the connection and in the transaction it is given."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], version_table="ledger_version"
)
context.run_migrations()
