"""What one person's rows may change of what is drawn, and whether they changed more."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.errors import QuaestorError
from tests.curator import door

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.catalog.model import Catalog
    from tests.curator.door import Drawn, Seen

__all__ = ["Outcome", "Violation", "asked", "compared", "violations"]

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is wrong, and in how many words."""

    kind: str
    words: str
    changed: tuple[tuple[str, str], ...] = ()
    """The cells that changed, if that is what is wrong: before and after."""
    cells: tuple[str, ...] = ()
    """Their labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a question on one table: figures, or a refusal before anything is charged."""

    seen: Seen | None = None
    refusal: tuple[str, ...] | None = None
    broken: str | None = None
    """An error that is none of Quaestor's, and where it came from."""

    @property
    def answered(self) -> bool:
        """Whether there are figures."""
        return self.seen is not None and not self.seen.failed


def asked(catalog: Catalog, sql: str) -> Outcome:
    """Ask, and keep whatever happens."""
    try:
        return Outcome(seen=door.exact(catalog, sql))
    except QuaestorError as error:
        return Outcome(refusal=(type(error).__name__, str(error), repr(error.fields())))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is wrong)
        return Outcome(broken=f"{type(error).__name__}: {error}"[:300])


def compared(with_person: Outcome, without: Outcome) -> list[Violation]:
    """Everything that is wrong with two outcomes of one question."""
    both = (with_person, without)
    found = [
        Violation(kind="broken", words=f"asking breaks: {one.broken}")
        for one in both
        if one.broken is not None
    ]
    if found:
        return found[:1]
    if with_person.refusal != without.refusal:
        words = f"refused with the person: {with_person.refusal}; without: {without.refusal}"
        return [Violation(kind="refusal", words=words)]
    if with_person.seen is None or without.seen is None:
        return []
    return violations(with_person.seen, without.seen)


def violations(with_person: Seen, without: Seen) -> list[Violation]:
    """What the figures of two neighbouring tables show beyond what the noise is priced for."""
    if with_person.failed != without.failed:
        words = f"fails {'with' if with_person.failed else 'without'} the person only"
        return [Violation(kind="failure", words=words)]
    shapes = [[(one.kind, one.bound, one.cells) for one in s.drawn] for s in (with_person, without)]
    if shapes[0] != shapes[1]:
        return [Violation(kind="price", words=f"priced {shapes[0]} and {shapes[1]}")]
    chosen = {one.part for one in with_person.drawn if one.kind == "keys"}
    found = []
    for one, other in zip(with_person.drawn, without.drawn, strict=True):
        found += _drawn(one, other, chosen=one.part in chosen)
    return found


def _drawn(one: Drawn, other: Drawn, *, chosen: bool) -> list[Violation]:
    """``chosen``: which groups are shown is private, and a group that is not there is empty."""
    for side in (one, other):
        if len(side.labels) != len(side.values):
            return [Violation(kind="shape", words="not one value a label")]
    labels = [list(map(repr, side.labels)) for side in (one, other)]
    if not chosen and labels[0] != labels[1]:
        return [Violation(kind="labels", words=f"labels {labels[0]} and {labels[1]}")]
    if chosen:
        twice = [name for side in labels for name, n in Counter(side).items() if n > 1]
        if twice:
            return [Violation(kind="labels", words=f"a private group is there twice: {twice}")]
        found = [
            dict(zip(a, s.values, strict=True)) for a, s in zip(labels, (one, other), strict=True)
        ]
        names = list(dict.fromkeys(labels[0] + labels[1]))
        pairs = [(found[0].get(name), found[1].get(name)) for name in names]
    else:
        names = labels[0]
        pairs = list(zip(one.values, other.values, strict=True))
    return _judged(one, names, pairs)


def _judged(drawn: Drawn, names: list[str], pairs: list[Pair]) -> list[Violation]:
    distance: Callable[[Pair], Any] = _between_histograms if drawn.kind == "quantile" else _between
    moved = [(name, pair, distance(pair)) for name, pair in zip(names, pairs, strict=True)]
    moved = [one for one in moved if one[2] != 0]
    cells = tuple(name for name, _, _ in moved)
    changed = tuple((repr(before), repr(after)) for _, (after, before), _ in moved)
    shown = "; ".join(
        f"{name[:60]}: {str(before)[:60]} -> {str(after)[:60]}"
        for name, (after, before), _ in moved[:4]
    )
    what = f"of {drawn.kind} (bound {drawn.bound}, cells {drawn.cells})"

    def wrong(kind: str, words: str) -> Violation:
        return Violation(kind=kind, words=f"{words} {what}: {shown}", changed=changed, cells=cells)

    found = []
    if len(moved) > drawn.cells:
        found.append(wrong("cells", f"{len(moved)} cells change"))
    most = max((size for _, _, size in moved), default=0)
    if most > drawn.bound:
        found.append(wrong("bound", f"a cell changes by {most}"))
    total = sum(size for _, _, size in moved)
    if not found and total > drawn.cells * drawn.bound:
        found.append(wrong("total", f"cells change by {total} in all"))
    return found


def _between(pair: Pair) -> Any:
    after, before = pair
    return abs((after or 0) - (before or 0))


def _between_histograms(pair: Pair) -> Any:
    after, before = pair[0] or {}, pair[1] or {}
    return sum(abs(after.get(v, 0) - before.get(v, 0)) for v in {*after, *before})
