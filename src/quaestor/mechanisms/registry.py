"""From a description to the mechanism that draws it."""

from __future__ import annotations

from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from quaestor.errors import InvalidParameter
from quaestor.mechanisms import kinds
from quaestor.mechanisms.base import DescribedMechanism

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.releases import Release

__all__ = ["MECHANISMS", "found_kinds", "mechanism_for"]


def found_kinds() -> Iterator[type[DescribedMechanism]]:
    """The mechanisms with a description that the files of ``kinds`` say are theirs."""
    for file in iter_modules(kinds.__path__, f"{kinds.__name__}."):
        module = import_module(file.name)
        for name in module.__all__:
            kind = getattr(module, name)
            if isclass(kind) and issubclass(kind, DescribedMechanism) and not isabstract(kind):
                yield kind


MECHANISMS: dict[type[Release], type[DescribedMechanism]] = {
    kind.description: kind for kind in found_kinds()
}
"""Every description that can be drawn: a file in ``kinds`` is found by itself."""


def mechanism_for(release: Release) -> DescribedMechanism:
    """The mechanism of that name with these parameters, on its default grid.

    >>> from quaestor.accounting.expressions import parse_release
    >>> mechanism_for(parse_release("Geometric(scale=20)"))
    Geometric(scale=20.0, sensitivity=1)
    """
    kind = MECHANISMS.get(type(release))
    if kind is None:
        names = ", ".join(sorted(drawn.__name__ for drawn in MECHANISMS.values()))
        raise InvalidParameter("release", str(release), f"one of {names}")
    return kind.of(release)
