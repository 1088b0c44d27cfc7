"""Kinds by name, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TypeVar

__all__ = ["Kinds"]

K = TypeVar("K")


class Kinds(MutableMapping[str, type[K]]):
    """From the name of a kind to its class; ``homes`` says in which file of ``package`` it is."""

    def __init__(self, package: str, homes: dict[str, str]) -> None:
        self._homes = {name: f"{package}.{home}" for name, home in homes.items()}
        self._kinds: dict[str, type[K] | None] = dict.fromkeys(homes)

    def __getitem__(self, name: str) -> type[K]:
        kind = self._kinds[name]
        if kind is None:
            kind = self._kinds[name] = getattr(import_module(self._homes[name]), name)
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __setitem__(self, name: str, kind: type[K]) -> None:
        self._kinds[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
