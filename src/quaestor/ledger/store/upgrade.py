"""Making and upgrading a ledger's tables, by the revisions in ``store.migrations``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["downgrade", "upgrade"]

_FOLDER = Path(__file__).parent / "migrations"


def upgrade(connection: Connection, *, revision: str = "head") -> None:
    """Bring the tables forward to a revision, within the connection's transaction."""
    _run(connection, "upgrade", revision)


def downgrade(connection: Connection, *, revision: str) -> None:
    """Take the tables back to a revision; what only later ones can hold is lost."""
    _run(connection, "downgrade", revision)


def _run(connection: Connection, direction: str, revision: str) -> None:
    try:
        from alembic import command
        from alembic.config import Config
    except ImportError:
        raise MissingExtra("alembic", extra="ledger", purpose="a new ledger") from None
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    getattr(command, direction)(config, revision)
