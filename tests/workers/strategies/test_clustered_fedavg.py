from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import Server, tensors
from tests.workers.strategies.groups_by_loop import (
    federation_of,
    initial_model,
    spec_of,
    train,
    tree_edges,
    weighted_mean,
)
from workers.engine import simulate

CLUSTERED = {"name": "clustered-fedavg"}
CLASSES = {0: (0, 1), 1: (0, 1), 2: (2,), 3: (1, 2)}
PROBES = {0: [0.0, 0.0], 1: [0.0, 1.0], 2: [9.0, 0.0], 3: [9.0, 1.0]}


def clustered(**options: Any) -> Server:
    """Four clients at the corners of a long rectangle."""
    server = Server({**CLUSTERED, **options}, tensors(w=[0.0, 0.0]), classes=CLASSES)
    survey = server.method.survey
    assert survey is not None
    server.model, server.round_zero_metrics = survey.learn({client: tensors(w=w) for client, w in PROBES.items()})  # type: ignore[attr-defined]
    return server


def group_answer(samples: int, group: int, w: list[float]) -> dict[str, Any]:
    return {"samples": samples, f"arrays/{group}": {"w": w}}


def test_a_probe_parts_the_clients_at_the_clear_gap() -> None:
    """Edges 9, 1 and 1; two clients hold classes 0 and 1; of the other two each holds another set."""
    server = clustered()

    strategy: Any = server.method.server
    assert strategy.findings == {
        "groups": [{"members": [0, 1], "classes": ["0", "1"]}, {"members": [2, 3], "classes": ["1", "2"]}],
        "purity": 0.75,
        "class_sets": 3,
        "noise": [],
        "late": [],
        "eps": 5.0,
        "edges": [9.0, 1.0, 1.0],
    }
    assert {name: value.tolist() for name, value in server.model.items()} == {"0/w": [0, 0], "1/w": [0, 0]}
    assert server.round_zero_metrics == {  # type: ignore[attr-defined]
        "clustered-fedavg.groups": 2,
        "clustered-fedavg.purity": 0.75,
        "clustered-fedavg.noise": 0,
    }


def test_every_group_has_its_own_weighted_mean() -> None:
    """(1 * 2 + 3 * 6) / 4 = 5 and (1 * 10 + 1 * 20) / 2 = 15."""
    model = clustered().round(
        group_answer(1, 0, [2.0, 0.0]),
        group_answer(3, 0, [6.0, 4.0]),
        group_answer(1, 1, [10.0, 0.0]),
        group_answer(1, 1, [20.0, -2.0]),
    )

    assert model == {"0/w": [5.0, 3.0], "1/w": [15.0, -1.0]}


def test_a_client_gets_the_model_of_its_group_only() -> None:
    server = clustered()
    server.round(*[group_answer(1, group, [group, 1.0]) for group in (0, 0, 1, 1)])
    server.round(*[group_answer(1, group, [group, 2.0]) for group in (0, 0, 1, 1)])

    sent = [
        {name: record["w"].numpy().tolist() for name, record in request.content.array_records.items()}
        for request in server.requests
    ]
    assert sent == [{"arrays/0": [0.0, 1.0]}] * 2 + [{"arrays/1": [1.0, 1.0]}] * 2


def test_a_group_that_nobody_answers_for_keeps_its_model() -> None:
    server = clustered()
    server.model["1/w"] = tensors(w=[7.0, 7.0])["w"]
    server.method.server.sent = server.model  # type: ignore[attr-defined]

    model = server.method.server.combine(1, [])  # type: ignore[attr-defined]

    assert model["1/w"].tolist() == [7.0, 7.0]


def test_a_late_client_joins_the_nearest_group_and_comes_in_its_round() -> None:
    server = clustered(late_clients=1, late_round=3, eps=2.0)
    strategy: Any = server.method.server

    assert strategy.groups(2) == [[0, 1], [2]]
    assert strategy.groups(3) == [[0, 1], [2, 3]]
    assert (strategy.findings["late"], strategy.findings["noise"]) == ([3], [2])


