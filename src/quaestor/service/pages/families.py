"""Every family of pages."""

from __future__ import annotations

from quaestor.service.pages import answers, ask, home, static_files

__all__ = ["PAGES"]

PAGES = (static_files.routes, home.routes, ask.routes, answers.routes)
"""Every family of pages, the sign-in aside, which is with its routes."""
