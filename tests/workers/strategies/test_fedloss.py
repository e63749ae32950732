from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.federation import Federation, make_federation
from workers.spec import parse_run

NAN = float("nan")


def server(**options: Any) -> Server:
    return Server({"name": "fedloss", **options}, tensors(w=[0.0, 0.0]))


def reply(samples: int, w: list[float], loss: float, validated: int = 1) -> dict[str, Any]:
    return answer(samples, w, metrics={"validation-loss": loss, "validated": validated})


def test_the_client_with_three_times_the_loss_counts_three_times() -> None:
    model = server().round(reply(9, [4.0, 0.0], 0.5), reply(1, [0.0, 8.0], 1.5))

    assert model == {"w": [1.0, 6.0]}


def test_losses_may_be_multiplied_by_samples() -> None:
    """0.5 * 3 against 1.5 * 1: equal."""
    model = server(with_samples=True).round(reply(3, [4.0, 0.0], 0.5), reply(1, [0.0, 8.0], 1.5))

    assert model == {"w": [2.0, 4.0]}


def test_a_client_without_a_validation_part_counts_as_the_others_on_average() -> None:
    """Losses 1 and 3, so the third counts as 2 of 6."""
    model = server().round(reply(9, [6.0, 0.0], 1.0), reply(9, [0.0, 6.0], 3.0), reply(1, [3.0, 3.0], 0.0, 0))

    assert model["w"] == pytest.approx([2.0, 4.0], abs=1e-15)


@pytest.mark.parametrize("losses", [(NAN, 1.0), (float("inf"), 1.0), (0.0, 0.0)])
def test_losses_that_say_nothing_give_way_to_samples(losses: tuple[float, float]) -> None:
    by_hand = server()

    model = by_hand.round(reply(1, [4.0, 0.0], losses[0]), reply(3, [0.0, 8.0], losses[1]))

    assert model == {"w": [1.0, 6.0]}
    assert by_hand.method.server.reported == {"fedloss.fallback": 1.0}  # type: ignore[attr-defined]


def own_loss(federation: Federation, client: int, model: list[np.ndarray]) -> float:
    total = 0.0
    chosen = federation.clients[client].validation
    for x, y in zip(federation.x[chosen].astype(np.float64), federation.y[chosen], strict=True):
        scores = model[0] @ x + model[1]
        total += float(np.log(np.exp(scores).sum()) - scores[y])
    return total / len(chosen)


@pytest.mark.parametrize("with_samples", [False, True])
def test_it_equals_plain_loops(with_samples: bool) -> None:
    spec = spec_of({"name": "fedloss", "with_samples": with_samples}) | {
        "evaluation": {"validation": 0.3},
        "partition": {"name": "quantity-dirichlet", "beta": 5.0, "min_size": 5},
    }
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models, weights = [], []
        for client in range(5):
            own = reference.descend(client)
            models.append(own)
            samples = len(reference.federation.clients[client].train) if with_samples else 1
            weights.append(own_loss(reference.federation, client, own) * samples)
        reference.shares = np.array(weights) / sum(weights)
        reference.model = reference.mean(models)

    result = simulate(spec)

    assert_equal_models(result, reference)
    assert curve(result, "fedloss.fallback") == [0.0] * ROUNDS


def test_a_tenth_validates_where_the_spec_says_nothing() -> None:
    spec = tiny(strategy={"name": "fedloss"}, partition={"name": "iid"}, clients=2, cohort=None)
    federation = make_federation(parse_run(spec))

    assert [(len(each.train), len(each.validation)) for each in federation.clients] == [(27, 3), (27, 3)]


def test_validation_uses_running_statistics_and_leaves_them_alone() -> None:
    spec = tiny(strategy={"name": "fedloss"}, partition={"name": "iid"}, model={"name": "mlp-50", "norm": "batch"})

    counters = [int(value) for name, value in simulate(spec).parameters.items() if name.endswith("num_batches_tracked")]

    assert counters == [3 * 2 * 3] * len(counters)
    assert counters
