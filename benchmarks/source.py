"""Which code was measured: a fingerprint, so that results never mix two versions."""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

__all__ = ["fingerprint"]


def fingerprint(package: str) -> str:
    """Twelve hexadecimal digits that change whenever a source file of ``package`` does."""
    digest = sha256()
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).rglob("*.py")):
            digest.update(file.relative_to(folder).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
