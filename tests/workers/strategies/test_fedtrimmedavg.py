from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.serverapp.strategy import FedTrimmedAvg
from scipy.stats import trim_mean

from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.flowers_own import aggregate_with
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run

FIVE = [(1.0, 50.0), (2.0, -3.0), (3.0, 4.0), (8.0, 5.0), (-90.0, 0.0)]


def trimmed_mean(trim: float, *values: tuple[float, float]) -> list[float]:
    server = Server({"name": "fedtrimmedavg", "trim": trim}, tensors(w=[0.0, 0.0]))
    return server.round(*answers(*values))["w"]


def answers(*values: tuple[float, float]) -> list[dict[str, Any]]:
    return [answer(samples, list(w)) for samples, w in enumerate(values, start=1)]


def test_a_fifth_of_five_is_one_at_each_end_as_flower_has_it() -> None:
    """1, 2, 3 and 0, 4, 5 are left."""
    assert trimmed_mean(0.2, *FIVE) == [2.0, 3.0]
    assert aggregate_with(FedTrimmedAvg(beta=0.2), *answers(*FIVE)) == [2.0, 3.0]


def test_part_of_a_client_is_not_cut() -> None:
    assert trimmed_mean(0.19, (1.0, 0.0), (2.0, 0.0), (6.0, 3.0)) == [3.0, 1.0]


def test_rounding_in_binary_cuts_no_client_less() -> None:
    """0.29 * 100 is 28.999999999999996."""
    assert trimmed_mean(0.3, *[(float(each), 0.0) for each in range(1, 11)]) == [5.5, 0.0]
    assert trimmed_mean(0.29, *[(float(each) ** 2, 0.0) for each in range(100)])[0] == pytest.approx(
        sum(each**2 for each in range(29, 71)) / 42
    )


def test_trim_zero_is_the_plain_mean() -> None:
    assert trimmed_mean(0.0, (1.0, 0.0), (2.0, 6.0)) == [1.5, 3.0]


def test_nan_is_cut_as_the_largest_value() -> None:
    assert trimmed_mean(0.2, (1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (float("nan"), 1.0)) == [3.0, 1.0]


def test_half_or_more_is_refused() -> None:
    with pytest.raises(SpecError, match=r"less than 0\.5"):
        parse_run(spec_of({"name": "fedtrimmedavg", "trim": 0.5}))


@pytest.mark.parametrize("trim", [0.0, 0.2, 0.4])
def test_it_equals_plain_loops(trim: float) -> None:
    spec = spec_of({"name": "fedtrimmedavg", "trim": trim})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models = [reference.descend(client) for client in range(5)]
        reference.model = [trim_mean(np.stack([model[i] for model in models]), trim) for i in range(2)]

    assert_equal_models(simulate(spec), reference)
