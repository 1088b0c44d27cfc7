"""Modules that were documented under another name: the old import still works, and warns.

The one place for such names.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType

__all__ = ["MOVED", "forward"]

MOVED = {
    "quaestor.accounting.across": "quaestor.accounting.membership",
    "quaestor.accounting.bounds": "quaestor.accounting.numerics.bounds",
    "quaestor.accounting.certified_arithmetic": "quaestor.accounting.numerics.certified_arithmetic",
    "quaestor.accounting.digits": "quaestor.accounting.numerics.digits",
    "quaestor.accounting.hypothesis.papers": "quaestor.accounting.papers.membership_claims",
    "quaestor.accounting.profile": "quaestor.accounting.curves.profile",
    "quaestor.accounting.sketching": "quaestor.accounting.papers.sketch_sizes",
    "quaestor.accounting.variance": "quaestor.accounting.papers.least_variance",
    "quaestor.curator.builder.builder": "quaestor.curator.builder.tables",
    "quaestor.curator.builder.from_ibis": "quaestor.curator.sql.from_ibis",
    "quaestor.curator.canonical": "quaestor.curator.questions.stored_form",
    "quaestor.curator.curator": "quaestor.curator.session",
    "quaestor.curator.describing": "quaestor.curator.questions.plan",
    "quaestor.curator.query": "quaestor.curator.language.query",
    "quaestor.ledger.ledger": "quaestor.ledger.accounts",
}


def _now(name: str) -> str | None:
    """What a module is called now; modules of a moved package have moved with it."""
    package, _, rest = name.rpartition(".")
    if name in MOVED:
        return MOVED[name]
    return f"{MOVED[package]}.{rest}" if package in MOVED else None


class _Forwarding:
    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return None if _now(fullname) is None else ModuleSpec(fullname, cast("Loader", self))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = _now(spec.name) or spec.name
        warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        self._specs[new] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module was executed under its own name, and keeps it."""
        module.__spec__ = self._specs.pop(module.__name__)


def forward() -> None:
    """Answer for the old names, once."""
    if not any(isinstance(finder, _Forwarding) for finder in sys.meta_path):
        # Before others: by the path of a moved package they would find, and run, its modules twice.
        sys.meta_path.insert(0, _Forwarding())
