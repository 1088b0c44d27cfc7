"""Where the bits come from, and that nobody can make them weaker by a parameter."""

from __future__ import annotations

import ast
import inspect
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quaestor import mechanisms
from quaestor.mechanisms.samplers import randomness
from tests.mechanisms.laws import p_value
from tests.mechanisms.sources import Scripted, as_words, install, seed

SOURCE = Path(mechanisms.__file__).parent


def test_the_source_is_the_operating_systems() -> None:
    assert randomness._from_system is os.urandom


def test_no_mechanism_takes_a_seed_or_a_generator() -> None:
    weakening = {"seed", "rng", "random_state", "generator", "source", "randomness", "entropy"}
    for name in mechanisms.__all__:
        value: Any = getattr(mechanisms, name)
        functions = [value]
        if inspect.isclass(value):
            functions += [member for _, member in inspect.getmembers(value, inspect.isfunction)]
        for function in functions:
            assert not weakening & set(inspect.signature(function).parameters), name


@pytest.mark.parametrize("file", sorted(SOURCE.glob("*.py")), ids=lambda file: file.name)
def test_no_other_module_knows_a_source_of_randomness(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"random", "secrets", "numpy.random"}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not attributes & {"random", "default_rng", "getrandom"}
    if file.name != "randomness.py":
        assert "os" not in imported
        assert "_from_system" not in attributes
        assert "urandom" not in attributes


def test_a_word_is_never_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(range(10**6))

    def source(size: int) -> bytes:
        return as_words(next(given) for _ in range(size // 8))

    install(monkeypatch, source)
    taken: list[int] = []
    workers = [
        threading.Thread(target=lambda: taken.extend(randomness.word() for _ in range(5000)))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(taken)) == len(taken) == 20000


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_repeat_its_parents_words() -> None:
    randomness.word()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str([randomness.word() for _ in range(3)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    ours = [randomness.word() for _ in range(600)]
    theirs = ast.literal_eval(os.read(reader, 1000).decode())
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 3
    assert not set(theirs) & set(ours)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 13])
def test_a_uniform_number_is_uniform_over_all_bits(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = (limit - 1).bit_length()
    outcomes: Counter[int] = Counter()
    refused = 0
    for top in range(2**bits):
        words = np.full(randomness._BLOCK, (top << (64 - bits)) % 2**64, np.uint64)
        words[:-1] = 0  # what is asked for next, after a refusal
        install(monkeypatch, Scripted(words.tobytes()))
        number = randomness.uniform_below(limit)
        if top >= limit:
            refused += 1
            assert number == 0
        else:
            outcomes[number] += 1
    assert outcomes == dict.fromkeys(range(limit), 1)
    assert refused == 2**bits - limit


def test_large_uniform_numbers_use_as_many_words_as_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [0] * (randomness._BLOCK - 2) + [5, 2**63]
    install(monkeypatch, Scripted(as_words(words)))
    assert randomness.uniform_below(2**128) == 2**127 + 5


def test_uniform_arrays_are_uniform_below_each_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)
    limits = np.tile(np.array([1, 3, 7, 100], np.int64), 20000)
    drawn = randomness.uniforms_below(limits)
    for limit in (1, 3, 7, 100):
        counts = np.bincount(drawn[limits == limit], minlength=limit)
        assert counts.size == limit
        expected = 20000 / limit
        if limit > 1:
            statistic = float(np.sum((counts - expected) ** 2 / expected))
            assert p_value(statistic, limit - 1) > 1e-4


def test_uniform_arrays_go_through_every_small_word(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Scripted(as_words(range(8)), as_words([1, 15]), as_words([12])))
    drawn = randomness.uniforms_below(np.full(8, 6, np.int64))
    assert drawn.tolist() == [0, 1, 2, 3, 4, 5, 1, 4]
