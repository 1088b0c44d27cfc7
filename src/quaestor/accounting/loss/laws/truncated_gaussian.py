r"""Gaussian noise on a random part of the people, without its rarest outcomes.

At a large order the moment of the loss :math:`L = \log(1-q+qe^{\mu x-\mu^2/2})` is made by outcomes
so rare that no delta of interest sees them: at order 17 and :math:`\mu = 1` by those near x = 18. A
line through such a moment says nothing about a delta of 1e-5. So x stays within ``low`` and
``high``, and what lies outside counts as ``lost``: with it delta is at least what is computed, and
at most that plus the probability that some loss was left out.

Removing a person takes :math:`J(p) = \int\varphi w^p\,dx` at p = s + 1, adding one at p = -s. The
moments are wanted at many evenly spaced s of one line, and x is treated in two parts:

*The bulk*, where the loss hardly depends on x: panels of x with a Gauss-Legendre rule each, and
:math:`e^{ikL\tau}` for k = aB + b as a product of two small matrices.

*The rest*, where the loss itself is the better variable. Its cells have one length h, and every
cell the same m places, so that the sum over the cells is one Fourier transform a place:

.. math:: J = \sum_g e^{it(l_0+u_gh)} \sum_j F(l_0 + jh + u_gh)\,e^{itjh}, \qquad
    F(l) = \varphi(x(l))\,x'(l)\,e^{pl}, \qquad x'(l) = \frac{1}{\mu(1-(1-q)e^{-l})}.

Nothing is rounded to the lattice. What each part leaves out [Trefethen 2013, Theorem 19.3]: a rule
of m places errs by at most :math:`\tfrac{64}{15}aB\rho^{2-2m}/(\rho^2-1)`, a being half the length
and B a bound of the integrand on the disc of radius :math:`R = a(\rho+1/\rho)/2` around its middle
c. There :math:`|\varphi(c+\xi)| \le \varphi(c)e^{|c||\xi|+|\xi|^2/2}`, and

* for panels :math:`1-q+qe^{l(c-R)}\cos\mu R \le |w| \le w(c+R)`, and the argument of w is at
  most :math:`\mu R` and at most :math:`\frac{q}{1-q}e^{l(c+R)}\mu R`;
* for cells :math:`|x'(l)|` is largest at the real end c - R of the disc, so that x moves by at most
  x(c) - x(c - R).
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.loss.laws.mixture import log_mixture, log_mixture_size
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["TruncatedSampledGaussian"]

_ROOT = math.sqrt(2 * math.pi)
_PANEL = 0.4  # the longest panel of x
_ANGLE = 10.0  # radians by which the phase turns within a panel, at most
_PLACES_OF_PANEL, _PLACES_OF_CELL = 20, 10
_RHOS_OF_PANEL, _RHOS_OF_CELL = (3.0, 5.0, 8.0, 12.0), (8.0, 11.0, 15.0)
_LONGEST_CELL = 0.1  # of x, in the part with cells
_CELLS_TO_THE_END = 10.0  # of the loss, between its least value and the first cell
_FEW = 8  # points for which no transform is worth while
_MOST_CELLS = 1 << 20
_BLOCK = 1 << 22  # elements of a matrix product at once, to bound memory


@lru_cache(maxsize=8)
def _rule(size: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


class _Sum(NamedTuple):
    """A part of J at some points, relative to e^top: its values, its size at t = 0, and its doubts.

    ``doubt`` holds at every point, ``turning`` times |t| besides.
    """

    values: Complexes
    size: float
    doubt: float
    turning: float


class TruncatedSampledGaussian(Law):
    """Gaussian noise of shift over sigma ``mu``, sampled at ``rate``, for x in [low, high]."""

    def __init__(self, *, mu: float, rate: float, removing: bool, lost: float) -> None:
        """Leave out at most about ``lost`` of the probability."""
        self.mu, self.rate, self.removing = mu, rate, removing
        self.low, self.high = _limits(mu, rate if removing else 0.0, lost)
        share = rate if removing else 0.0
        self.lost = (1 - share) * _outside(self.low, self.high)
        self.lost += share * _outside(self.low - mu, self.high - mu)
        self.lost *= 1 + 1e-9
        ends = self._losses(np.array([self.low, self.high]))
        self._end = float(ends[1])
        self.largest = max(float(ends[1] if removing else -ends[0]), 0.0) * (1 + 1e-9) + 1e-300

    def _losses(self, x: Floats) -> Floats:
        return log_mixture(self.mu * (x - self.mu / 2), self.rate)

    def _power(self, theta: float) -> float:
        return theta + 1 if self.removing else -theta

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        """None: nothing is known beyond the last point, where smoothing has to do."""
        return np.zeros(low.shape)

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return 300.0 * count

    @cached_property
    def _rough(self) -> tuple[Floats, Floats]:
        x, logs = _panel_places(np.linspace(self.low, self.high, 81), 4)
        losses = self._losses(x)
        return (losses, logs + losses) if self.removing else (-losses, logs)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """On 320 places."""
        losses, logs = self._rough
        exponents = logs + thetas[:, None] * losses
        top = np.max(exponents, axis=1)
        values: Floats = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        return values

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        power, t = self._power(float(s[0].real)), np.abs(s.imag)
        step = float(t[-1]) / max(s.size - 1, 1)
        even = s.size > _FEW and bool(np.all(np.abs(t - step * np.arange(s.size)) <= 8 * UNIT * t))
        cells = self._cells(s.size, step) if even else None
        top = self._top(power)
        bulk_end = self.high if cells is None else cells.start
        bulk = self._bulk(power, t, bulk_end, top, even=even)
        values: Complexes = bulk.values
        size = bulk.size
        doubt, turning = bulk.doubt, bulk.turning
        if cells is not None:
            rest = self._rest(power, s.size, cells, top)
            values, size = np.asarray(values + rest.values), size + rest.size
            doubt, turning = doubt + rest.doubt, turning + rest.turning
        if not self.removing:  # p = -s: the loss turns the other way
            values = np.conj(values)
        off = doubt + 4 * UNIT * size + turning * t * (1 + 1e-9) + 1e-300
        unseen = np.abs(values) < off  # then |J| < 2 off, and off itself is 3 off from it
        seen = np.where(unseen, np.asarray(off, np.complex128), values)
        logs = np.asarray(top + np.log(seen), np.complex128)
        doubts = as_nats(np.where(unseen, 3 * off, off), np.abs(seen))
        return logs, doubts + 8 * UNIT * (abs(top) + 1)

    def _top(self, power: float) -> float:
        """The largest exponent, roughly."""
        x = np.linspace(self.low, self.high, 257)
        return float(np.max(power * self._losses(x) - x * x / 2))

    # The bulk: panels of x.

    def _bulk(self, power: float, t: Floats, end: float, top: float, *, even: bool) -> _Sum:
        if not end > self.low:
            return _Sum(np.zeros(t.shape, np.complex128), 0.0, 0.0, 0.0)
        fastest = float(np.max(t))
        edges = self._panel_edges(power, fastest, end)
        x, logs = _panel_places(edges, _PLACES_OF_PANEL)
        losses = self._losses(x)
        weights = np.exp(logs + power * losses - top)
        noise = self.mu * (x - self.mu / 2)
        raw = self.mu * (np.abs(x) + self.mu)
        sizes = log_mixture_size(noise, np.float64(self.rate), losses, raw)
        left_out = self._panels_leave_out(power, fastest, edges, top)
        units = 64 + x.size + 8 * (x * x + np.abs(logs)) + 32 * abs(power) * sizes + 8 * abs(top)
        return _Sum(
            _evenly_turned_sums(weights, losses, t) if even else _turned_sums(weights, losses, t),
            float(np.sum(weights)),
            left_out + UNIT * float(np.sum(weights * units)),
            UNIT * float(np.sum(weights * (32 * sizes))),
        )

    def _panel_edges(self, power: float, fastest: float, end: float) -> Floats:
        """Short enough in x, and in the angle through which e^(itL) turns."""
        length = min(_PANEL, 1.0 / self.mu)
        count = math.ceil((end - self.low) / length) + 1
        if not count < _MOST_CELLS:
            raise BeyondFloats("the moment is too steep to integrate")
        edges = np.linspace(self.low, end, count + 1)
        angles = (fastest + abs(power)) * np.diff(self._losses(edges)) / _ANGLE
        pieces = np.ceil(np.maximum(angles, 1.0)).astype(np.int64)
        if not np.sum(pieces) < _MOST_CELLS / _PLACES_OF_PANEL:
            raise BeyondFloats("the loss turns too fast to integrate")
        starts = np.repeat(edges[:-1], pieces)
        lengths = np.repeat(np.diff(edges) / pieces, pieces)
        first = np.repeat(np.cumsum(pieces) - pieces, pieces)
        inner = starts + lengths * (np.arange(starts.size) - first)
        return np.append(inner, end)

    def _panels_leave_out(self, power: float, fastest: float, edges: Floats, top: float) -> float:
        middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        best = np.full(middles.shape, np.inf)
        for rho in _RHOS_OF_PANEL:
            radius = halves * (rho + 1 / rho) / 2
            fits = self.mu * radius < 1.5
            above = self._losses(middles + radius)
            tilted = np.log(np.cos(np.minimum(self.mu * radius, 1.5)))
            under = log_mixture(self.mu * (middles - radius - self.mu / 2) + tilted, self.rate)
            most = np.maximum(power * above, power * under)
            noise = self.mu * (middles + radius - self.mu / 2)
            odds = self.rate / (1 - self.rate) * np.exp(np.minimum(noise, 700.0))
            turn = fastest * self.mu * radius * np.minimum(odds, 1.0)
            nats = most + turn - middles**2 / 2 + np.abs(middles) * radius + radius**2 / 2 - top
            nats = nats + (2 - 2 * _PLACES_OF_PANEL) * math.log(rho) - math.log(rho * rho - 1)
            best = np.where(fits, np.minimum(best, nats), best)
        known = np.exp(np.minimum(best, 600.0)) * halves
        return float(np.sum(known)) * 64 / 15 / _ROOT * 1.001

    # The rest: cells of the loss.

    def _cells(self, count: int, step: float) -> _Cells | None:
        """Where the cells begin, and how long they are; None if all is bulk."""
        period = 2 * math.pi / step
        least = max(2 * count, period / (self.mu * _LONGEST_CELL))
        if not least < _MOST_CELLS:
            raise BeyondFloats("the losses are too far apart for a transform")
        size = _smooth_size(math.ceil(least))
        length = period / size
        slope = max(length / (_LONGEST_CELL * self.mu), -math.expm1(-_CELLS_TO_THE_END * length))
        if not slope < 1.0:
            return None
        # where q e^l/w is that slope
        noise = math.log1p(-self.rate) - math.log(self.rate) + math.log(slope) - math.log1p(-slope)
        x = max(noise / self.mu + self.mu / 2, self.low)
        if not x < self.high - _LONGEST_CELL:
            return None
        start = float(self._losses(np.array([x]))[0])
        number = math.floor((self._end - start) / length)
        if number < 1:
            return None
        if number > 4 * _MOST_CELLS // _PLACES_OF_CELL:
            raise BeyondFloats("the losses are too far apart for a transform")
        start = self._end - number * length  # so that the last one ends where x does
        return _Cells(self._place(start), start, length, size, number)

    def _place(self, loss: float) -> float:
        return math.log1p(math.expm1(loss) / self.rate) / self.mu + self.mu / 2

    def _away(self, loss: float) -> float:
        return -math.expm1(-loss) + self.rate * math.exp(-loss)

    def _rest(self, power: float, count: int, cells: _Cells, top: float) -> _Sum:
        """The sum over all cells."""
        nodes, weights = _rule(_PLACES_OF_CELL)
        shares = (1 + nodes) / 2
        starts = cells.loss + cells.length * np.arange(cells.number)
        logs = np.log(weights / 2 * cells.length / (_ROOT * self.mu))
        frequencies = 2 * math.pi / cells.size * np.arange(count) / cells.length
        values, size, flat, reach = np.zeros(count, np.complex128), 0.0, 0.0, 0.0
        rounds = math.log2(cells.size) + 4
        for share, log_weight in zip(shares, logs, strict=True):
            losses = starts + share * cells.length
            away = -np.expm1(-losses) + self.rate * np.exp(-losses)  # 1 - (1 - q)e^-l
            x = np.log1p(np.expm1(losses) / self.rate) / self.mu + self.mu / 2
            heights = np.exp(log_weight + power * losses - x * x / 2 - top) / away
            units = 96 + 8 * rounds + 8 * (x * x + abs(power) * np.abs(losses) + abs(top))
            # x is off by units of itself and mu, and by those of its logarithm's argument
            slant = 1 + (self.rate + np.abs(np.expm1(-losses)) + np.abs(losses)) / away
            units += 8 * (np.abs(x) * (np.abs(x) + self.mu + slant / self.mu) + slant)
            flat += float(np.sum(heights * units))
            size += float(np.sum(heights))
            reach += float(np.sum(heights * np.abs(losses)))
            folded = np.zeros(-(-cells.number // cells.size) * cells.size)
            folded[: cells.number] = heights
            sums = np.fft.rfft(folded.reshape(-1, cells.size).sum(axis=0))[:count]
            values += np.conj(sums) * np.exp(1j * frequencies * (cells.loss + share * cells.length))
        turning = 16 * UNIT * ((abs(cells.loss) + cells.length) * size + reach)
        left_out = self._cells_leave_out(power, float(frequencies[-1]), cells, top)
        # where the two parts meet, x and l are the same place but for rounding
        joint = math.exp(power * cells.loss - cells.start**2 / 2 - top) / _ROOT
        slant = (self.rate + abs(cells.loss)) / self._away(cells.loss)
        apart = 16 * (abs(cells.start) + self.mu + slant / self.mu)
        return _Sum(values, size, left_out + UNIT * (flat + joint * apart), turning)

    def _cells_leave_out(self, power: float, fastest: float, cells: _Cells, top: float) -> float:
        half = cells.length / 2
        middles = cells.loss + cells.length * (np.arange(cells.number) + 0.5)
        x = np.log1p(np.expm1(middles) / self.rate) / self.mu + self.mu / 2
        best = np.full(middles.shape, np.inf)
        for rho in _RHOS_OF_CELL:
            radius = half * (rho + 1 / rho) / 2
            ends = middles - radius
            away = -np.expm1(-ends) + self.rate * np.exp(-ends)
            fits = away > 0.0
            ends, away = np.where(fits, ends, middles), np.where(fits, away, 1.0)
            moved = x - np.log1p(np.expm1(ends) / self.rate) / self.mu - self.mu / 2
            nats = power * middles - x * x / 2 + np.abs(x) * moved + moved**2 / 2 - top
            nats = nats - np.log(away) + (abs(power) + fastest) * radius
            nats = nats + (2 - 2 * _PLACES_OF_CELL) * math.log(rho) - math.log(rho * rho - 1)
            best = np.where(fits, np.minimum(best, nats), best)
        known = np.exp(np.minimum(best, 600.0))
        return float(np.sum(known)) * half * 64 / 15 / (_ROOT * self.mu) * 1.001


class _Cells(NamedTuple):
    """Cells of the loss from a place x on: their length, the transform's size, their number."""

    start: float
    loss: float
    length: float
    size: int
    number: int


