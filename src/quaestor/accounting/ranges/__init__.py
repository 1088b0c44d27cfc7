"""The adaptive composition of bounded-range releases: the exact optimum, as a certified bracket."""

from quaestor.accounting.ranges.adaptive_profile import AdaptiveRange

__all__ = ["AdaptiveRange"]
