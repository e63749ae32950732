"""When a run ends before its last round, and on which data that is decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.workers.engine.tiny import curve, tiny
from workers.engine import simulate
from workers.engine.federation import make_federation
from workers.engine.records import RoundRecord
from workers.engine.server.loop import stops_early
from workers.engine.setup import make_setup
from workers.errors import FederationError
from workers.spec import parse_run


def history(**curves: list[float]) -> list[RoundRecord]:
    return [
        RoundRecord(number, dict(zip(curves, values, strict=True)), ())
        for number, values in enumerate(zip(*curves.values(), strict=True))
    ]


def patient(**evaluation: Any) -> Any:
    return parse_run(tiny(stop={"patience": 2}, evaluation=evaluation))


def test_patience_watches_the_validation_loss_where_there_is_one() -> None:
    falling, rising = [0.9, 0.8, 0.7], [0.7, 0.8, 0.9]
    assert not stops_early(patient(validation=0.2), history(loss=rising, validation_loss=falling))
    assert stops_early(patient(validation=0.2), history(loss=falling, validation_loss=rising))


def test_without_validation_patience_watches_the_test_loss() -> None:
    assert stops_early(patient(), history(loss=[0.7, 0.8, 0.9]))
    assert not stops_early(patient(), history(loss=[0.9, 0.8, 0.7]))


def test_the_validation_loss_is_the_models_mean_loss_on_all_validation_parts() -> None:
    spec = tiny(stop={"patience": 50}, evaluation={"validation": 0.3}, rounds=2)
    federation, result = make_federation(parse_run(spec)), simulate(spec)
    chosen = np.concatenate([client.validation for client in federation.clients])
    weight, bias = (torch.from_numpy(result.parameters[name]) for name in result.parameters)
    logits = torch.from_numpy(federation.x[chosen]).double() @ weight.T + bias

    assert len(curve(result, "validation_loss")) == 3
    expected = float(cross_entropy(logits, torch.from_numpy(federation.y[chosen])))
    assert result.history[-1].metrics["validation_loss"] == pytest.approx(expected, abs=1e-12)


def test_a_run_that_nothing_watches_spends_no_time_on_validation() -> None:
    assert curve(simulate(tiny(evaluation={"validation": 0.3})), "validation_loss") == []


def test_clients_with_a_model_of_their_own_are_watched_with_it() -> None:
    setup = make_setup(patient(validation=0.3), torch.device("cpu"))
    models = [{name: value + client for name, value in setup.initial.items()} for client in range(5)]
    each = {
        client.index: setup.evaluator.scores(models[client.index], setup.evaluator.samples, client.validation).loss
        for client in setup.federation.clients
        if len(client.validation)
    }
    sizes = [len(client.validation) for client in setup.federation.clients if len(client.validation)]

    assert len(set(each.values())) == len(each) > 1
    assert setup.evaluator.validation_loss(models.__getitem__) == pytest.approx(
        np.average(list(each.values()), weights=sizes), abs=1e-12
    )
    personal = tiny(strategy={"name": "local-only"}, stop={"patience": 50}, evaluation={"validation": 0.3})
    assert len(curve(simulate(personal), "validation_loss")) == 4


def test_patience_with_clients_too_small_for_a_validation_part_is_refused() -> None:
    with pytest.raises(FederationError, match=r"raise evaluation\.validation"):
        simulate(tiny(stop={"patience": 2}, evaluation={"validation": 0.01}))
