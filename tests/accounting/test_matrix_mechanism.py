"""Matrix mechanisms against every pattern of participation, and totals against least squares."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import quaestor as q

STRATEGIES = ("identity", "prefix_sums", "binary_tree", "honaker_tree", "square_root")


def patterns(steps: int, times: int, apart: int, *, periodic: bool) -> list[tuple[int, ...]]:
    """Every allowed pattern, by asking each subset."""
    found = []
    for size in range(1, times + 1):
        for chosen in itertools.combinations(range(steps), size):
            gaps = [b - a for a, b in itertools.pairwise(chosen)]
            if all(gap == apart if periodic else gap >= apart for gap in gaps):
                found.append(chosen)
    return found


def largest_change(matrix: np.ndarray, chosen: list[tuple[int, ...]]) -> float:
    """The longest change over patterns and signs: what numbers, at least, can do."""
    return max(
        float(np.linalg.norm(matrix[:, each] @ np.array(signs)))
        for each in chosen
        for signs in itertools.product((-1.0, 1.0), repeat=len(each))
    )


def strategy_matrix(name: str, steps: int, bands: int | None = None) -> np.ndarray:
    """The matrix of a strategy from its definition."""
    totals = np.tril(np.ones((steps, steps)))
    if name == "identity":
        return np.eye(steps)
    if name == "prefix_sums":
        return totals
    if name == "square_root":  # by solving for it, column by column
        root = np.eye(steps)
        for gap in range(1, steps):
            inner = sum(root[gap - m, 0] * root[m, 0] for m in range(1, gap))
            for row in range(gap, steps):
                root[row, row - gap] = (1.0 - inner) / 2
        assert np.allclose(root @ root, totals)
        return root if bands is None else np.triu(root, k=1 - bands)
    rows, size = [], 1
    while size <= steps:
        rows += [
            [1.0 if first <= step < first + size else 0.0 for step in range(steps)]
            for first in range(0, steps - size + 1, size)
        ]
        size *= 2
    return np.array(rows)


@pytest.mark.parametrize("seed", range(60))
def test_no_pattern_moves_the_answers_further_than_is_counted(seed: int) -> None:
    rng = random.Random(seed)
    rows, steps = rng.randint(1, 9), rng.randint(1, 9)
    low = rng.choice((-1.0, 0.0))
    given = np.array([[rng.uniform(low, 1.0) for _ in range(steps)] for _ in range(rows)])
    times, apart, periodic = rng.randint(1, 4), rng.randint(1, 4), rng.random() < 0.4
    release = q.MatrixMechanism(
        sigma=2.0,
        matrix=given,
        participations=times,
        separation=apart,
        periodic=periodic,
        sensitivity=3.0,
    )
    worst = largest_change(given, patterns(steps, times, apart, periodic=periodic))
    bounds = release.sensitivity_bounds()
    assert bounds.lower <= 3.0 * worst * (1 + 1e-12)
    assert 3.0 * worst <= bounds.upper * (1 + 1e-12)
    assert 1.5 * worst <= float(release.known_mu())
    if low == 0.0:  # nothing is negative: exact
        assert bounds.relative_width < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_the_programme_for_many_patterns_is_above_all_of_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quaestor.accounting.releases.derived import participation

    monkeypatch.setattr(participation, "_LISTED", 0)
    rng = np.random.default_rng(seed)
    steps, times, apart = 10, int(rng.integers(2, 5)), int(rng.integers(1, 4))
    given = np.tril(rng.uniform(0.0, 1.0, (steps, steps)))
    worst = largest_change(given, patterns(steps, times, apart, periodic=False))
    schema = participation.Participation(times, apart)
    bounds = participation.pattern_sensitivity(given, schema)
    assert bounds.lower <= worst * (1 + 1e-12) <= bounds.upper * (1 + 2e-12)
    assert bounds.upper <= 1.5 * worst
    banded = np.triu(given, k=1 - apart)  # columns that do not meet: the programme is exact
    worst = largest_change(banded, patterns(steps, times, apart, periodic=False))
    assert participation.pattern_sensitivity(banded, schema).upper <= worst * (1 + 1e-12)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("steps", [1, 2, 7, 12])
def test_a_named_strategy_is_its_matrix(name: str, steps: int) -> None:
    for bands in (None, 2) if name == "square_root" else (None,):
        given = strategy_matrix(name, steps, bands)
        for times, apart, periodic in [(1, 1, False), (3, 2, False), (2, 4, True), (99, 1, False)]:
            release = q.ContinualCounting(
                sigma=1.0,
                steps=steps,
                strategy=name,
                bands=bands,
                participations=times,
                separation=apart,
                periodic=periodic,
            )
            allowed = patterns(steps, min(times, steps), apart, periodic=periodic)
            worst = max(float(np.linalg.norm(given[:, each].sum(axis=1))) for each in allowed)
            bounds = release.sensitivity_bounds()
            assert bounds.lower <= worst * (1 + 1e-12)
            assert worst <= bounds.upper * (1 + 1e-12)
            assert bounds.upper <= worst * (1 + 1e-11)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("steps", [13, 16])
def test_a_large_tree_is_bounded_by_its_levels(
    times: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quaestor.accounting.releases.derived import strategies
    from quaestor.accounting.releases.derived.participation import Participation

    monkeypatch.setattr(strategies, "_LISTED", 0)
    given = strategy_matrix("binary_tree", steps)
    for apart in (1, 3, 5):
        tree = strategies.Strategy("binary_tree", steps)
        bounds = tree.sensitivity(Participation(times, apart))
        allowed = patterns(steps, times, apart, periodic=False)
        worst = max(float(np.linalg.norm(given[:, each].sum(axis=1))) for each in allowed)
        assert bounds.lower <= worst * (1 + 1e-12)
        assert worst <= bounds.upper * (1 + 1e-12)
        assert bounds.upper <= 1.25 * worst


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("steps", [1, 5, 16, 23])
def test_the_error_of_totals_is_that_of_the_best_online_estimate(name: str, steps: int) -> None:
    for bands in (None, 3) if name == "square_root" else (None,):
        given = strategy_matrix(name, steps, bands)
        variances = []
        for step in range(1, steps + 1):
            wanted = np.array([1.0] * step + [0.0] * (steps - step))
            # rows that are known by then: those that ask for nothing later
            known = given[~np.any(given[:, step:] != 0.0, axis=1)]
            if name == "binary_tree":
                sizes = [1 << bit for bit in range(step.bit_length()) if step >> bit & 1]
                variances.append(float(len(sizes)))
                continue
            answer, *_ = np.linalg.lstsq(known.T, wanted, rcond=None)
            assert np.allclose(known.T @ answer, wanted)
            variances.append(float(answer @ answer))
        release = q.ContinualCounting(sigma=2.0, steps=steps, strategy=name, bands=bands)
        found = release.counting_error()
        assert math.isclose(found.largest, 2 * math.sqrt(max(variances)), rel_tol=1e-9)
        mean = 2 * math.sqrt(sum(variances) / steps)
        assert math.isclose(found.root_mean_square, mean, rel_tol=1e-9)
        if name in ("identity", "prefix_sums", "square_root"):
            whole = q.MatrixMechanism(sigma=2.0, matrix=given).counting_error()
            assert math.isclose(whole.root_mean_square, mean, rel_tol=1e-9)


def test_a_banded_matrix_with_a_cyclic_sample_is_so_many_sampled_gaussians() -> None:
    """Against the ratio of densities itself, for noise and samples that are drawn."""
    rng = np.random.default_rng(5)
    given = np.array([[1.0, 0, 0, 0], [0.5, 1.0, 0, 0], [0, 0.5, 1.0, 0], [0, 0, 0.5, 1.0]])
    rate, sigma = 0.3, 0.8
    release = q.MatrixMechanism(sigma=sigma, matrix=given, separation=2)
    priced = release.cyclic_poisson(rate=rate)
    assert priced.counted()[1] == 2
    draws = 200_000
    noise = rng.normal(0.0, sigma, (draws, 4))
    taken = rng.random((draws, 2)) < rate
    seen = noise + taken @ given[:, [0, 2]].T  # the first group: steps 0 and 2

    def ratio(outputs: np.ndarray) -> np.ndarray:
        total = np.zeros(len(outputs))
        for chosen in itertools.product((0, 1), repeat=2):
            shift = given[:, [0, 2]] @ np.array(chosen)
            chance = math.prod(rate if each else 1 - rate for each in chosen)
            total += chance * np.exp((outputs @ shift - shift @ shift / 2) / sigma**2)
        return total

    for epsilon in (0.0, 0.5, 1.0):
        gains = np.maximum(1 - math.exp(epsilon) / ratio(seen), 0.0)
        doubt = 5 * gains.std() / math.sqrt(draws)
        bounds = q.compose(priced).delta_bounds(epsilon=epsilon)
        assert gains.mean() - doubt <= bounds.upper
        assert bounds.lower <= gains.mean() + doubt  # this group has the longest columns


def test_a_cyclic_sample_needs_columns_that_do_not_meet() -> None:
    full = [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.25, 0.5, 1.0]]
    with pytest.raises(q.InvalidParameter, match="without a row in common"):
        q.MatrixMechanism(sigma=1.0, matrix=full, separation=2).cyclic_poisson(rate=0.1)
    with pytest.raises(q.InvalidParameter, match="lower triangular"):
        q.MatrixMechanism(sigma=1.0, matrix=[[1.0, 1.0], [0, 1.0]], separation=2).cyclic_poisson(
            rate=0.1
        )
    with pytest.raises(q.InvalidParameter, match="set bands"):
        q.ContinualCounting(sigma=1.0, steps=9, separation=2).cyclic_poisson(rate=0.1)
    tree = q.ContinualCounting(sigma=1.0, steps=9, strategy="binary_tree", separation=9)
    with pytest.raises(q.InvalidParameter, match="set bands"):
        tree.cyclic_poisson(rate=0.1)


def test_one_band_with_a_cyclic_sample_is_dp_sgd() -> None:
    alone = q.ContinualCounting(sigma=4.0, steps=50, strategy="identity").cyclic_poisson(rate=0.1)
    plain = q.PoissonSampled(release=q.Gaussian(sigma=4.0), rate=0.1) * 50
    found = q.compose(alone).epsilon_bounds(delta=1e-6)
    assert found.overlaps(q.compose(plain).epsilon_bounds(delta=1e-6))


@pytest.mark.parametrize(
    "release",
    [
        q.MatrixMechanism(sigma=1.0, matrix=((1.0, 0.0), (-0.5, 2.0)), periodic=True),
        q.ContinualCounting(sigma=1.0, steps=8, strategy="square_root", bands=3),
        q.ContinualCounting(sigma=1.0, steps=8, strategy="honaker_tree", participations=2),
    ],
)
def test_they_go_through_json_and_expressions(release: q.Release) -> None:
    assert q.release_from_json(release.to_json()) == release
    assert q.parse_release(str(release)) == release
    assert hash(q.release_from_json(release.to_json())) == hash(release)


@pytest.mark.parametrize(
    "wrong",
    [
        {"matrix": []},
        {"matrix": [[]]},
        {"matrix": [[1.0], [1.0, 2.0]]},
        {"matrix": [[0.0]]},
        {"matrix": [[math.nan]]},
        {"matrix": 5},
        {"matrix": [1.0, 2.0]},
        {"matrix": [[1.0] * 3000]},
        {"participations": 0},
        {"separation": 0},
        {"periodic": 1},
        {"sigma": 0.0},
        {"sigma": 1e-100},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"sigma": 1.0, "matrix": [[1.0]], **wrong}
    with pytest.raises(q.InvalidParameter):
        q.MatrixMechanism(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "magic"},
        {"strategy": 3},
        {"strategy": "binary_tree", "bands": 2},
        {"bands": 0},
        {"steps": 0},
        {"steps": 10**7},
    ],
)
def test_strategies_that_there_are_not_are_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"sigma": 1.0, "steps": 4, **wrong}
    with pytest.raises(q.InvalidParameter):
        q.ContinualCounting(**given)  # type: ignore[arg-type]


def test_long_strategies_are_priced() -> None:
    long = q.ContinualCounting(sigma=20.0, steps=10**6, participations=10, separation=10**5)
    assert 0.0 < q.compose(long).epsilon(delta=1e-6) < 20.0
    assert long.counting_error().largest > 20.0


@pytest.mark.parametrize("exponent", [-850, -540, -200, 200])
@pytest.mark.parametrize("participations", [1, 2])
def test_tiny_entries_are_not_counted_as_nothing(exponent: int, participations: int) -> None:
    """Their squares are below the least float; the sensitivity scales with the matrix."""
    plain = np.array([[3.0, 0.0], [4.0, 1.0]])
    ones, tiny = (
        q.MatrixMechanism(sigma=1.0, matrix=each, participations=participations)
        for each in (plain, np.ldexp(plain, exponent))
    )
    whole, found = ones.sensitivity_bounds(), tiny.sensitivity_bounds()
    assert found.lower <= math.ldexp(whole.upper, exponent)
    assert found.upper >= math.ldexp(whole.lower, exponent)
    least = math.ldexp(whole.lower, exponent)
    if least < 0.1:  # a shift of mu is seen with a delta of about mu by the root of 2 pi
        delta = q.compose(tiny).delta(epsilon=0.0)
        assert least * 0.398 < delta < least * 0.4


def test_shifts_below_the_least_float_are_rounded_up() -> None:
    """Sensitivity by sigma, 1e-420, is below them all."""
    tiny = q.MatrixMechanism(sigma=1e150, matrix=[[1e-270]])
    assert 0.0 < q.compose(tiny).delta(epsilon=0.0) < 1e-250


def gaussian_curve(mu: Fraction, epsilon: float) -> Any:
    """The Gaussian's delta, with many digits."""
    with mp.workdps(40):
        shift = mp.mpf(mu.numerator) / mu.denominator
        at = mp.mpf(epsilon)
        tail = mp.ncdf(-shift / 2 - at / shift)
        return mp.ncdf(shift / 2 - at / shift) - mp.exp(at) * tail


