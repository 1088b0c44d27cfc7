"""What the choice of noise gains, and what optimal selection does: standard errors, not drawn."""

from __future__ import annotations

from typing import Any

from quaestor.curator.language.expressions import Aggregated, Column, Keyed
from quaestor.curator.language.query import Aggregate, Contribution, Key, Output, Query, Scan
from quaestor.curator.pricing.accuracy import Accuracy
from quaestor.curator.pricing.noise_choice import chosen_noise
from quaestor.curator.pricing.priced_question import Budget
from quaestor.curator.pricing.tariffs import tariff_of
from quaestor.ledger import AccountDefinition
from quaestor.mechanisms import OptimalSelection, PartitionSelection

__all__ = ["lines"]

_ACCOUNT = AccountDefinition(name="study", epsilon=1.0, delta=1e-6, datasets=("d",))
_EPSILONS = (0.1, 1.0)


def _asked(*aggregates: Aggregate, groups: int = 1) -> Query:
    key = Key(name="k", expression=Column("k"), kind="integer", values=tuple(range(max(groups, 1))))
    outputs = [Output(name="k", expression=Keyed(0))]
    outputs += [Output(name=f"a{i}", expression=Aggregated(i)) for i in range(len(aggregates))]
    parts: dict[str, Any] = {"keys": (key,), "aggregates": aggregates, "outputs": tuple(outputs)}
    limits = Contribution(rows=1, groups=groups)
    return Query(dataset="d", rows=Scan("t"), unit="u", contribution=limits, **parts)


def _sums(count: int) -> Query:
    names = (Column(f"x{at}") for at in range(count))
    return _asked(
        *(Aggregate(function="sum", operand=each, low=0.0, high=100.0, step=1.0) for each in names)
    )


_COUNT = Aggregate(function="count")
_QUESTIONS = {
    "a count": _asked(_COUNT),
    "8 sums": _sums(8),
    "20 sums": _sums(20),
    "a count in 10 groups of a person": _asked(_COUNT, groups=10),
    "a count in 30 groups of a person": _asked(_COUNT, groups=30),
    "a count in 100 groups of a person": _asked(_COUNT, groups=100),
}


def _errors(asked: Query, epsilon: float) -> tuple[str, float, float]:
    """The noise that is chosen, and the first figure's standard error without and with it."""
    budget = Budget(epsilon=epsilon)
    before = budget.offer(asked, delta=None)
    found = chosen_noise(budget, tariff_of(_ACCOUNT), lambda each: (each.offer(asked, delta=None),))
    after = found.budget.offer(asked, delta=None)
    plain, now = (each.expected[0].standard_error or 0.0 for each in (before, after))
    return after.noise, plain, now


def _noise_rows() -> list[str]:
    rows = []
    for name, asked in _QUESTIONS.items():
        for epsilon in _EPSILONS:
            noise, before, after = _errors(asked, epsilon)
            ratio = f"{before / after:.2f}"
            rows.append(
                f"| {name} | {epsilon:g} | {before:.4g} | {noise} | {after:.4g} | {ratio} |"
            )
    return rows


def _shares() -> str:
    tariff, asked = tariff_of(_ACCOUNT), _QUESTIONS["a count"]
    said = []
    for within in (20.0, 50.0, 200.0):
        budgets = [
            Budget(accuracy=Accuracy(within=within, noise=noise))
            for noise in ("geometric", "gaussian")
        ]
        shares = [tariff.share(each.offer(asked, delta=None).releases) or 0 for each in budgets]
        plain, other = (f"{100 * float(each):.2g} %" for each in shares)
        said.append(f"within {within:g}, {plain} with geometric and {other} with Gaussian noise")
    return "; ".join(said)


def _selection_rows() -> list[str]:
    rows = []
    for epsilon in (0.01, 0.1, 1.0):
        for delta in (1e-6, 1e-8):
            best = OptimalSelection(epsilon=epsilon, delta=delta)
            other = PartitionSelection.with_delta(scale=1 / epsilon, delta=delta)
            rows.append(f"| {epsilon:g} | {delta:g} | {other.threshold} | {best.likely} |")
    return rows


def lines() -> list[str]:
    """Both tables, with what they say."""
    return [
        "## Noise that is chosen",
        "",
        "Standard errors as previews state them, computed and not simulated, on an account of",
        "epsilon 1 and delta 1e-6 whose filter counts moments. Both noises cost at most the",
        "epsilon that was asked, at the account's delta.",
        "",
        "| question | epsilon | geometric | chosen | its error | ratio |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
        *_noise_rows(),
        "",
        "For an accuracy the noise is what takes less of the account. What a count takes of it:",
        f"{_shares()}. Gaussian noise is chosen where it takes at most three quarters.",
        "",
        "Private keys without counts: how many people a group must have to be shown every other",
        "time, by a threshold on a noisy count and by optimal selection.",
        "",
        "| epsilon | delta | threshold | optimal |",
        "| ---: | ---: | ---: | ---: |",
        *_selection_rows(),
        "",
    ]


if __name__ == "__main__":
    print("\n".join(lines()))
