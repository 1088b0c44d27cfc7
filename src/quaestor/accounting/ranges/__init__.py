"""The composition of bounded-range releases: what an analyst who adapts learns, and who does not.

Read in this order. :mod:`.non_adaptive`: all queries are fixed before the first answer, and the
optimum for equal ranges is the best of few tests, which :mod:`.best_tests` finds. For queries
chosen by the answers, each release is one move of a game: :mod:`.adaptive_step` is one move on a
curve, on the grid of :mod:`.cells`, and :mod:`.adaptive_curves` the game through all multisets of
releases, from above and from below. :mod:`.adaptive_profile` takes as many cells as an answer
needs: a certified bracket of the optimum. Ranges that are no whole number of cells are moves of
:mod:`.uneven_step`; :mod:`.attained_tests` is what an analyst attains in the same game, as a pair
of worlds that composes with other releases. For thousands of releases, :mod:`.steady_steps` bounds
all but the last by one law, and :mod:`.convex_curve` makes the curve of the last a pair of worlds.
"""

from quaestor.accounting.ranges.adaptive_profile import AdaptiveRange

__all__ = ["AdaptiveRange"]
