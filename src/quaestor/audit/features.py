"""From outputs of any kind to columns of numbers that tests can work on.

How is settled on the runs from which a test is learned, and then applied to all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.audit.targets import Raised
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from quaestor.audit.game import Transcripts
    from quaestor.audit.targets import Outputs

    Columns = NDArray[np.float64]

__all__ = ["Sample", "learned_features"]

_LARGEST = 1e300  # beyond it, and for what is no number: so that sums stay finite
_MOST_COLUMNS = 256
_MOST_NAMES = 2000
_RARE = 20  # outputs that repeat so often are told apart by their text


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs as tests see them: outputs as they came, and as columns."""

    hidden: NDArray[np.bool_]
    outputs: tuple[Outputs, ...]
    columns: Columns


def learned_features(runs: Transcripts) -> Callable[[Transcripts], Sample]:
    """A way to make samples, settled on these runs."""
    readers = [_reader(outputs) for outputs in runs.rounds]

    def sample(played: Transcripts) -> Sample:
        columns = [read(out) for read, out in zip(readers, played.rounds, strict=True)]
        return Sample(played.hidden, played.rounds, np.concatenate(columns, axis=1))

    return sample


def _reader(outputs: Outputs) -> Callable[[Outputs], Columns]:
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        return lambda each: _numbers(np.asarray(each).reshape(len(each), -1))
    entries = list(outputs)
    if all(isinstance(entry, Raised) for entry in entries):
        kinds = ", ".join(sorted({entry.kind for entry in entries}))
        raise InvalidParameter("target", kinds, "one that does not raise an error every time")
    if any(isinstance(entry, dict) for entry in entries):
        return _of_mappings([entry for entry in entries if isinstance(entry, dict)])
    numbers = list(map(_is_number, entries))
    if not all(numbers) and len(set(map(repr, entries))) <= max(len(entries) // _RARE, 2):
        return _of_names(entries)
    if any(numbers):
        return _of_rows(entries, _is_number, width=1)
    lengths = Counter(np.size(entry) for entry in entries if _is_row(entry))
    if not lengths:
        return _of_names(entries)
    width = lengths.most_common(1)[0][0]
    return _of_rows(entries, lambda entry: _is_row(entry) and np.size(entry) == width, width=width)


def _is_number(entry: Any) -> bool:
    return isinstance(entry, Real | np.bool_)


def _is_row(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.dtype.kind in "biuf"
    return isinstance(entry, list | tuple) and all(map(_is_number, entry))


def _of_rows(
    entries: list[Any], fits: Callable[[Any], bool], *, width: int
) -> Callable[[Outputs], Columns]:
    """One row for each entry; where some are of another kind, a last column marks these."""
    marks = not all(map(fits, entries))
    strange = [*([-_LARGEST] * width), *([1.0] if marks else [])]
    usual = [0.0] if marks else []

    def row(entry: Any) -> list[float]:
        if not fits(entry):
            return strange
        values = [entry] if _is_number(entry) else np.ravel(entry).tolist()
        return [*map(_float, values), *usual]

    return lambda each: _numbers(
        np.array([row(entry) for entry in each], np.float64).reshape(len(each), width + marks)
    )


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST


def _numbers(columns: NDArray[Any]) -> Columns:
    if columns.shape[1] > _MOST_COLUMNS:
        raise InvalidParameter("outputs", columns.shape[1], f"at most {_MOST_COLUMNS} numbers long")
    finite = np.nan_to_num(columns.astype(np.float64), nan=-_LARGEST)
    return np.clip(finite, -_LARGEST, _LARGEST)


def _of_mappings(entries: list[Mapping[Any, Any]]) -> Callable[[Outputs], Columns]:
    """Two columns for each key: whether it is there, and its number; and the number of keys."""
    seen = Counter(key for entry in entries for key in entry)
    keys = [key for key, _ in seen.most_common(_MOST_COLUMNS // 2 - 1)]

    def row(entry: Any) -> list[float]:
        values = [entry.get(key, 0.0) if isinstance(entry, dict) else 0.0 for key in keys]
        there = [float(isinstance(entry, dict) and key in entry) for key in keys]
        numbers = [_float(value) if _is_number(value) else 0.0 for value in values]
        return [float(len(entry)) if isinstance(entry, dict) else -1.0, *there, *numbers]

    return lambda each: _numbers(np.array([row(entry) for entry in each], np.float64))


def _of_names(entries: list[Any]) -> Callable[[Outputs], Columns]:
    """One column: the place of the output's text among those seen, the most frequent first."""
    seen = Counter(map(repr, entries))
    places = {text: i for i, (text, _) in enumerate(seen.most_common(_MOST_NAMES))}
    return lambda each: _numbers(
        np.array([[places.get(repr(entry), _MOST_NAMES)] for entry in each], np.float64)
    )