def attained_square(matrix: np.ndarray, chosen: list[tuple[int, ...]]) -> Fraction:
    """The square of the longest change over patterns and signs, exactly."""
    columns = [[Fraction(float(entry)) for entry in column] for column in matrix.T]
    signed = (zip(each, signs, strict=True) for each in chosen for signs in _signs(len(each)))
    best = Fraction(0)
    for pattern in signed:
        moved = [Fraction(0)] * len(matrix)
        for step, sign in pattern:
            moved = [a + sign * b for a, b in zip(moved, columns[step], strict=True)]
        best = max(best, sum((each * each for each in moved), Fraction(0)))
    return best


def _signs(size: int) -> itertools.product[tuple[int, ...]]:
    return itertools.product((-1, 1), repeat=size)


def root(square: Fraction, *, up: bool) -> Fraction:
    whole = math.isqrt((square.numerator << 400) // square.denominator)
    return Fraction(whole + up, 1 << 200)


@pytest.mark.parametrize("listed", [5000, 3])
@pytest.mark.parametrize("seed", range(12))
def test_lower_ends_are_attained_and_upper_ends_are_not_passed(
    seed: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against every pattern and sign, in fractions; with negative entries, and few patterns."""
    from quaestor.accounting.releases.derived import matrix_mechanism, participation

    monkeypatch.setattr(participation, "_LISTED", listed)
    matrix_mechanism._sensitivity.cache_clear()
    rng = random.Random(1000 + seed)
    steps = rng.randint(2, 6)
    low = rng.choice((-1.0, -0.3, 0.0))
    given = np.array([[rng.uniform(low, 1.0) for _ in range(steps)] for _ in range(steps)])
    times, apart, periodic = rng.randint(1, 4), rng.randint(1, 3), rng.random() < 0.3
    release = q.MatrixMechanism(
        sigma=1.7,
        matrix=given,
        participations=times,
        separation=apart,
        periodic=periodic,
        sensitivity=rng.choice((1.0, 0.9)),
    )
    allowed = patterns(steps, times, apart, periodic=periodic)
    scale = (Fraction(release.sensitivity) / Fraction(1.7)) ** 2
    square = attained_square(given, allowed) * scale
    least, most = root(square, up=False), root(square, up=True)
    assert release.least_mu() <= most
    assert least <= release.known_mu()
    for count, companion, lap in ((1, (), 0), (3, (), 0), (2, (q.Gaussian(sigma=2.0),), 1)):
        together = q.compose(release * count, *companion)
        whole = count * square + Fraction(lap, 4)
        for epsilon in (0.0, 0.3, 2.0):
            found = together.delta_bounds(epsilon=epsilon)
            assert found.lower <= gaussian_curve(root(whole, up=True), epsilon)
            assert found.upper >= gaussian_curve(root(whole, up=False), epsilon)
        bounds = together.epsilon_bounds(delta=1e-4)
        assert gaussian_curve(root(whole, up=True), math.nextafter(bounds.lower, 0.0)) >= 1e-4
        assert gaussian_curve(root(whole, up=False), bounds.upper) <= 1e-4
        mu = together.mu()
        assert mu.lower <= root(whole, up=True)
        assert together.rho().lower <= whole / 2
        assert together.rdp(order=3.0).lower <= Fraction(3, 2) * whole
    matrix_mechanism._sensitivity.cache_clear()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_made_of_them_has_true_lower_ends(seed: int) -> None:
    """Samples, groups, replaced records, mixtures with other noise: never above the attained."""
    rng = random.Random(2000 + seed)
    given = np.array([[rng.uniform(-1.0, 1.0) for _ in range(4)] for _ in range(3)])
    matrix = q.MatrixMechanism(sigma=1.3, matrix=given, participations=3)
    mu = root(
        attained_square(given, patterns(4, 3, 1, periodic=False)) / Fraction(1.3) ** 2, up=True
    )
    attained = q.GaussianDP(mu=math.nextafter(float(mu), math.inf))
    for wrapped in (
        lambda release: q.PoissonSampled(release=release, rate=0.2),
        lambda release: q.PoissonSampled(release=release * 2, rate=0.2),
        lambda release: q.SampledWithoutReplacement(release=release, sample=2, population=9),
        lambda release: q.SampledWithoutReplacement(release=release, sample=9, population=9),
        lambda release: q.PoissonSampledReplaceOne(release=release, rate=0.2),
        lambda release: q.PoissonSampled(release=release, rate=0.2).with_record_replaced(),
        lambda release: q.GroupPrivacy(release=release, size=3),
        lambda release: release.with_record_replaced(),
        lambda release: q.compose(release, q.Laplace(scale=2.0)),
    ):
        bounds, truth = (
            (made if isinstance(made, q.Composition) else q.compose(made)).delta_bounds(epsilon=0.5)
            for made in (wrapped(matrix), wrapped(attained))
        )
        assert bounds.lower <= truth.upper
        assert bounds.lower > 0.0


@pytest.mark.parametrize("coefficients", [(1.0, -0.7, 0.4), (0.3, 0.2, 1.0), (1.0, 0.5, -0.25)])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_bands_of_either_sign_lie_between_what_is_attained_and_counted(
    coefficients: tuple[float, ...], times: int
) -> None:
    release = q.ToeplitzMechanism(
        sigma=1.0, coefficients=coefficients, participations=times, separation=1
    )
    steps = 8
    given = np.zeros((steps + 3, steps))
    for step in range(steps):
        given[step : step + 3, step] = coefficients
    square = attained_square(given, patterns(steps, times, 1, periodic=False))
    assert release.least_mu() <= root(square, up=True)
    assert root(square, up=False) <= release.known_mu()
    bounds = q.compose(release).delta_bounds(epsilon=0.5)
    assert bounds.lower <= gaussian_curve(root(square, up=True), 0.5)
    assert bounds.upper >= gaussian_curve(root(square, up=False), 0.5)


@pytest.mark.parametrize("hidden", [math.nan, 1e9, 0.0])
def test_a_matrix_with_masked_entries_is_refused(hidden: float) -> None:
    """What a mask hides is in no answer for certain: neither its value nor 0 is a price."""
    matrix = np.ma.masked_array([[1.0, hidden], [0.5, 1.0]], mask=[[False, True], [False, False]])
    with pytest.raises(q.InvalidParameter, match="matrix"):
        q.MatrixMechanism(sigma=1.0, matrix=matrix)
