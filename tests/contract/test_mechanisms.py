"""What ``quaestor.mechanisms`` promises: its names, their words, and what every one can do."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import quaestor
from quaestor import mechanisms
from quaestor.mechanisms.base import Mechanism

ROOT = Path(__file__).parents[2]
PAGES = [
    (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8"),
    (ROOT / "docs" / "guide" / "releasing.md").read_text(encoding="utf-8"),
]
KINDS = [
    value
    for name in mechanisms.__all__
    if inspect.isclass(value := getattr(mechanisms, name))
    and issubclass(value, Mechanism)
    and value is not Mechanism
]


@pytest.mark.parametrize("name", sorted(set(mechanisms.__all__) - {"Mechanism"}))
def test_every_name_is_documented(name: str) -> None:
    value = getattr(mechanisms, name)
    assert len(inspect.cleandoc(value.__doc__ or "").split("\n")[0]) > 15
    assert any(f"`{name}" in page for page in PAGES)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_mechanism_releases_describes_and_says_how_accurate_it_is(
    kind: type[Mechanism],
) -> None:
    assert isinstance(inspect.getattr_static(kind, "loss"), property)
    assert inspect.isfunction(inspect.getattr_static(kind, "release"))
    assert inspect.isfunction(inspect.getattr_static(kind, "interval"))
    for parameter in list(inspect.signature(kind).parameters.values()):
        assert parameter.kind is parameter.KEYWORD_ONLY


def test_the_accountant_does_without_mechanisms() -> None:
    code = (
        "import sys, quaestor.cli.app\n"
        "print([name for name in sys.modules if name.startswith('quaestor.mechanisms')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
    assert not hasattr(quaestor, "Mechanism")
