"""FedBN and FedPer: what stays with the clients, and what the others get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import curve, tiny
from workers.engine import simulate
from workers.engine.server.method import MethodContext
from workers.engine.setup import make_setup
from workers.spec import parse_run
from workers.strategies._personal_layers import last_layers, norm_layers

LOCAL = {"epochs": 1, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.05}}


def spec(name: str, norm: str = "batch", **strategy: Any) -> dict[str, Any]:
    model = {"name": "mlp-50", "norm": norm}
    return tiny(strategy={"name": name, **strategy}, model=model, local=LOCAL, cohort=None, partition={"name": "iid"})


def context(fields: dict[str, Any]) -> MethodContext:
    setup = make_setup(parse_run(fields), torch.device("cpu"))
    return MethodContext(setup.spec, setup.initial, tuple(setup.network.buffers))


def test_batch_normalisation_is_known_by_its_statistics_and_the_last_layers_by_their_order() -> None:
    """Linear 1, batch norm 2, linear 4."""
    own = context(spec("fedbn"))

    assert norm_layers(own) == ["2.weight", "2.bias", "2.running_mean", "2.running_var", "2.num_batches_tracked"]
    assert last_layers(own, 1) == ["4.weight", "4.bias"]
    assert norm_layers(context(spec("fedbn", "none"))) == []


@pytest.mark.parametrize("name", ["fedbn", "fedper"])
def test_clients_share_the_other_layers_and_have_their_own_of_these(name: str) -> None:
    own = context(spec(name))
    kept = norm_layers(own) if name == "fedbn" else last_layers(own, 1)

    model = simulate(spec(name)).parameters

    for parameter in own.initial:
        values = [model[f"client.{client}/{parameter}"] for client in range(5)]
        same = all(np.array_equal(values[0], each) for each in values[1:])
        assert same == (parameter not in kept or parameter.endswith("num_batches_tracked"))


def test_what_stays_is_not_counted() -> None:
    """The last layer of 50 values for 3 classes, with biases, in double precision, of five clients both ways."""
    whole, base = simulate(spec("fedavg", "none")), simulate(spec("fedper", "none"))

    for way in ("bytes_up", "bytes_down"):
        assert curve(whole, way)[1] - curve(base, way)[1] == 5 * (50 * 3 + 3) * 8


def test_fedbn_without_batch_normalisation_is_fedavg() -> None:
    plain, own = simulate(spec("fedavg", "none")), simulate(spec("fedbn", "none"))

    assert curve(own, "accuracy") == pytest.approx(curve(plain, "accuracy"))
    assert own.parameters["client.3/1.weight"].tobytes() == plain.parameters["1.weight"].tobytes()


def test_all_layers_kept_are_local_training_alone() -> None:
    alone, kept = simulate(spec("local-only")), simulate(spec("fedper", layers=3))

    assert {name: value for name, value in bits(kept).items() if "num_batches" not in name} == {
        name: value for name, value in bits(alone).items() if "num_batches" not in name
    }
