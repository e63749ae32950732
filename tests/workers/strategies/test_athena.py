from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import Server, tensors
from tests.workers.strategies.groups_by_loop import federation_of, initial_model, spec_of, train, weighted_mean
from workers.engine import simulate
from workers.errors import FederationError

ATHENA = {"name": "athena"}
CLASSES = {0: (0, 1), 1: (0,), 2: (2,), 3: (1, 2)}
PROBES = {0: [0.0, 0.0], 1: [0.0, 1.0], 2: [9.0, 0.0], 3: [9.0, 1.0]}
DETECTOR = 10 * 8
"""Bytes of two times four weights and two biases in double precision."""


def athena(**options: Any) -> Server:
    server = Server({**ATHENA, **options}, tensors(w=[0.0]), classes=CLASSES)
    survey = server.method.survey
    assert survey is not None
    server.model, _ = survey.learn({client: tensors(w=w) for client, w in PROBES.items()})
    return server


def values(model: dict[str, torch.Tensor]) -> dict[str, list[float]]:
    return {name: value.tolist() for name, value in model.items()}


def train_once(server: Server, *groups: int) -> dict[str, list[float]]:
    """Every client answers 1 for the detectors of its group, but for those of other groups than the given."""
    tasks = {0: ["0/0", "0/1"], 1: ["1/1", "1/2"]}
    answers: list[dict[str, Any]] = []
    for group in (0, 0, 1, 1):
        own = tasks[group] if group in groups else []
        answers.append({"samples": 1, **{f"arrays/{task}": {"w": [1.0]} for task in own}})
    return server.round(*answers)


def test_each_group_has_a_detector_for_each_class_of_its_members() -> None:
    assert values(athena().model) == {"0/0/w": [0], "0/1/w": [0], "1/1/w": [0], "1/2/w": [0]}


def test_detectors_are_averaged_inside_their_group() -> None:
    """Class 1 is in both groups and has a detector in each: (1 * 4 + 3 * 8) / 4 = 7 and (2 + 6) / 2 = 4."""
    model = athena().round(
        {"samples": 1, "arrays/0/0": {"w": [0.0]}, "arrays/0/1": {"w": [4.0]}},
        {"samples": 3, "arrays/0/0": {"w": [4.0]}, "arrays/0/1": {"w": [8.0]}},
        {"samples": 1, "arrays/1/1": {"w": [2.0]}, "arrays/1/2": {"w": [1.0]}},
        {"samples": 1, "arrays/1/1": {"w": [6.0]}, "arrays/1/2": {"w": [3.0]}},
    )

    assert model == {"0/0/w": [3.0], "0/1/w": [7.0], "1/1/w": [4.0], "1/2/w": [2.0]}


def test_the_most_certain_detector_decides() -> None:
    """On 1 the detectors answer 1 (class 0), -2 and 3 (class 1), 2 (class 2); on -1 the opposite."""
    model = tensors(**{"0/0/w": [1.0], "0/1/w": [-2.0], "1/1/w": [3.0], "1/2/w": [2.0]})
    x, y = torch.tensor([[1.0], [-1.0]], dtype=torch.float64), torch.tensor([1, 0])
    outputs = athena().method.outputs
    assert outputs is not None

    result = outputs(lambda own, samples: torch.cat([0 * samples, samples * own["w"]], 1), model, x, y)

    assert result.logits.tolist() == [[1, 3, 2], [-1, 2, -2]]
    assert {task: right.tolist() for task, right in result.noted.items()} == {
        "0/0": [0, 0],
        "0/1": [0, 0],
        "1/1": [1, 1],
        "1/2": [0, 1],
    }


def test_a_class_without_a_detector_is_never_chosen() -> None:
    outputs = athena().method.outputs
    assert outputs is not None

    result = outputs(
        lambda own, x: x * own["w"], tensors(**{"0/1/w": [0.0, -50.0]}), torch.ones(1, 2), torch.tensor([1])
    )

    assert result.logits.tolist() == [[-51, -50, -51]]


def test_a_detector_has_converged_once_its_accuracy_stays() -> None:
    """The accuracy before training does not count; the first stays from 0.5 to 0.5005, the other from 0.9 to 0.9."""
    server = athena(tolerance=0.001)
    judge: Any = server.method.judge
    judge(0, {"0/0": 0.5, "1/2": 0.5})
    for number, accuracies in enumerate([(0.5, 0.7), (0.5005, 0.9), (0.9, 0.9)], 1):
        train_once(server, 0, 1)
        metrics = judge(number, dict(zip(["0/0", "1/2"], accuracies, strict=True)))

    strategy: Any = server.method.server
    table = {(row["group"], row["class"]): row for row in strategy.findings["detectors"]}
    assert table[0, "0"] == {"group": 0, "class": "0", "accuracy": 0.9, "rounds": 3, "converged": 2}
    assert table[1, "2"] == {"group": 1, "class": "2", "accuracy": 0.9, "rounds": 3, "converged": 3}
    assert table[0, "1"] == {"group": 0, "class": "1", "accuracy": None, "rounds": 3, "converged": None}
    assert metrics["athena.converged"] == 2
    assert strategy.findings["epochs_mean"] == 2.5
    assert strategy.findings["bytes_per_client"] == 8 * 3 * 2.5


