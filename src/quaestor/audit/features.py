"""From outputs of any kind to columns of numbers that tests can work on.

How is settled on the runs from which a test is learned, and then applied to all: which words are
counted, and which columns are kept, never depends on the runs that judge.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.audit.facts import LARGEST, facts_of, number_of, text_of
from quaestor.audit.targets import Raised
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from quaestor.audit.facts import Facts
    from quaestor.audit.game import Transcripts
    from quaestor.audit.targets import Outputs

    Columns = NDArray[np.float64]

__all__ = ["Features", "Sample", "learned_features", "refuse_only_errors"]

_MOST_COLUMNS = 256  # of numbers as they are
_MOST_CHOSEN = 48  # of facts about structures
_MOST_CANDIDATES = 2000
_MOST_LEARNED = 4000  # outputs; more would only slow the choice of facts
_MOST_NAMES = 2000
_RARE = 20  # outputs that repeat so often are told apart by their text


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs as tests see them: outputs as they came, and as columns with names."""

    hidden: NDArray[np.bool_]
    outputs: tuple[Outputs, ...]
    columns: Columns
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _RoundReader:
    """How the outputs of one round become columns."""

    names: tuple[str, ...]
    read: Callable[[Outputs], Columns]
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Features:
    """A way to make samples, settled on some runs."""

    readers: tuple[_RoundReader, ...]

    def __call__(self, played: Transcripts) -> Sample:
        """These runs, as columns."""
        columns = [
            reader.read(out) for reader, out in zip(self.readers, played.rounds, strict=True)
        ]
        return Sample(played.hidden, played.rounds, np.concatenate(columns, axis=1), self._names())

    def _names(self) -> tuple[str, ...]:
        names = [name for reader in self.readers for name in reader.names]
        if len(self.readers) > 1:
            names = [
                f"round {i + 1}: {name}"
                for i, reader in enumerate(self.readers)
                for name in reader.names
            ]
        return tuple(names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know of how outputs were compared."""
        unknown = sorted(frozenset().union(*(reader.unknown for reader in self.readers)))
        if not unknown:
            return ()
        return (f"objects of type {', '.join(unknown)} were compared by their text only",)


def learned_features(runs: Transcripts) -> Features:
    """A way to make samples, settled on these runs."""
    return Features(tuple(_reader(outputs, runs.hidden) for outputs in runs.rounds))


def refuse_only_errors(runs: Transcripts) -> None:
    """Refuse a target of which nothing but errors is known: it was called wrongly."""
    for outputs in runs.rounds:
        kinds = {each.kind if isinstance(each, Raised) else None for each in outputs}
        if None not in kinds:
            text = ", ".join(sorted(map(str, kinds)))
            raise InvalidParameter("target", text, "one that does not raise an error every time")


def _reader(outputs: Outputs, hidden: NDArray[np.bool_]) -> _RoundReader:
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        return _of_numbers(int(np.prod(outputs.shape[1:], dtype=np.int64)))
    entries = list(outputs)
    widths = {_width(entry) for entry in entries}
    if len(widths) == 1 and None not in widths:
        return _of_numbers(widths.pop() or 0)
    return _of_structures(entries, hidden)


def _width(entry: Any) -> int | None:
    """How many numbers an entry is, if it is nothing else."""
    if isinstance(entry, Real | np.bool_):
        return 1
    if isinstance(entry, np.ndarray):
        return entry.size if entry.dtype.kind in "biuf" else None
    if isinstance(entry, list | tuple) and all(isinstance(x, Real | np.bool_) for x in entry):
        return len(entry)
    return None


def _of_numbers(width: int) -> _RoundReader:
    """One row of numbers for each entry; anything else that comes later is far below them."""
    if width > _MOST_COLUMNS:
        raise InvalidParameter("outputs", width, f"at most {_MOST_COLUMNS} numbers long")
    strange = [-LARGEST] * width

    def row(entry: Any) -> list[float]:
        if _width(entry) != width:
            return strange
        values = [entry] if isinstance(entry, Real | np.bool_) else np.ravel(entry).tolist()
        found = map(number_of, values)
        return [-LARGEST if value is None else value for value in found]

    def read(each: Outputs) -> Columns:
        if width == 0:
            return np.array([[float(_width(entry) != 0)] for entry in each])
        if isinstance(each, np.ndarray) and each.dtype.kind in "biuf":
            flat = each.reshape(len(each), -1)
            if flat.shape[1] == width:
                finite = np.nan_to_num(flat.astype(np.float64), nan=-LARGEST)
                return np.clip(finite, -LARGEST, LARGEST)
        return np.array([row(entry) for entry in each], np.float64).reshape(len(each), width)

    single = "the output"
    names = (single,) if width <= 1 else tuple(f"number {i + 1} of {single}" for i in range(width))
    return _RoundReader(names, read)


def _of_structures(entries: list[Any], hidden: NDArray[np.bool_]) -> _RoundReader:
    """The facts that differ most between the worlds, and which output it is where they repeat."""
    known = [facts_of(entry) for entry in entries[:_MOST_LEARNED]]
    names = _chosen_names(known, hidden[:_MOST_LEARNED])
    unknown = frozenset().union(*(facts.unknown for facts in known))
    texts = Counter(map(text_of, entries))
    places: dict[str, int] | None = None
    if len(texts) <= max(len(entries) // _RARE, 2):
        ranked = sorted(texts, key=lambda text: (-texts[text], text))[:_MOST_NAMES]
        places = {text: i for i, text in enumerate(ranked)}

    def read(each: Outputs) -> Columns:
        rows = np.zeros((len(each), len(names) + (places is not None)))
        for i, entry in enumerate(each):
            values = facts_of(entry).values
            rows[i, : len(names)] = [values.get(name, 0.0) for name in names]
            if places is not None:
                rows[i, -1] = places.get(text_of(entry), _MOST_NAMES)
        return rows

    listed = (*names, "which output it is") if places is not None else names
    return _RoundReader(listed, read, unknown)


def _chosen_names(known: list[Facts], hidden: NDArray[np.bool_]) -> tuple[str, ...]:
    """Those that differ most between the worlds, in the mean or in the spread."""
    seen = Counter(name for facts in known for name in facts.values)
    candidates = sorted(seen, key=lambda name: (-seen[name], name))[:_MOST_CANDIDATES]
    table = np.array([[facts.values.get(name, 0.0) for name in candidates] for facts in known])
    varied = np.flatnonzero(table.min(axis=0) < table.max(axis=0))
    if not varied.size:
        return (candidates[0],)
    ranks = _ranks(table[:, varied])
    centre = np.abs(ranks - 0.5)
    strength = np.maximum(_difference(ranks, hidden), _difference(centre, hidden))
    order = np.argsort(-np.round(strength, 6), kind="stable")[:_MOST_CHOSEN]
    return tuple(candidates[varied[i]] for i in order)


def _ranks(table: Columns) -> Columns:
    """Every column by its order, from 0 to 1; ties share a rank."""
    ranked = np.empty_like(table)
    for i, column in enumerate(table.T):
        _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
        upto = np.cumsum(counts)
        ranked[:, i] = ((upto - counts / 2) / column.size)[inverse]
    return ranked


def _difference(table: Columns, hidden: NDArray[np.bool_]) -> Columns:
    """The difference of the worlds' means in standard errors, with a run of doubt."""
    ones, zeros = table[hidden], table[~hidden]
    if not (len(ones) and len(zeros)):
        return np.zeros(table.shape[1])
    spread = ones.var(axis=0) / len(ones) + zeros.var(axis=0) / len(zeros)
    doubt = 1 / len(table) ** 2
    apart: Columns = np.abs(ones.mean(axis=0) - zeros.mean(axis=0)) / np.sqrt(spread + doubt)
    return apart
