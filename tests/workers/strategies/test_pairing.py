from __future__ import annotations

import numpy as np
import pytest

from workers.strategies._swapping import greedy_pairs, minimum_pairs, pair_count, random_pairs

SIMILARITY = np.array(
    [
        [1.0, 0.5, 0.3, 0.9],
        [0.5, 1.0, 0.1, 0.2],
        [0.3, 0.1, 1.0, 0.4],
        [0.9, 0.2, 0.4, 1.0],
    ]
)


@pytest.mark.parametrize(
    ("clients", "share", "expected"), [(10, 1.0, 5), (11, 1.0, 5), (10, 0.5, 2), (1, 1.0, 0), (20, 0.3, 3), (8, 0.0, 0)]
)
def test_half_the_clients_times_the_share_rounded_down(clients: int, share: float, expected: int) -> None:
    assert pair_count(clients, share) == expected


def test_minimum_takes_the_least_similar_pair_first_and_strikes_both_out() -> None:
    """1 and 2 with 0.1; all that is left is 0 and 3, however similar."""
    assert minimum_pairs(SIMILARITY, 2) == [(1, 2), (0, 3)]
    assert minimum_pairs(SIMILARITY, 1) == [(1, 2)]


@pytest.mark.parametrize("seed", range(6))
def test_greedy_lets_a_random_client_choose(seed: int) -> None:
    chosen_by = {0: 2, 1: 2, 2: 1, 3: 1}
    pairs = greedy_pairs(SIMILARITY, 2, np.random.default_rng(seed))

    first, second = pairs
    assert first[1] == chosen_by[first[0]]
    assert sorted([*first, *second]) == [0, 1, 2, 3]


def test_random_pairs_are_disjoint_and_differ_from_draw_to_draw() -> None:
    draws = {tuple(random_pairs(9, 4, np.random.default_rng(seed))) for seed in range(20)}

    assert len(draws) == 20
    assert all(len({client for pair in draw for client in pair}) == 8 for draw in draws)


def test_models_that_cannot_be_compared_come_last() -> None:
    similarity = SIMILARITY.copy()
    similarity[1], similarity[:, 1] = np.inf, np.inf

    assert minimum_pairs(similarity, 2) == [(0, 2), (1, 3)]
