"""The experiment is played as the papers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quaestor.audit import (
    Adaptive,
    Challenge,
    Experiment,
    Fixed,
    FourPoints,
    Memberships,
    Vectorised,
    always,
    target_of,
)
from quaestor.errors import InvalidParameter


def told(database: Any) -> Any:
    """No privacy at all."""
    return database


def noted(database: int, count: int) -> Any:
    return np.full(count, database)


class Follower(Adaptive):
    """Picks databases by the last output: first (0, 1), then one and two more than was seen."""

    rounds = 3

    def choose(self, history: tuple[Any, ...]) -> Challenge:
        """By the last output."""
        start = history[-1] + 1 if history else 0
        return Challenge(target=target_of(told), zero=start, one=start + 1)


def test_the_bit_that_is_hidden_decides_which_database_is_seen() -> None:
    played = Experiment(adversary=always(Vectorised(noted), (10, 20), rounds=2)).run(5000)
    assert len(played) == 5000
    for outputs in played.rounds:
        assert np.array_equal(np.asarray(outputs) == 20, played.hidden)
    assert abs(int(played.hidden.sum()) - 2500) < 300  # eight standard deviations


def test_an_adversary_that_adapts_sees_what_was_answered() -> None:
    played = Experiment(adversary=Follower()).run(200)
    for hidden, history in zip(played.hidden, zip(*played.rounds, strict=True), strict=True):
        assert history == ((1, 3, 5) if hidden else (0, 1, 2))


def test_the_coins_come_from_the_seed_alone() -> None:
    game = Experiment(adversary=always(told, (0, 1)))
    first, second, third = (game.run(1000, seed=seed).hidden for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)
    assert not np.array_equal(game.run(1000).hidden, game.run(1000).hidden)


def test_several_processes_play_the_same_game() -> None:
    game = Experiment(adversary=always(told, (0, 1)))
    alone, together = (game.run(300, seed=5, processes=n) for n in (1, 2))
    assert np.array_equal(alone.hidden, together.hidden)
    assert list(alone.rounds[0]) == list(together.rounds[0])


def test_a_target_that_cannot_travel_is_played_in_one_process() -> None:
    game = Experiment(adversary=always(lambda database: database, (0, 1)))
    assert len(game.run(300)) == 300
    with pytest.raises(InvalidParameter, match="processes"):
        game.run(300, processes=2)


def test_progress_is_told_of_every_run() -> None:
    seen: list[int] = []
    Experiment(adversary=always(told, (0, 1))).run(1234, progress=seen.append)
    assert sum(seen) == 1234
    assert len(seen) > 10


def test_memberships_hide_a_vector() -> None:
    worlds = Memberships(
        null=(((0, 0, 0), 1.0),), alternative=(((1, 1, 0), 0.25), ((0, 1, 1), 0.75))
    )
    adversary = always(told, (0, 1), rounds=3)
    played = Experiment(adversary=adversary, worlds=worlds).run(4000, seed=3)
    rows = np.array([list(each) for each in played.rounds]).T
    assert not rows[~played.hidden].any()
    others = rows[played.hidden]
    assert {tuple(row) for row in others.tolist()} == {(1, 1, 0), (0, 1, 1)}
    assert abs(np.mean(others[:, 0]) - 0.25) < 0.06


def test_fixed_challenges_are_asked_in_their_order() -> None:
    planned = tuple(Challenge(target=target_of(told), zero=i, one=-i) for i in (1, 2, 3))
    played = Experiment(adversary=Fixed(planned)).run(50)
    for hidden, history in zip(played.hidden, zip(*played.rounds, strict=True), strict=True):
        assert history == ((-1, -2, -3) if hidden else (1, 2, 3))


def test_the_four_points_have_the_papers_law() -> None:
    size = 400_000
    drawn = np.asarray(FourPoints(epsilon=1.0, delta=0.1).many(0, size))
    honest = 1 / (1 + np.exp(-1.0))
    for outcome, chance in enumerate([0.1, 0.9 * honest, 0.9 * (1 - honest), 0.0]):
        seen = np.mean(drawn == outcome)
        assert abs(seen - chance) <= 6 * np.sqrt(chance * (1 - chance) / size)
    mirrored = np.asarray(FourPoints(epsilon=1.0, delta=1.0).many(1, 10))
    assert set(mirrored.tolist()) == {3}


@pytest.mark.parametrize(
    "worlds",
    [
        lambda: Memberships(null=(), alternative=(((1,), 1.0),)),
        lambda: Memberships(null=(((0,), 0.5),), alternative=(((1,), 1.0),)),
        lambda: Memberships(null=(((0,), -1.0), ((1,), 2.0)), alternative=(((1,), 1.0),)),
    ],
)
def test_what_is_no_distribution_is_refused(worlds: Any) -> None:
    with pytest.raises(InvalidParameter, match="sum to 1"):
        worlds()


def test_vectors_of_another_length_are_refused() -> None:
    worlds = Memberships(null=(((0,), 1.0),), alternative=(((1,), 1.0),))
    with pytest.raises(InvalidParameter, match="rounds"):
        Experiment(adversary=always(told, (0, 1), rounds=2), worlds=worlds).run(10)


def test_a_target_that_gives_too_few_outputs_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="as asked for"):
        Vectorised(lambda database, count: [database] * (count - 1)).many(0, 5)


def test_what_cannot_be_called_is_no_target() -> None:
    with pytest.raises(InvalidParameter, match="called"):
        target_of(5)
