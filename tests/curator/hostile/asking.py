"""Hostile questions, and everything that whoever asks them gets to see."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.errors import QuaestorError

if TYPE_CHECKING:
    from quaestor.curator import Answer, Curator

__all__ = ["ATTACKS", "EPSILON", "Attack", "seen"]

EPSILON = 10.0  # groups of 80 people are then shown and those of one person not, but for 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Questions of one kind: those that are answered, and those that are refused."""

    kind: str
    answered: tuple[str, ...]
    refused: tuple[str, ...]


def _read() -> tuple[Attack, ...]:
    text = (Path(__file__).parent / "corpus.toml").read_text(encoding="utf-8")
    return tuple(
        Attack(
            kind=entry["kind"],
            answered=tuple(entry["answered"]),
            refused=tuple(entry["refused"]),
        )
        for entry in tomllib.loads(text)["attack"]
    )


ATTACKS = _read()


def seen(curator: Curator, question: str) -> tuple[object, ...]:
    """All that is not noise: the status, the message with its fields, or the answer's shape."""
    try:
        answer = curator.ask(question, epsilon=EPSILON)
    except QuaestorError as error:
        # A cause or a context would be printed with a traceback.
        inside = (error.__cause__, error.__context__ if not error.__suppress_context__ else None)
        words = (type(error).__name__, error.code, str(error), error.fields(), inside)
        return ("refused", *words, None)
    return ("answered", *_shape(answer, chosen="LIMIT 2" in question))


def _shape(answer: Answer, *, chosen: bool) -> tuple[object, ...]:
    """Which groups are chosen as the largest is noisy, and their order may be; the rest is not."""
    columns = [(column.name, column.kind, column.figure) for column in answer.columns]
    keys = [column.values for column in answer.columns if not column.figure]
    groups = sorted(map(repr, zip(*keys, strict=True)))
    holes = [
        (column.standard_errors is None, column.lower is None, column.approximate)
        for column in answer.columns
    ]
    cost = (answer.epsilon, answer.delta, answer.releases, answer.receipt, answer.remaining)
    return (columns, len(answer) if chosen else groups, holes, fixed_notes(answer.notes), cost)


def fixed_notes(notes: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Notes without what they say of released, noisy figures: how much was cut, and of whom."""
    noisy = re.compile(r"(beyond them|caps left out|rank)\b.*|.*(is missing, cut by|to cut less).*")
    fixed = (re.sub(r"^part \d+: ", "", noisy.sub(r"\1", note)) for note in notes)
    return tuple(dict.fromkeys(filter(None, fixed)))  # parts whose noise agrees say it once
