from __future__ import annotations

import numpy as np
import pytest

from workers.clustering.grouping import clear_eps, dbscan, group_rows, nearest_group, purity, tree_edges


def on_a_line(*places: float) -> np.ndarray:
    """Squared distances."""
    return np.square(np.subtract.outer(places, places), dtype=np.float64)


def groups(*places: float, eps: float | None = None, min_samples: int = 2, noise: str = "own") -> list[list[int]]:
    grouping = group_rows(on_a_line(*places), eps=eps, min_samples=min_samples, noise=noise)
    return [list(group) for group in grouping.groups]


def test_a_tree_has_the_gaps_of_a_line_longest_first() -> None:
    assert tree_edges(np.sqrt(on_a_line(0, 1, 3, 9))).tolist() == [6, 2, 1]


def test_equal_models_have_edges_of_zero() -> None:
    assert tree_edges(np.sqrt(on_a_line(2, 2, 2, 5))).tolist() == [3, 0, 0]


def test_two_clear_groups_are_parted_in_the_middle_of_the_gap() -> None:
    """Edges 9, 1, 1: the gap between 9 and 1 has its middle at 5."""
    assert clear_eps(np.sqrt(on_a_line(0, 1, 10, 11)), 2) == 5
    assert groups(0, 1, 10, 11) == [[0, 1], [2, 3]]


def test_groups_are_ordered_by_their_first_client() -> None:
    assert groups(10, 0, 11, 1) == [[0, 2], [1, 3]]


def test_many_groups_at_one_gap() -> None:
    assert groups(0, 1, 10, 11, 20, 21.5, 30, 31) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_edges_that_differ_by_less_than_twice_part_nobody() -> None:
    assert clear_eps(np.sqrt(on_a_line(0, 1, 2, 3.9, 4.9)), 2) is None
    assert groups(0, 1, 2, 3.9, 4.9) == [[0, 1, 2, 3, 4]]


def test_equal_clients_are_one_group() -> None:
    assert groups(4, 4, 4) == [[0, 1, 2]]


def test_pairs_of_equal_clients_are_groups() -> None:
    assert groups(0, 0, 7, 7) == [[0, 1], [2, 3]]


def test_one_client_far_away_does_not_make_groups() -> None:
    """The gap between 97 and 1 would cut off one client only."""
    assert groups(0, 1, 2, 3, 100) == [[0, 1, 2, 3, 4]]


def test_beside_two_groups_a_client_far_from_both_is_noise() -> None:
    grouping = group_rows(on_a_line(0, 1, 20, 21, 50), eps=None, min_samples=2, noise="own")

    assert grouping.groups == ((0, 1), (2, 3), (4,))
    assert grouping.noise == (4,)
    assert grouping.edges == (29, 19, 1, 1)
    assert grouping.eps == 10


def test_noise_may_join_the_nearest_group() -> None:
    assert groups(0, 1, 20, 21, 50, noise="nearest") == [[0, 1], [2, 3, 4]]


def test_where_everybody_is_noise_everybody_is_alone() -> None:
    assert groups(0, 10, 30, eps=1.0, noise="nearest") == [[0], [1], [2]]


def test_a_given_eps_is_taken_as_it_is() -> None:
    assert groups(0, 1, 2, 3.9, 4.9, eps=1.5) == [[0, 1, 2], [3, 4]]
    assert groups(0, 1, eps=1.0) == [[0, 1]]


def test_a_core_needs_min_samples_neighbours() -> None:
    """At eps 1 only the client at 1 has three neighbours with itself; its two neighbours belong to it."""
    assert dbscan(np.sqrt(on_a_line(0, 1, 2, 5, 6)), 1.0, 3).tolist() == [0, 0, 0, -1, -1]


@pytest.mark.parametrize("noise", ["own", "nearest"])
def test_clients_that_diverged_are_alone(noise: str) -> None:
    squares = on_a_line(0, 1, 2, 0)
    squares[3, :3] = squares[:3, 3] = np.inf

    grouping = group_rows(squares, eps=None, min_samples=2, noise=noise)

    assert grouping.groups == ((0, 1, 2), (3,))
    assert grouping.edges == (np.inf, 1, 1)


def test_where_all_diverged_all_are_alone() -> None:
    squares = np.full((3, 3), np.inf)
    np.fill_diagonal(squares, 0)

    assert group_rows(squares, eps=None, min_samples=2, noise="nearest").groups == ((0,), (1,), (2,))


def test_one_client_is_one_group() -> None:
    grouping = group_rows(on_a_line(3), eps=None, min_samples=2, noise="own")

    assert (grouping.groups, grouping.noise, grouping.edges) == (((0,),), (), ())


def test_few_clients_without_a_gap_are_one_group_however_many_a_core_needs() -> None:
    assert groups(0, 1, 2, min_samples=5) == [[0, 1, 2]]


def test_the_nearest_group_is_that_of_the_nearest_mean() -> None:
    """Of 6: the means are 4.5 and 8, the nearest members 9 and 8. By members it would be the second group."""
    squares = on_a_line(0, 9, 8, 8, 6)

    assert nearest_group(squares, [[0, 1], [2, 3]], 4) == 0


def test_purity_is_the_share_of_the_common_kind() -> None:
    assert purity([[0, 1, 2], [3, 4]], ["a", "a", "b", "b", "b"]) == 0.8
    assert purity([[0, 1, 2]], ["a", "b", "c"]) == pytest.approx(1 / 3)
