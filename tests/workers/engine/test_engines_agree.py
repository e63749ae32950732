"""The cohort executor computes what the reference computes, for every model of the catalog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import distance, tiny, untimed
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.engine.setup import make_setup
from workers.spec import parse_run

SMALLEST: dict[str, tuple[list[int], dict[str, Any]]] = {
    "mobilenet": ([3, 32, 32], {"width": 0.125}),
    "mobilenet-v2": ([3, 32, 32], {"width": 0.125}),
    "xception": ([3, 32, 32], {"width": 0.0625}),
    "resnet18": ([1, 16, 16], {}),
    "torchvision": ([1, 16, 16], {"width": 0.25}),
    "athena-detector": ([1, 32, 32], {}),
    "lenet": ([1, 16, 16], {}),
    "cnn-32-64-64": ([1, 16, 16], {}),
    "cnn-32-64-100": ([1, 16, 16], {}),
}
"""A deep network amplifies rounding where its last maps have one pixel and few samples: these are large enough."""


def both(**changes: Any) -> tuple[Any, Any]:
    return simulate(tiny(**changes, engine="cohort")), simulate(tiny(**changes, engine="sequential"))


def pictures(model: str) -> dict[str, Any]:
    shape, options = SMALLEST.get(model, ([1, 8, 8], {}))
    return {
        "model": {"name": model, **options},
        "dataset": {"name": "blobs", "shape": shape, "classes": 3, "train": 24, "test": 4},
        "partition": {"name": "iid"},
        "clients": 2,
        "cohort": None,
        "local": {"batch_size": 12, "optimizer": {"name": "sgd", "lr": 0.001, "momentum": 0.5}},
    }


@pytest.mark.parametrize("model", load_catalog().models)
def test_every_model_ends_the_same_in_float64_after_three_rounds(model: str) -> None:
    stacked, alone = both(**pictures(model))

    assert distance(stacked, alone) < 1e-8
    assert stacked.history[-1].metrics["loss"] == pytest.approx(alone.history[-1].metrics["loss"], abs=1e-8)


@pytest.mark.parametrize("model", load_catalog().models)
def test_every_model_ends_the_same_in_float32_after_one_step(model: str) -> None:
    stacked, alone = both(**pictures(model), rounds=1, precision="float32")

    assert stacked.parameters[next(iter(stacked.parameters))].dtype == np.float32
    assert distance(stacked, alone) < 1e-5


@pytest.mark.parametrize("strategy", load_catalog().strategies)
def test_every_strategy_ends_the_same_with_clients_of_unequal_size(strategy: str) -> None:
    stacked, alone = both(strategy={"name": strategy}, stragglers=0.5)

    assert distance(stacked, alone) < 1e-12
    assert [record.cohort for record in stacked.history] == [record.cohort for record in alone.history]
    for one, other in zip(untimed(stacked), untimed(alone), strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_every_optimizer_ends_the_same_with_clients_of_unequal_size(optimizer: str) -> None:
    stacked, alone = both(local={"epochs": 2, "batch_size": 4, "optimizer": {"name": optimizer, "lr": 0.01}})

    assert distance(stacked, alone) < 1e-12


def test_batch_statistics_of_unequal_clients_end_the_same() -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.5}}
    stacked, alone = both(model={"name": "mlp-50", "norm": "batch"}, local=local)

    counters = [name for name in stacked.parameters if name.endswith("num_batches_tracked")]
    assert counters
    assert all(int(stacked.parameters[name]) > 0 for name in counters)
    assert distance(stacked, alone) < 1e-10


def test_dropout_masks_do_not_depend_on_the_stack() -> None:
    stacked, alone = both(model={"name": "mlp-50", "dropout": 0.5})
    without = simulate(tiny(model={"name": "mlp-50", "dropout": 1e-12}))

    assert distance(stacked, alone) < 1e-12
    assert distance(stacked, without) > 1e-3


def test_chunks_and_threads_change_rounding_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(tiny(cohort=None))
    monkeypatch.setattr("workers.engine.execution.executors.largest_stack", lambda trainer: 2)
    chunked = simulate(tiny(cohort=None))
    monkeypatch.setenv("TRIBUTARY_THREADS", "1")
    one_thread = simulate(tiny(cohort=None, engine="sequential"))
    monkeypatch.setenv("TRIBUTARY_THREADS", "3")

    assert distance(whole, chunked) < 1e-14
    assert distance(one_thread, simulate(tiny(cohort=None, engine="sequential"))) == 0


@pytest.mark.parametrize("model", ["mlp-50", "cnn-32-64-64"])
def test_class_weights_multiply_each_samples_loss_before_the_mean_of_its_batch(model: str) -> None:
    """One client, one batch of 6 samples of two classes: by hand (3 * sum over class 0 + 1 * sum over class 1) / 6."""
    changes = {
        "model": {"name": model},
        "dataset": {"name": "blobs", "shape": [3, 32, 32], "classes": 2, "train": 6, "test": 4},
        "partition": {"name": "iid"},
        "clients": 1,
        "cohort": None,
        "rounds": 1,
        "local": {"batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.01}, "class_weights": [3.0, 1.0]},
    }
    spec = parse_run(tiny(**changes))
    setup = make_setup(spec, torch.device("cpu"))
    module = setup.network.copy().module
    losses = torch.nn.functional.cross_entropy(
        module(setup.trainer.samples.x), setup.trainer.samples.y, reduction="none"
    )
    loss = (losses * torch.where(setup.trainer.samples.y == 0, 3.0, 1.0)).sum() / 6
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    expected = [param.detach() - 0.01 * each for param, each in zip(module.parameters(), gradients, strict=True)]

    for engine in ("cohort", "sequential"):
        result = simulate({**tiny(**changes), "engine": engine})

        assert result.history[1].metrics["train_loss"] == pytest.approx(loss.item(), abs=1e-12)
        for own, value in zip(result.parameters.values(), expected, strict=True):
            np.testing.assert_allclose(own, value.numpy(), rtol=0, atol=1e-12)
