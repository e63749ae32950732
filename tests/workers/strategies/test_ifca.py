"""IFCA: several models, of which a client trains the one that fits it best."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import content, tensors
from tests.workers.strategies.groups_by_loop import Model, federation_of, train, weighted_mean
from tests.workers.strategies.groups_by_loop import spec_of as grouped
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.messages.arrays import record_of
from workers.engine.server.method import MethodContext
from workers.engine.setup import make_setup
from workers.spec import parse_run
from workers.strategies._ifca import BestCluster, ClusterModels

ROUNDS, CLUSTERS = 3, 3


def test_each_cluster_is_the_mean_of_those_that_took_it_worked_out_by_hand() -> None:
    """(1 * 1 + 3 * 5) / 4 = 4 in cluster 0 and 9 in cluster 2; nobody took cluster 1."""
    server = ClusterModels(MethodContext(parse_run(tiny()), tensors(w=[0.0])), 1)
    server.count, server.sent = 3, tensors(w=[0.0])
    server.keep(1, tensors(w=[7.0]))
    server.keep(2, tensors(w=[8.0]))

    def reply(samples: int, value: float, cluster: int) -> object:
        return content({"samples": samples, "arrays": {"w": [value]}, "metrics": {"cluster": float(cluster)}})

    request = server.request(1, record_of(server.sent))
    first = server.combine(1, [reply(1, 1.0, 0), reply(3, 5.0, 0), reply(2, 9.0, 2)])  # type: ignore[list-item]
    assert first is not None
    models = [model["w"].tolist() for model in server.models(first)]
    nobody_took_the_first = server.combine(2, [reply(2, 3.0, 1), reply(2, 6.0, 1)])  # type: ignore[list-item]

    assert list(request) == ["arrays", "cluster.1", "cluster.2"]
    assert models == [[4.0], [7.0], [9.0]]
    assert nobody_took_the_first is None
    assert [model["w"].tolist() for model in server.models(first)] == [[4.0], [4.5], [9.0]]
    assert server.reported == {"ifca.clusters": 1.0}


def test_a_client_takes_the_model_with_the_least_loss_and_never_one_without_a_number() -> None:
    losses = {1.0: [0.5, 0.2, 0.9], 2.0: [0.4, 0.3, float("nan")]}
    work = SimpleNamespace(
        clients=[4, 5, 6],
        anchor=tensors(w=[1.0]),
        received={"cluster.1": tensors(w=[2.0])},
        params={"w": torch.zeros(3, 1)},
        buffers={},
        rule={},
        mean_loss=lambda part, model: (torch.tensor(losses[model["w"][0].item()]), None),
    )
    rule = BestCluster(2)

    rule.start(work)  # type: ignore[arg-type]

    assert work.params["w"].flatten().tolist() == [2.0, 1.0, 1.0]
    assert rule.finish(work).metrics == {"cluster": [1.0, 0.0, 0.0]}  # type: ignore[arg-type]


def mean_loss(x: np.ndarray, y: np.ndarray, model: Model) -> float:
    total = 0.0
    for sample, label in zip(x.astype(np.float64), y, strict=True):
        scores = model[0] @ sample + model[1]
        total += np.log(np.exp(scores).sum()) - scores[label]
    return total / len(y)


def accuracy(x: np.ndarray, y: np.ndarray, model: Model) -> float:
    return float(np.mean((x.astype(np.float64) @ model[0].T + model[1]).argmax(1) == y))


def test_a_run_is_that_of_plain_loops() -> None:
    fields = {**grouped({"name": "fedavg"}), "strategy": {"name": "ifca", "clusters": CLUSTERS}, "rounds": ROUNDS}
    federation, setup = federation_of(fields), make_setup(parse_run(fields), torch.device("cpu"))
    assert setup.method.candidates is not None
    models = [[value.numpy() for value in model.values()] for model in setup.method.candidates(setup.initial)]
    data = [(federation.x[client.train], federation.y[client.train]) for client in federation.clients]

    def nearest(x: np.ndarray, y: np.ndarray) -> int:
        return int(np.argmin([mean_loss(x, y, model) for model in models]))

    accuracies, used = [], []
    for _ in range(ROUNDS):
        choices = [nearest(x, y) for x, y in data]
        ends = [train(x, y, models[at]) for (x, y), at in zip(data, choices, strict=True)]
        used.append(len(set(choices)))
        for at in set(choices):
            members = [client for client, choice in enumerate(choices) if choice == at]
            models[at] = weighted_mean([ends[each] for each in members], [len(data[each][1]) for each in members])
        own = [accuracy(federation.test_x, federation.test_y, models[nearest(x, y)]) for x, y in data]
        accuracies.append(np.mean(own))

    result = simulate(fields)

    for at, model in enumerate(models):
        for name, expected in zip(("1.weight", "1.bias"), model, strict=True):
            np.testing.assert_allclose(result.parameters[f"group.{at}/{name}"], expected, rtol=0, atol=1e-12)
    assert curve(result, "accuracy")[1:] == pytest.approx(accuracies)
    assert curve(result, "ifca.clusters") == used
    assert max(used) > 1
    members = [[client for client, (x, y) in enumerate(data) if nearest(x, y) == at] for at in range(CLUSTERS)]
    classes = [sorted({str(y[0]) for client in each for y in [data[client][1]]}) for each in members]
    groups = [{"members": each, "classes": own} for each, own in zip(members, classes, strict=True)]
    assert result.findings["ifca"] == {"groups": groups}


def test_all_models_go_down_and_one_comes_up() -> None:
    """Three clients of 15 parameters of 8 bytes; the way up has the client's choice and three other numbers."""
    result = simulate(tiny(strategy={"name": "ifca", "clusters": 4}))
    plain = simulate(tiny())

    down, up = (curve(result, way)[1] - curve(plain, way)[1] for way in ("bytes_down", "bytes_up"))
    assert (down, up) == (3 * 3 * 15 * 8, 3 * 8)


def test_one_cluster_is_fedavg() -> None:
    one, plain = simulate(tiny(strategy={"name": "ifca", "clusters": 1})), simulate(tiny())

    assert curve(one, "accuracy") == pytest.approx(curve(plain, "accuracy"))
    for name, value in plain.parameters.items():
        assert np.array_equal(one.parameters[f"group.0/{name}"], value)


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_engines_agree_and_a_run_goes_on_to_the_bit(norm: str) -> None:
    model = {"name": "mlp-50", "norm": norm}
    fields = tiny(strategy={"name": "ifca"}, stragglers=0.4, client_dropout=0.2, rounds=5, model=model)

    check_engines(fields)
    check_resume(fields)