def test_late_clients_take_part_from_their_round_on() -> None:
    spec = spec_of({**CLUSTERED, "late_clients": 2, "late_round": 3}, rounds=4, partition={"name": "iid"})

    cohorts = [record.cohort for record in simulate(spec).history[1:]]

    assert cohorts == [tuple(range(7))] * 2 + [tuple(range(9))] * 2


def test_it_equals_plain_loops() -> None:
    spec = spec_of(CLUSTERED)
    federation, start = federation_of(spec), initial_model(spec, "group.0/")
    data = [(federation.x[each.train], federation.y[each.train]) for each in federation.clients]
    probes = [train(x, y, start) for x, y in data]
    models = [start, start, start]
    for _ in range(3):
        for group in range(3):
            own = data[3 * group : 3 * group + 3]
            models[group] = weighted_mean([train(x, y, models[group]) for x, y in own], [len(y) for _, y in own])

    result = simulate(spec)

    assert result.findings["clustered-fedavg"]["edges"] == pytest.approx(tree_edges(probes), abs=1e-9)
    for group, (weight, bias) in enumerate(models):
        np.testing.assert_allclose(result.parameters[f"group.{group}/1.weight"], weight, rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.parameters[f"group.{group}/1.bias"], bias, rtol=0, atol=1e-12)
    right = [np.mean((federation.test_x @ w.T + b).argmax(1) == federation.test_y) for w, b in models]
    assert result.history[-1].metrics["accuracy"] == pytest.approx(np.mean(right))


@pytest.mark.parametrize("on", ["server", "clients"])
def test_one_group_is_fedavg(on: str) -> None:
    """Also in its cohorts; only the probe costs extra, in round 0."""
    spec = tiny(strategy={**CLUSTERED, "eps": 1000.0}, stragglers=0.5, client_dropout=0.2, evaluation={"on": on})
    one, plain = simulate(spec), simulate({**spec, "strategy": {"name": "fedavg"}})

    assert list(one.parameters) == [f"group.0/{name}" for name in plain.parameters]
    assert all(np.array_equal(one.parameters[f"group.0/{name}"], plain.parameters[name]) for name in plain.parameters)
    assert [record.cohort for record in one.history] == [record.cohort for record in plain.history]
    for metric in ("loss", "accuracy", "train_loss"):
        assert curve(one, metric) == pytest.approx(curve(plain, metric), abs=1e-14)
    assert curve(one, "bytes_up")[1:] == curve(plain, "bytes_up")[1:]
    assert curve(one, "bytes_down")[1:] == curve(plain, "bytes_down")[1:]


def test_the_probe_is_counted_in_round_0() -> None:
    """Five clients get 15 values and a round number and send the values and three scalars; all 60 samples are seen."""
    first = simulate(tiny(strategy={**CLUSTERED, "probe_epochs": 2})).history[0]

    assert (first.metrics["bytes_down"], first.metrics["bytes_up"]) == (5 * 16 * 8, 5 * 18 * 8)
    assert first.metrics["samples_seen"] == 2 * 60


def test_cohorts_are_drawn_inside_each_group() -> None:
    """A third of nine clients: one of each three."""
    cohorts = [record.cohort for record in simulate(spec_of(CLUSTERED, cohort=3, rounds=6)).history[1:]]

    assert {tuple(client // 3 for client in cohort) for cohort in cohorts} == {(0, 1, 2)}
    assert len(set(cohorts)) > 1


def test_models_with_batch_statistics_are_grouped_by_their_weights() -> None:
    local = {"epochs": 2, "batch_size": 5, "optimizer": {"name": "sgd", "lr": 0.3}}
    result = simulate(spec_of(CLUSTERED, model={"name": "mlp-50", "norm": "batch"}, local=local))

    assert [group["members"] for group in result.findings["clustered-fedavg"]["groups"]] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]
    assert int(result.parameters["group.2/2.num_batches_tracked"]) == 3 * 4
