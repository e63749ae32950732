"""What must hold whatever the numbers are: federated training against plain PyTorch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.workers.engine.tiny import distance, tiny
from workers.engine import simulate
from workers.engine.clients import Clients
from workers.engine.execution.executors import make_executor
from workers.engine.federation import make_federation
from workers.engine.setup import make_setup
from workers.engine.training.network import make_network
from workers.engine.training.schedule import Schedule
from workers.engine.training.trainer import Assignment
from workers.spec import parse_run
from workers.streams import client_keys

ENGINES = ["cohort", "sequential"]
MLP = {"name": "mlp-50"}


def whole_batch(**changes: Any) -> dict[str, Any]:
    local = {"epochs": 1, "batch_size": 1000, "optimizer": {"name": "sgd", "lr": 0.5}}
    return tiny(model=MLP, cohort=None, rounds=1, local=local, **changes)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_full_batch_step_of_fedavg_is_a_centralised_gradient_step(engine: str) -> None:
    spec = parse_run(whole_batch(engine=engine))
    federation, module = make_federation(spec), make_network(spec, torch.device("cpu")).module
    loss = cross_entropy(module(torch.from_numpy(federation.x).double()), torch.from_numpy(federation.y))
    loss.backward()

    result = simulate(spec)

    for name, param in module.named_parameters():
        expected = (param - 0.5 * param.grad).detach().numpy()
        np.testing.assert_allclose(result.parameters[name], expected, rtol=0, atol=1e-14)
    assert distance(result, simulate(whole_batch(strategy={"name": "centralised"}))) < 1e-14


OPTIMIZERS = {
    "sgd": ({"name": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, torch.optim.SGD),
    "adam": ({"name": "adam", "lr": 0.01, "weight_decay": 0.1}, torch.optim.Adam),
    "adamw": ({"name": "adamw", "lr": 0.01, "weight_decay": 0.1}, torch.optim.AdamW),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_client_is_plain_torch_training(engine: str, name: str) -> None:
    options, make = OPTIMIZERS[name]
    spec = parse_run(
        tiny(model=MLP, clients=1, cohort=None, rounds=1, partition={"name": "iid"}, engine=engine)
        | {"local": {"epochs": 2, "batch_size": 7, "optimizer": options}}
    )
    federation, module = make_federation(spec), make_network(spec, torch.device("cpu")).module
    settings = {key: value for key, value in options.items() if key != "name"}
    optimizer = make(module.parameters(), **settings)
    plan = Schedule(
        [federation.clients[0].train],
        client_keys(0, "batches", np.array([0]), 1),
        torch.from_numpy(federation.y),
        epochs=2,
        batch_size=7,
        parts=[None],
        padded=True,
        dtype=torch.float64,
    )
    losses = []
    for batch in plan.batches():
        samples = batch.index[0].numpy()
        optimizer.zero_grad()
        x, y = torch.from_numpy(federation.x[samples]).double(), torch.from_numpy(federation.y[samples])
        loss = cross_entropy(module(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    result = simulate(spec)

    for key, param in module.named_parameters():
        np.testing.assert_allclose(result.parameters[key], param.detach().numpy(), rtol=0, atol=1e-12)
    assert result.history[1].metrics["train_loss"] == pytest.approx(np.mean(losses), abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_identical_clients_of_equal_size_are_one_client(engine: str) -> None:
    """Full batches, so that every client sees the same batches whatever its own order."""
    local = {"epochs": 3, "batch_size": 1000, "optimizer": {"name": "sgd", "lr": 0.3}}
    spec = parse_run(tiny(model=MLP, cohort=None, partition={"name": "iid"}, local=local))
    whole = make_federation(spec)
    alike = replace(whole, clients=Clients(np.arange(4), [np.arange(20)] * 4))
    setup = make_setup(spec, torch.device("cpu"), federation=alike)
    trained = make_executor(setup, engine).train(Assignment(1, alike.clients, setup.initial))
    alone = make_executor(setup, engine).train(Assignment(1, alike.clients[:1], setup.initial))

    for outcome in trained:
        for name, stack in outcome.model.items():
            for row in stack:
                np.testing.assert_allclose(row.numpy(), alone[0].model[name][0].numpy(), rtol=0, atol=1e-13)
