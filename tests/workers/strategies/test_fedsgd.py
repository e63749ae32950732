from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, distance, tiny
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.training.losses import padded_batches


def batches_of(size: int, **changes: Any) -> dict[str, Any]:
    local = {"epochs": 4, "batch_size": size, "optimizer": {"name": "sgd", "lr": LR}}
    return {**spec_of({"name": "fedsgd"}), "local": local, **changes}


def test_it_takes_one_step_along_the_weighted_mean_of_full_gradients() -> None:
    reference = Reference(spec_of({"name": "fedsgd"}))
    for _ in range(ROUNDS):
        grads = [reference.gradient(client, reference.model) for client in range(5)]
        reference.model = [w - LR * g for w, g in zip(reference.model, reference.mean(grads), strict=True)]

    result = simulate(batches_of(3))

    assert_equal_models(result, reference)
    assert [values["steps"] for values in result.history[-1].clients.values()] == [1] * 5


def test_its_training_loss_is_that_of_the_model_it_was_sent() -> None:
    result = simulate(batches_of(3, rounds=1))
    reference = Reference(spec_of({"name": "fedsgd"}))
    x, y = reference.federation.x.astype(np.float64), reference.federation.y
    scores = x @ reference.model[0].T + reference.model[1]
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]

    assert result.history[1].metrics["train_loss"] == pytest.approx(losses.mean(), abs=1e-12)


def test_it_is_fedavg_with_one_epoch_of_one_batch() -> None:
    local = {"epochs": 1, "batch_size": 1000, "optimizer": {"name": "sgd", "lr": LR}}

    assert distance(simulate(batches_of(2)), simulate(tiny(cohort=None, rounds=ROUNDS, local=local))) < 1e-14


def test_stragglers_take_their_step_whole() -> None:
    assert distance(simulate(batches_of(3)), simulate(batches_of(3, stragglers=1.0))) == 0


@pytest.mark.parametrize("engine", ["cohort", "sequential"])
def test_batch_statistics_are_gathered_and_averaged(engine: str) -> None:
    """Client 0 of one iid half sees ceil(30 / 8) = 4 batches a round, and so does the other."""
    spec = batches_of(8, model={"name": "mlp-50", "norm": "batch"}, clients=2, partition={"name": "iid"}, engine=engine)

    result = simulate(spec)

    (counter, *_) = [name for name in result.parameters if name.endswith("num_batches_tracked")]
    assert int(result.parameters[counter]) == 4 * ROUNDS
    assert curve(result, "loss")[-1] < curve(result, "loss")[0]


def test_batches_of_unequal_parts_are_padded_and_marked() -> None:
    parts = [np.array([7, 8, 9]), np.array([], dtype=np.int64), np.array([4])]

    batches = [[each.tolist() for each in batch] for batch in padded_batches(parts, 2, torch.device("cpu"))]

    assert batches == [
        [[0, 2], [[7, 8], [4, 4]], [[True, True], [True, False]]],
        [[0], [[9]], [[True]]],
    ]