def test_accuracies_are_reported_by_class_over_all_groups() -> None:
    metrics: Any = athena().method.judge(0, {"0/0": 0.5, "0/1": 0.6, "1/1": 0.8, "1/2": 0.9})  # type: ignore[misc]

    assert metrics == {
        "athena.detector_accuracy": pytest.approx(0.7),
        "athena.converged": 0,
        "athena.detector_accuracy.0": 0.5,
        "athena.detector_accuracy.1": pytest.approx(0.7),
        "athena.detector_accuracy.2": 0.9,
    }


def test_a_detector_that_nobody_trained_has_not_converged() -> None:
    server = athena()
    judge: Any = server.method.judge
    for number, groups in enumerate([(0, 1), (0,), (0,)], 1):
        train_once(server, *groups)
        judge(number, {"0/0": 0.5 + number / 10, "1/2": 0.7})

    table: Any = server.method.server.findings["detectors"]  # type: ignore[attr-defined]
    assert [(row["rounds"], row["converged"]) for row in table] == [(3, None), (3, None), (1, None), (1, None)]


def test_frozen_detectors_are_not_sent_any_more() -> None:
    server = athena(freeze=True, tolerance=0.1)
    judge: Any = server.method.judge
    for number in (1, 2):
        train_once(server, 0, 1)
        judge(number, {"0/0": 0.9, "0/1": number / 4, "1/1": 0.9, "1/2": 0.9})
    server.round(*[{"samples": 1, "arrays/0/1": {"w": [1.0]}}] * 2)

    assert [list(request.content.array_records) for request in server.requests] == [["arrays/0/1"]] * 2


