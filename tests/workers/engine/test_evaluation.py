"""Where a run is evaluated, and what that may cost in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import tiny, untimed
from workers.engine import evaluation, simulate
from workers.engine.evaluation import BatchScores, Evaluator, fairness_metrics
from workers.engine.messages.arrays import Tensors
from workers.engine.records import Result
from workers.engine.setup import make_setup
from workers.spec import parse_run

FAIRNESS = {"client_accuracy_mean", "client_accuracy_std", "client_accuracy_worst10"}
PERSONAL = {"strategy": {"name": "local-only"}, "cohort": None}


def run(on: str, **changes: Any) -> Result:
    return simulate(tiny(evaluation={"on": on, "held_out": 0.4}, **changes))


def evaluated(result: Result) -> list[dict[int, float]]:
    """Each client's own accuracy, round by round."""
    return [
        {client: values["accuracy"] for client, values in record.clients.items() if "accuracy" in values}
        for record in result.history
    ]


def only(metrics: dict[str, float], names: set[str]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name in names}


@pytest.mark.parametrize("changes", [{}, PERSONAL], ids=["one model", "a model for each client"])
def test_both_has_the_clients_numbers_of_a_run_evaluated_on_clients(changes: dict[str, Any]) -> None:
    """Both hold the same parts out, so they train the same models."""
    both, clients = run("both", **changes), run("clients", **changes)

    assert evaluated(both) == evaluated(clients)
    assert [len(accuracies) for accuracies in evaluated(both)] == [5, 5, 5, 5]
    for one, other in zip(untimed(both), untimed(clients), strict=True):
        assert only(one, FAIRNESS) == only(other, FAIRNESS)
        assert only(one, {"train_loss"}) == only(other, {"train_loss"})


def test_both_has_the_test_sets_numbers_of_an_evaluation_on_the_server() -> None:
    """Of the same models, over the same clients."""
    device, both = torch.device("cpu"), parse_run(tiny(evaluation={"on": "both", "held_out": 0.4}))
    one = make_setup(both, device)
    other = make_setup(parse_run(tiny()), device, federation=one.federation)
    models = [{name: value + client for name, value in one.initial.items()} for client in range(5)]

    for result, expected in (
        (one.evaluator.evaluate(models[1], ()), other.evaluator.evaluate(models[1], ())),
        (
            one.evaluator.evaluate_personal(models.__getitem__, ()),
            other.evaluator.evaluate_personal(models.__getitem__, ()),
        ),
    ):
        assert without_fairness(result.metrics) == without_fairness(expected.metrics)
        assert set(result.metrics) >= {"accuracy", "loss", "f1", "recall.0"} | FAIRNESS
        assert np.array_equal(result.confusion, expected.confusion)


def test_both_by_hand() -> None:
    """The final model on the 12 test samples, and on what each client holds out."""
    spec = parse_run(tiny(evaluation={"on": "both", "held_out": 0.4}))
    result, federation = simulate(spec), make_setup(spec, torch.device("cpu")).federation
    weight, bias = result.parameters.values()

    def accuracy(x: Any, y: Any) -> float:
        return float(((x.astype("float64") @ weight.T + bias).argmax(1) == y).mean())

    own = {
        client.index: accuracy(federation.x[client.held_out], federation.y[client.held_out])
        for client in federation.clients
    }
    last = result.history[-1]
    assert last.metrics["accuracy"] == accuracy(federation.test_x, federation.test_y)
    assert evaluated(result)[-1] == own
    assert only(dict(last.metrics), FAIRNESS) == fairness_metrics(
        {client: {"accuracy": value} for client, value in own.items()}
    )


def test_both_may_leave_the_clients_part_to_the_cohort() -> None:
    first, last = (
        simulate(tiny(rounds=1, evaluation={"on": "both", "clients": "cohort"})).history[at] for at in (0, 1)
    )
    assert "accuracy" in first.metrics
    assert not FAIRNESS & set(first.metrics)
    assert {client for client, values in last.clients.items() if "accuracy" in values} <= set(last.cohort)


def without_fairness(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name not in FAIRNESS}


CLIENTS, TEST_SAMPLES = 40, 5_000


def many_clients() -> tuple[Evaluator, list[Tensors]]:
    """40 clients with models of their own, 5,000 test samples of 4 values in 3 classes."""
    dataset = {"name": "blobs", "shape": [4], "classes": 3, "train": 400, "test": TEST_SAMPLES}
    spec = parse_run(tiny(dataset=dataset, clients=CLIENTS, cohort=None, partition={"name": "iid"}))
    setup = make_setup(spec, torch.device("cpu"))
    generator = torch.Generator().manual_seed(3)
    models = [
        {
            name: torch.randn(value.shape, generator=generator, dtype=value.dtype)
            for name, value in setup.initial.items()
        }
        for _ in range(CLIENTS)
    ]
    return setup.evaluator, models


def test_models_of_many_clients_are_scored_one_after_another() -> None:
    """All scores at once were 40 x 5,000 x 24 bytes = 4.8 MB; those of one client are 0.12 MB."""
    evaluator, models = many_clients()
    tracemalloc.start()
    try:
        result = evaluator.evaluate_personal(models.__getitem__, ())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(result.clients) == CLIENTS
    assert result.confusion is not None
    assert result.confusion.sum() == CLIENTS * TEST_SAMPLES
    assert peak < 1_000_000


def test_a_batch_is_of_one_client_and_its_size_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, models = many_clients()
    whole, batches = evaluator.evaluate_personal(models.__getitem__, ()), []
    score = evaluator.score

    def counted(model: Tensors, x: torch.Tensor, y: torch.Tensor) -> BatchScores:
        batches.append((len(x), x.numel()))
        return score(model, x, y)

    monkeypatch.setattr(evaluator, "score", counted)
    monkeypatch.setattr(evaluation, "CHAIN_VALUES", 4 * 1_024)
    small = evaluator.evaluate_personal(models.__getitem__, ())

    assert len(batches) == CLIENTS * 5
    assert max(batches) == (1_024, 4_096)
    assert (small.metrics, small.clients) == (whole.metrics, whole.clients)


def test_a_model_that_clients_share_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal tensors in dictionaries of their own, as clients have that never trained."""
    evaluator, models = many_clients()
    calls, score = [], evaluator.score
    monkeypatch.setattr(evaluator, "score", lambda model, x, y: calls.append(1) or score(model, x, y))

    result = evaluator.evaluate_personal(lambda client: dict(models[client % 2]), ())

    assert len(calls) == 2
    assert [result.clients[client] for client in (2, 39)] == [result.clients[client] for client in (0, 1)]


def test_held_out_parts_are_copied_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_run(tiny(evaluation={"on": "clients", "held_out": 0.4}))
    setup = make_setup(spec, torch.device("cpu"))
    sizes, score = [], setup.evaluator.score
    whole = setup.evaluator.evaluate(setup.initial, ())
    monkeypatch.setattr(setup.evaluator, "score", lambda model, x, y: sizes.append(len(x)) or score(model, x, y))
    monkeypatch.setattr(evaluation, "CHAIN_VALUES", 4 * 8)

    small = setup.evaluator.evaluate(setup.initial, ())

    assert max(sizes) == 8
    assert small.metrics["accuracy"] == whole.metrics["accuracy"]
