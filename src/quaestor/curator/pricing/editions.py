"""Editions of pricing: which measures a question takes, and how its budget is divided over them.

A better way to measure is a new edition. What a question is known by holds everything that is drawn
for it, so that an answer, a dashboard or an approval of an earlier edition is found by pricing the
question as that edition did: an account that knows a question so is asked so.

1. Until version 0.1: quantiles without intervals, means and variances of centred totals.
2. Quantiles buy an interval in values; sums are of steps that round nothing away; rows and units
   that are the same number are measured once.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EARLIER", "FIRST", "LATEST"]

FIRST: Final = 1
LATEST: Final = 2
EARLIER: Final = (1,)
"""The last one first."""