def test_it_equals_plain_loops() -> None:
    """Groups of two classes: client by client, detector by detector, sample by sample."""
    spec = spec_of(ATHENA, partition={"name": "classes-per-client", "k": 2}, clients=6)
    federation, start = federation_of(spec), initial_model(spec, "group.0.class.0/")
    data = [(federation.x[each.train], federation.y[each.train]) for each in federation.clients]
    detectors = {(group, each): start for group, classes in enumerate([(0, 1), (1, 2)]) for each in classes}
    for _ in range(3):
        for group, label in detectors:
            own = [(x, (y == label).astype(int)) for x, y in data[3 * group : 3 * group + 3]]
            models = [train(x, y, detectors[group, label]) for x, y in own]
            detectors[group, label] = weighted_mean(models, [len(y) for _, y in own])

    result = simulate(spec)

    answers = {}
    for (group, label), (weight, bias) in detectors.items():
        np.testing.assert_allclose(
            result.parameters[f"group.{group}.class.{label}/1.weight"], weight, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(result.parameters[f"group.{group}.class.{label}/1.bias"], bias, rtol=0, atol=1e-12)
        scores = federation.test_x @ weight.T + bias
        answers[group, label] = scores[:, 1] - scores[:, 0]
    best = [answers[0, 0], np.maximum(answers[0, 1], answers[1, 1]), answers[1, 2]]
    last = result.history[-1].metrics
    assert last["accuracy"] == pytest.approx(np.mean(np.argmax(best, 0) == federation.test_y))
    right = [np.mean((answers[key] > 0) == (federation.test_y == key[1])) for key in answers]
    assert last["athena.detector_accuracy"] == pytest.approx(np.mean(right))
    assert last["athena.detector_accuracy.1"] == pytest.approx(np.mean(right[1:3]))


def test_clients_send_the_detectors_of_their_group() -> None:
    """Two each: classes 0 and 1 in one group, 1 and 2 in the other. A reply has three scalars, a request one."""
    spec = spec_of(ATHENA, partition={"name": "classes-per-client", "k": 2}, clients=6)

    result = simulate(spec)

    assert curve(result, "bytes_up")[1:] == [6 * (2 * DETECTOR + 3 * 8)] * 3
    assert curve(result, "bytes_down")[1:] == [6 * (2 * DETECTOR + 8)] * 3
    assert curve(result, "bytes_up")[0] == 6 * (15 + 3) * 8
    assert result.findings["athena"]["detector_bytes"] == DETECTOR


def test_a_run_whose_detectors_are_all_finished_sends_nothing_more() -> None:
    result = simulate(spec_of({**ATHENA, "freeze": True, "tolerance": 1.0}, rounds=4))

    assert [up > 0 for up in curve(result, "bytes_up")] == [True, True, True, False, False]
    assert [record.cohort for record in result.history[3:]] == [(), ()]
    assert curve(result, "accuracy")[2] == curve(result, "accuracy")[4]
    assert {row["rounds"] for row in result.findings["athena"]["detectors"]} == {2}


def test_a_class_that_comes_with_a_late_client_gets_its_detector_then() -> None:
    """The last three clients alone hold class 2."""
    spec = spec_of({**ATHENA, "late_clients": 3, "late_round": 3}, rounds=4)

    result = simulate(spec)

    assert [record.metrics.get("athena.detector_accuracy.2") is not None for record in result.history] == [
        *(False, False, False, True, True)
    ]
    late = result.findings["athena"]["late"]
    rounds = {row["class"]: row["rounds"] for row in result.findings["athena"]["detectors"]}
    assert (late, rounds["0"], rounds["2"]) == ([6, 7, 8], 4, 2)


def test_a_detector_has_one_logit_where_the_model_is_made_for_it() -> None:
    dataset = {"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 30, "test": 6}
    result = simulate(tiny(strategy=ATHENA, model={"name": "detector"}, dataset=dataset, rounds=1))

    last = [name for name in result.parameters if name.startswith("group.0.class.0/")][-1]
    assert result.parameters[last].shape == (1,)


def test_it_is_judged_on_what_clients_hold_out_too() -> None:
    result = simulate(spec_of(ATHENA, evaluation={"on": "clients", "held_out": 0.3}))

    last = result.history[-1]
    assert sorted(last.clients) == list(range(9))
    assert "athena.detector_accuracy" in last.metrics


def test_a_client_is_judged_by_the_detectors_of_its_own_group() -> None:
    """Every group holds one class, so that its single detector has every client's samples right, and says yes to all;
    on the test set the detectors of all groups decide together."""
    both = simulate(spec_of(ATHENA, evaluation={"on": "both", "held_out": 0.3}))
    server = simulate(spec_of(ATHENA, evaluation={"on": "server"}))

    last = both.history[-1].metrics
    assert len(both.findings["athena"]["groups"]) == 3
    assert (last["client_accuracy_mean"], last["athena.detector_accuracy"]) == (1.0, 1.0)
    assert last["accuracy"] < 1
    assert server.history[-1].metrics["athena.detector_accuracy"] < 1


def test_output_biases_alone_can_make_the_groups() -> None:
    """Probes that differ in their weights and agree in their last bias are near each other, and the other way round."""
    probes = {0: ([0.0], [0.0, 0.0]), 1: ([9.0], [0.0, 0.01]), 2: ([0.0], [5.0, 0.0]), 3: ([9.0], [5.0, 0.02])}
    server = Server(
        {**ATHENA, "compare": "output-biases", "eps": 0.0279}, tensors(w=[0.0], b=[0.0, 0.0]), classes=CLASSES
    )
    survey = server.method.survey
    assert survey is not None
    _, metrics = survey.learn({client: tensors(w=w, b=b) for client, (w, b) in probes.items()})

    findings = server.method.server.findings  # type: ignore[attr-defined]
    assert [group["members"] for group in findings["groups"]] == [[0, 1], [2, 3]]
    assert metrics["athena.groups"] == 2


def test_a_model_without_output_biases_is_refused_where_they_are_compared() -> None:
    server = Server({**ATHENA, "compare": "output-biases"}, tensors(w=[0.0]), classes=CLASSES)
    survey = server.method.survey
    assert survey is not None
    with pytest.raises(FederationError, match="has no biases to compare clients by"):
        survey.learn({client: {"w": torch.zeros(2, 2)} for client in range(4)})


@pytest.mark.parametrize(("relative", "converged"), [(False, 2), (True, None)])
def test_the_tolerance_is_in_points_or_a_share_of_the_accuracy_before(relative: bool, converged: int | None) -> None:
    """From 0.1 to 0.1009: less than 0.001 more, and yet 0.9 % of it."""
    server = athena(relative=relative)
    judge = server.method.judge
    assert judge is not None
    for number, accuracy in ((1, 0.1), (2, 0.1009)):
        train_once(server, 0, 1)
        judge(number, dict.fromkeys(("0/0", "0/1", "1/1", "1/2"), accuracy))

    detectors = server.method.server.findings["detectors"]  # type: ignore[attr-defined]
    assert [row["converged"] for row in detectors] == [converged] * 4


@pytest.mark.parametrize("method", ["share-disjoint", "unify"])
def test_the_shared_client_of_hybrid_sharing_belongs_to_a_group(method: str) -> None:
    result = simulate(spec_of(ATHENA, hybrid={"method": method, "ratio": 0.34}))

    groups = result.findings["athena"]["groups"]
    assert sum(-1 in group["members"] for group in groups) == 1
    assert all(record.cohort[0] == -1 for record in result.history[1:])


def test_auto_computes_detectors_as_stacks() -> None:
    assert simulate(tiny(strategy=ATHENA, engine="auto")).provenance["engine"] == "cohort"
