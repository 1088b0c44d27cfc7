"""A real OpenID Connect provider (npm's oidc-provider), and somebody who signs in there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx

from tests.service.running import PATIENCE, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SECRET", "oidc_provider", "typed_in"]

SECRET = "a secret: of the client's/tests only"  # noqa: S105
_PACKAGE = "oidc-provider@9"


def _installed() -> Path:
    """The package's entry; installed by npm when first needed, once for all checkouts."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quaestor-tests"
    folder = cache / _PACKAGE
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=cache))
        npm = shutil.which("npm")
        assert npm, "the tests of single sign-on need node and npm"
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(
            [npm, "install", *options, "--prefix", str(draft), _PACKAGE], check=True, cwd=draft
        )
        try:
            draft.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return folder / "node_modules" / "oidc-provider" / "lib" / "index.js"


@contextmanager
def oidc_provider(redirect: str) -> Iterator[str]:
    """A provider that sends browsers back to that address; its issuer."""
    node = shutil.which("node")
    assert node, "the tests of single sign-on need node and npm"
    entry, port = _installed().as_uri(), free_port()
    script = Path(__file__).with_name("oidc_provider.mjs")
    process = subprocess.Popen(
        [node, str(script), entry, str(port), redirect, SECRET],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NODE_ENV": "test"},
    )
    issuer = f"http://localhost:{port}"
    try:
        _wait(f"{issuer}/.well-known/openid-configuration", process)
        yield issuer
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait(place: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the identity provider has ended"
        try:
            if httpx.get(place, timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise TimeoutError(place)


def typed_in(address: str, *, login: str, redirect: str) -> str:
    """Sign in at the provider as somebody, with a browser of their own; where it sends them."""
    with httpx.Client(timeout=PATIENCE) as browser:
        answered = browser.get(address)
        for _ in range(20):
            if answered.is_redirect:
                place = urljoin(str(answered.url), answered.headers["location"])
                if place.startswith(redirect):
                    return place
                answered = browser.get(place)
                continue
            form = re.search(r'<form[^>]*action="([^"]+)"', answered.text)
            assert form, answered.text
            prompt = re.search(r'name="prompt" value="(\w+)"', answered.text)
            assert prompt, answered.text
            sent = {"prompt": prompt[1], "login": login, "password": "any"}
            answered = browser.post(urljoin(str(answered.url), form[1]), data=sent)
    raise AssertionError("the provider sends nobody back")
