"""Costs of promises about different neighbours say nothing together."""

from __future__ import annotations

import pytest

from quaestor import Gaussian, InvalidParameter, PoissonSampled, PoissonSampledReplaceOne, PureDP
from quaestor.accounting.filters import (
    Odometer,
    basic_filter,
    best_filter,
    default_filter,
    repetitions,
)

COMES_OR_GOES = PoissonSampled(release=PureDP(epsilon=0.5), rate=0.1)
REPLACED = PoissonSampledReplaceOne(release=PureDP(epsilon=0.5), rate=0.1)
MIXED = [COMES_OR_GOES * 3, PureDP(epsilon=0.1), REPLACED]


def test_no_meter_adds_them_up() -> None:
    for filter_ in (basic_filter(epsilon=1.0, delta=0.0), default_filter(epsilon=1.0, delta=1e-6)):
        for meter in filter_.meters:
            with pytest.raises(InvalidParameter, match="same neighbours"):
                meter.cost(MIXED)
            assert meter.cost(iter(MIXED[:2])) == meter.cost(MIXED[:2])
            assert meter.cost([PureDP(epsilon=0.1), REPLACED]) is not None


def test_no_odometer_reads_them_and_no_filter_expects_them() -> None:
    with pytest.raises(InvalidParameter, match="same neighbours"):
        Odometer(delta=1e-6).read(MIXED)
    with pytest.raises(InvalidParameter, match="same neighbours"):
        best_filter(epsilon=1.0, delta=1e-6, expected=MIXED)
    with pytest.raises(InvalidParameter, match="same neighbours"):
        repetitions(basic_filter(epsilon=1.0, delta=0.0), MIXED)
    assert Odometer(delta=1e-6).read([COMES_OR_GOES, Gaussian(sigma=9.0)]).epsilon < 10