def _panel_places(edges: Floats, size: int) -> tuple[Floats, Floats]:
    """The places of all panels, and the logarithms of the normal density times their weights."""
    nodes, weights = _rule(size)
    halves = np.diff(edges)[:, None] / 2
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * nodes).ravel()
    logs = np.log(halves * weights / _ROOT).ravel() - x * x / 2
    return x, logs


def _turned_sums(weights: Floats, losses: Floats, t: Floats) -> Complexes:
    """The sums of w e^(itL) at any t."""
    values = np.empty(t.shape, np.complex128)
    rows = max(_BLOCK // losses.size, 1)
    for start in range(0, t.size, rows):
        part = slice(start, start + rows)
        values[part] = np.exp(1j * np.outer(t[part], losses)) @ weights
    return values


def _evenly_turned_sums(weights: Floats, losses: Floats, t: Floats) -> Complexes:
    """The same at evenly spaced t from 0 on, as a product of two matrices."""
    step = t[-1] / (t.size - 1)
    small = math.ceil(math.sqrt(t.size))
    large = -(-t.size // small)
    angles = np.outer(losses, np.arange(small) * step)
    inner = np.exp(1j * angles)
    values: Complexes = np.zeros((large, small), np.complex128)
    rows = max(_BLOCK // losses.size, 1)
    for start in range(0, large, rows):
        k = np.arange(start, min(start + rows, large)) * small * step
        values[start : start + k.size] = (np.exp(1j * np.outer(k, losses)) * weights) @ inner
    return values.ravel()[: t.size]


def _smooth_size(least: int) -> int:
    """The next size whose transform is quick: 2^a, 3 * 2^a or 5 * 2^a."""
    return min(factor << max(math.ceil(math.log2(least / factor)), 0) for factor in (1, 3, 5))


def _outside(low: float, high: float) -> float:
    return (math.erfc(-low / math.sqrt(2)) + math.erfc(high / math.sqrt(2))) / 2


def _limits(mu: float, rate: float, lost: float) -> tuple[float, float]:
    """Where half of ``lost`` is left out on either side, roughly."""
    half = max(lost, 1e-280) / 2

    def above(x: float) -> float:
        rare = rate * math.erfc((x - mu) / math.sqrt(2)) if rate else 0.0
        return ((1 - rate) * math.erfc(x / math.sqrt(2)) + rare) / 2

    low, high = 0.0, 40.0 + mu
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > half else (low, middle)
    top = high
    low, high = 0.0, 40.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > half else (low, middle)
    return -high, top
