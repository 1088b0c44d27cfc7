"""The revisions of a ledger's tables, in alembic's order; run by ``store.migrating``."""
