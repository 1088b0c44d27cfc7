"""Pages of the reference that are written from the code: ``python -m docs.generate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.generate.commands import commands_page
from docs.generate.error_codes import errors_page
from docs.generate.http_api import http_page

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PAGES"]

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/commands.md": commands_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/http-api.md": http_page,
}
"""What each generated page should hold, by its path."""
