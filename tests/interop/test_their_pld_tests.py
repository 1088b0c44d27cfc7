"""dp-accounting's own tests of its PLD accountant, with ours in its place."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant, pld_privacy_accountant_test

import quaestor as q
from quaestor.interop.dp_accounting import QuaestorAccountant

REPLACE = pld_privacy_accountant.NeighborRel.REPLACE_ONE


class Ours(QuaestorAccountant):
    """Ours, where their tests make theirs."""

    narrow: ClassVar[float | None] = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, width=self.narrow)


class TestTheirs(pld_privacy_accountant_test.PldPrivacyAccountantTest):  # type: ignore[misc]
    """All 68 of them; three demand what ours does not do, and say here what it does instead."""

    @pytest.fixture(autouse=True)
    def _with_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pld_privacy_accountant, "PLDAccountant", Ours)
        if "mixture" in self._testMethodName:  # which demands eight digits
            monkeypatch.setattr(Ours, "narrow", 1e-7)

    def test_composition_errors_for_neighboring_relation1(self) -> None:
        """Laplace noise under replacement is not refused: it has twice the sensitivity."""
        spent = Ours(REPLACE).compose(dp_event.LaplaceDpEvent(1.0))
        assert spent.composition.releases == (q.Laplace(scale=1.0, sensitivity=2.0),)

    def test_composition_errors_for_neighboring_relation3(self) -> None:
        """Nor is discrete Laplace noise."""
        spent = Ours(REPLACE).compose(dp_event.DiscreteLaplaceDpEvent(0.1, 1))
        (release,) = spent.composition.releases
        assert isinstance(release, q.Geometric)
        assert release.sensitivity == 2

    def test_truncated_subsampled_gaussian_basic(self) -> None:
        """Their number counts a person who takes another's place as a replacement; ours is less.

        ``tests/laws/test_sampling_schemes.py`` holds ours against every dataset of a small world.
        """
        events = [dp_event.TruncatedSubsampledGaussianDpEvent(size, 0.5, 2, 1.0) for size in (4, 3)]
        spent = Ours().compose(events[0], 3).compose(events[1], 2)
        assert 1e-7 < spent.get_delta(17.904330) < 3e-7  # theirs: 1e-6


def test_all_of_their_tests_are_run() -> None:
    names = [name for name in dir(TestTheirs) if name.startswith("test_")]
    assert len(names) == 68
