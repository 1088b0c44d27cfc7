"""Sizes whose Fourier transform is quick."""

from __future__ import annotations

import math

__all__ = ["smooth_size"]


def smooth_size(least: int) -> int:
    """The next size that is 2^a, 3 * 2^a or 5 * 2^a."""
    return min(factor << max(math.ceil(math.log2(least / factor)), 0) for factor in (1, 3, 5))
