from __future__ import annotations

import numpy as np
import pytest

from workers.clustering.grouping import squared_distances


def test_layers_add_up() -> None:
    """(0, 0 | 0), (3, 4 | 0) and (0, 0 | 2)."""
    first, second = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), np.array([[0.0], [0.0], [2.0]])

    squares = squared_distances([first, second])

    np.testing.assert_allclose(squares, [[0, 25, 4], [25, 0, 29], [4, 29, 0]], atol=1e-12)


def test_close_models_far_from_zero_keep_their_distance() -> None:
    squares = squared_distances([np.array([[1e8, 1e8], [1e8, 1e8 + 1e-3]])])

    assert abs(squares[0, 1] - 1e-6) < 1e-9


def test_a_model_that_diverged_is_infinitely_far_and_spoils_no_other() -> None:
    layer = np.array([[0.0], [1.0], [np.nan], [1e200], [np.inf]])

    squares = squared_distances([layer])

    assert squares[0, 1] == squares[1, 0] == pytest.approx(1)
    assert np.isinf(squares[:2, 2:]).all()
    assert squares.diagonal().tolist() == [0] * 5
