"""Editions of pricing: which measures a question takes, and how its budget is divided over them.

A better way to measure is a new edition. What a question is known by holds everything that is drawn
for it, so that an answer, a dashboard or an approval of an earlier edition is found by pricing the
question as that edition did: an account that knows a question so is asked so.

1. Until version 0.1: quantiles without intervals, means and variances of centred totals.
2. Quantiles buy an interval in values; sums are of steps that round nothing away; rows and units
   that are the same number are measured once.
3. Quantiles tell the values about a tie apart by how far inside it they are; reals whose step
   nobody declared are read in finer steps where they are added up, and added up in such; means,
   and sums and counts of one operand, are made of its complementary totals. Several questions
   may be asked together.
4. Complementary totals are charged as one total of their joint bound, and not as pure DP. Variances
   are made of such totals of the second degree, and share them with means, sums and counts of their
   operand; complementary totals are in finer steps.
   Noise is Gaussian where the account's filters count it and it is better for the question. Private
   groups whose numbers of units nobody wants are shown with the largest probabilities there are.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["EARLIER", "FIRST", "LATEST", "SECOND", "THIRD", "is_alone"]

FIRST: Final = 1
SECOND: Final = 2
THIRD: Final = 3
LATEST: Final = 4
EARLIER: Final[tuple[int, ...]] = (3, 2, 1)
"""The last one first."""
_ALONE_SINCE: Final = {4: 3}
"""By edition, the version of the ledger's prices from which on there was no earlier edition.

A new edition is a key of its own, with the version to which it raises
:data:`quaestor.ledger.theory.PRICING`.
"""


def is_alone(opened_under: int) -> bool:
    """Whether an account that was opened under a version of prices knows the latest edition alone.

    A version of this package that prices by an earlier edition refuses to charge such an account.
    """
    return opened_under >= _ALONE_SINCE.get(LATEST, math.inf)
