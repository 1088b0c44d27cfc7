"""Approximate intervals where noise is of few whole steps: they hold as often as they say."""

from __future__ import annotations

import math

import pytest

from quaestor.curator.aggregates.recipe import Scatter, approximate_reach
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.measures import RowCount
from quaestor.mechanisms import Geometric


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.4, 1.5, 2.0, 3.0, 3.6, 5.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_twice_a_count_is_missed_as_rarely_as_the_count(epsilon: float, confidence: float) -> None:
    """The chance that noise is beyond the interval, from its law."""
    noise = Geometric(scale=1 / epsilon)
    scatter = Scatter(NoisyMeasure(measure=RowCount(rows=1), mechanism=noise, spread=1))
    reach = approximate_reach([scatter], confidence=confidence) * scatter.standard_error
    first = math.floor(reach) + 1
    missed = 2 * math.exp(-epsilon * first) / (1 + math.exp(-epsilon))
    assert missed <= 1 - confidence + 1e-9
