"""The curator: tables stay where they are, analysts ask, a ledger pays, answers carry noise.

::

    from quaestor.curator import Curator

    with Curator.from_file("quaestor.toml") as curator:
        print(curator.ask("SELECT COUNT(*) FROM visits", epsilon=0.1).to_csv())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.preview import Preview
    from quaestor.curator.pricing.accuracy import Accuracy
    from quaestor.curator.session import Curator

__all__ = ["Accuracy", "Answer", "Curator", "Preview"]

_HOMES = {
    "Accuracy": "quaestor.curator.pricing.accuracy",
    "Answer": "quaestor.curator.answers.answer",
    "Curator": "quaestor.curator.session",
    "Preview": "quaestor.curator.preview",
}


def __getattr__(name: str) -> Any:
    """Bring a public name when it is first used: engines and parsers are heavy."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(_HOMES[name]), name)
