"""A real browser in front of a real service: Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.service.running import RunningService

__all__ = ["Visitor", "started_browser", "visitor"]

_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_RUN = "async () => (await axe.run()).violations.map(v => v.id + ': ' + v.nodes[0].html)"
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@contextmanager
def started_browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass(slots=True)
class Visitor:
    """Somebody at a browser, and everything that the browser complained about."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def visit(self, path: str) -> Page:
        """Go to a page of the service."""
        self.page.goto(self.url + path)
        return self.page

    def axe(self) -> list[str]:
        """What axe finds wrong with the page as it is."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        found: list[str] = self.page.evaluate(_RUN)
        return found

    def too_wide(self) -> int:
        """By how much the page is wider than the window."""
        found: int = self.page.evaluate(_WIDER)
        return found


@contextmanager
def visitor(
    browser: Browser, service: RunningService, person: str | None = None, **options: Any
) -> Iterator[Visitor]:
    """Somebody who has signed in by a link, or nobody in particular."""
    context = browser.new_context(**options)
    page = context.new_page()
    made = Visitor(page, service.url)
    page.on("console", lambda message: made.complaints.append(message.text))
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    page.on("dialog", lambda dialog: made.complaints.append(f"dialog {dialog.message}"))
    try:
        if person is not None:
            link = service.client("olga").post(f"/api/v1/people/{person}/links").json()["link"]
            made.visit(link)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(lambda url: "/sign-in" not in url)
        yield made
    finally:
        context.close()
