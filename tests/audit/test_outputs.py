"""Outputs that are not numbers: words, records, lists, trees and strangers are told apart."""

from __future__ import annotations

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor import PureDP
from quaestor.audit import Report, Transcripts, audit
from quaestor.audit.facts import facts_of
from quaestor.audit.features import learned_features

if TYPE_CHECKING:
    from collections.abc import Callable

COINS = np.random.default_rng(41)
SURE = 1 - 1e-6
CLAIM = PureDP(epsilon=1.0)


def judged(target: Any, neighbours: tuple[Any, Any] = (0, 1), runs: int = 4000) -> Report:
    return audit(target, neighbours=neighbours, claim=CLAIM, runs=runs, confidence=SURE)


def words_above(queries: list[float], threshold: float) -> tuple[str, ...]:
    noise = COINS.laplace(scale=4.0, size=len(queries))
    return tuple("T" if query >= threshold else "F" for query in queries + noise)


def sparse_vector_without_noise_on_the_threshold(queries: list[float]) -> tuple[str, ...]:
    """Every query has noise, as if for one; there is none on the threshold, and no end."""
    return words_above(queries, 0.0)


def sparse_vector(queries: list[float]) -> tuple[str, ...]:
    """Algorithm 1 of Lyu, Su, Li 2017, for one answer above the threshold and epsilon = 1."""
    told = words_above(queries, COINS.laplace(scale=2.0))
    return told[: told.index("T") + 1] if "T" in told else told


QUERIES = ([0.0] * 20, [1.0] * 20)


def test_a_broken_sparse_vector_that_returns_words_is_caught() -> None:
    """The texts hardly repeat; the number of "T" tells all."""
    found = judged(sparse_vector_without_noise_on_the_threshold, QUERIES, runs=12_000)
    assert found.violated, found.verdict
    assert not judged(sparse_vector, QUERIES, runs=1000).violated


@dataclass(frozen=True)
class Bill:
    """A record."""

    name: str
    amounts: tuple[float, ...]


class Colour(enum.Enum):
    """A word."""

    RED = 1
    BLUE = 2


class Stranger:
    """A type that nobody foresaw; its text has an address in it."""

    def __init__(self, told: str = "") -> None:
        self.told = told
        self.weight = bytearray(COINS.integers(1, 4000))

    def __repr__(self) -> str:
        return f"<Stranger{self.told} at 0x{id(self):x}>"


class Silent:
    """A type whose text is an error."""

    def __repr__(self) -> str:
        raise RuntimeError


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024  # as others write them


def shuffled(words: list[str]) -> list[str]:
    return [words[i] for i in COINS.permutation(len(words))]


def letters(bit: int) -> tuple[str, ...]:
    """As many of each letter in both worlds; only the pairs differ."""
    block = ["ab", "ab", "ab"] if bit else ["ab", "ba", "ab", "ba"][COINS.integers(0, 2) :][:3]
    return tuple("".join(shuffled(block)))


REVEALING: dict[str, Callable[[int], Any]] = {
    "counts of words": lambda bit: shuffled(["x"] * (8 + 6 * bit) + ["y"] * (12 - 6 * bit)),
    "order": lambda bit: [*sorted(COINS.random(4).tolist(), reverse=bool(bit)), "end"],
    "pairs": letters,
    "a place": lambda bit: [
        *shuffled(["p", "q", "r"]),
        "s" if bit else "t",
        *shuffled(["t", "s"]),
    ],
    "length": lambda bit: [COINS.random()] * (COINS.integers(1, 4) + 3 * bit),
    "a field": lambda bit: Bill(str(COINS.integers(1000)), (COINS.random() + bit, 1.0)),
    "a named tuple": lambda bit: Pair(None, str(bit)),
    "a nested record": lambda bit: {"a": [{"b": {"c": "yes" if bit else "no"}}], "z": "w"},
    "a tree": lambda bit: ["root", ["leaf"] * 2, [["leaf"]] if bit else ["leaf", "leaf"]],
    "a key": lambda bit: OrderedDict({"a": COINS.random(), **({"b": "w"} if bit else {})}),
    "a member of a set": lambda bit: {str(COINS.integers(50)), "yes" if bit else "no"},
    "bytes": lambda bit: COINS.bytes(3) + bytes([bit] * (1 + bit)),
    "none": lambda bit: None if bit else "word",
    "an enumeration": lambda bit: Colour.RED if bit else Colour.BLUE,
    "an array": lambda bit: (COINS.random((2, 2)) + bit, "word"),
    "arrays of many shapes": lambda bit: COINS.random((2 + bit, 3)),
    "words in an array": lambda bit: np.array(["a", "b", "b"] if bit else ["a", "a", "b"]),
    "numbers among words": lambda bit: ("total", COINS.laplace() + 20 * bit, "years"),
    "nan among words": lambda bit: ("total", float("nan") if bit else 1.0),
    "an unknown type": lambda bit: Stranger(str(bit)),
    "another type": lambda bit: Stranger() if bit else 5.0,
    "an error, sometimes": lambda bit: 1 // int(COINS.random() < (0.05 if bit else 0.95)),
}


@pytest.mark.parametrize("name", REVEALING)
def test_what_reveals_the_world_is_caught(name: str) -> None:
    report = judged(REVEALING[name], runs=700)
    assert report.violated, report.verdict


@pytest.mark.parametrize("name", REVEALING)
def test_the_same_in_both_worlds_is_not(name: str) -> None:
    report = judged(lambda _: REVEALING[name](int(COINS.integers(2))), runs=700)
    assert not report.violated, report.verdict


def test_strangers_are_compared_by_their_text_and_the_report_says_so() -> None:
    report = judged(lambda _: (Stranger(), "word"), runs=700)
    assert not report.violated  # addresses are no outputs
    assert report.notes == ("objects of type Stranger were compared by their text only",)
    assert report.to_dict()["notes"] == list(report.notes)
    assert judged(REVEALING["a tree"], runs=700).notes == ()


def test_what_cannot_be_printed_or_never_ends_is_an_output_all_the_same() -> None:
    endless: list[Any] = ["a"]
    endless += [endless, endless]
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for output in (
        Silent(),
        [10**6000, -(10**6000)],
        endless,
        deep,
        ["w"] * 100_000,
        {i: str(i) for i in range(5000)},
    ):
        found = facts_of(output)
        assert found.values
        assert found.values == facts_of(output).values
        assert np.isfinite(list(found.values.values())).all()


def test_equal_sets_and_mappings_have_equal_facts_in_whatever_order() -> None:
    assert facts_of({"a", "b", "c"}).values == facts_of({"c", "b", "a"}).values
    assert facts_of({"a": 1, "b": "x"}).values == facts_of({"b": "x", "a": 1}).values


def test_the_order_of_calls_is_not_mistaken_for_the_world() -> None:
    """A target that counts its calls tells nothing about the data."""
    calls = count()
    assert not judged(lambda _: next(calls), runs=4000).violated


def test_columns_are_settled_by_the_runs_that_teach() -> None:
    """Words, lengths and types that come later change nothing about which columns there are."""
    hidden = np.arange(60) % 2 == 0
    known = Transcripts(hidden, ([("a", "b")[: 1 + i % 2] for i in range(60)],))
    later = Transcripts(hidden[:3], ([("c",) * 9, None, 5],))
    sampled = learned_features(known)
    assert sampled(known).names == sampled(later).names
    assert sampled(later).columns.shape == (3, sampled(known).columns.shape[1])
    assert np.isfinite(sampled(later).columns).all()
