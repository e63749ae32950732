"""Federations whose samples are made when a round needs them: the same numbers, of few clients at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import distance, untimed
from workers.catalog import load_catalog
from workers.datasets import synthetic
from workers.engine import federation, simulate
from workers.engine.federation import make_federation
from workers.engine.server import loop
from workers.engine.setup import make_setup
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run
from workers.streams import stream


def run(**fields: Any) -> dict[str, Any]:
    return {
        "dataset": {"name": "synthetic", "devices": 40},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
        "partition": {"name": "natural"},
        "clients": 30,
        "cohort": 4,
        "rounds": 3,
        "evaluation": {"on": "clients", "clients": "cohort"},
        **fields,
    }


@pytest.fixture
def on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federation, "ON_DEMAND_VALUES", 0)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"evaluation": {"on": "server"}},
        {"evaluation": {"on": "both", "clients": "cohort", "validation": 0.1}, "strategy": {"name": "fedloss"}},
        {"feature_noise": 0.3, "clients": None},
        {"feature_noise": 0.3, "feature_noise_kind": "deviation"},
        {"client_dropout": 0.4, "stragglers": 0.5},
        {"attack": {"name": "label-flip", "share": 0.4}},
        {"attack": {"name": "backdoor", "share": 0.4}, "evaluation": {"on": "server"}},
        {"strategy": {"name": "clustered-fedavg"}},
        {"strategy": {"name": "centralised"}},
        {"engine": "sequential", "precision": "float64"},
        {"dataset": {"name": "synthetic", "devices": 40, "test_devices": 5}, "evaluation": {"on": "server"}},
    ],
    ids=lambda fields: " ".join(fields),
)
def test_no_bit_differs_from_a_federation_that_is_made_whole(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulate(run(**fields), device="cpu")
    monkeypatch.setattr(federation, "ON_DEMAND_VALUES", 0)
    assert make_federation(parse_run(run(**fields))).make_samples is not None
    cohorts = simulate(run(**fields), device="cpu")
    assert untimed(cohorts) == untimed(whole)
    assert distance(cohorts, whole) == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"hybrid": {"ratio": 0.5}},
        {"partition": {"name": "iid"}},
        {"evaluation": {"on": "clients"}},
        {"evaluation": {"on": "server", "validation": 0.1}, "stop": {"patience": 3}},
    ],
    ids=lambda fields: " ".join(fields),
)
@pytest.mark.usefixtures("on_demand")
def test_what_needs_all_clients_at_once_is_made_whole(fields: dict[str, Any]) -> None:
    assert make_federation(parse_run(run(**fields))).make_samples is None


@pytest.fixture
def made_clients(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    numbers: list[int] = []
    make = synthetic.device_samples

    def count(number: int, *rest: Any) -> Any:
        numbers.append(number)
        return make(number, *rest)

    monkeypatch.setattr(synthetic, "device_samples", count)
    return numbers


@pytest.mark.usefixtures("on_demand")
def test_a_round_makes_its_cohort_once_for_training_and_evaluation(made_clients: list[int]) -> None:
    result = simulate(run(), device="cpu")
    assert sorted(made_clients) == sorted(client for record in result.history for client in record.cohort)
    assert len(made_clients) == 3 * 4


def test_of_a_million_clients_only_the_cohorts_are_made(made_clients: list[int]) -> None:
    million = run(dataset={"name": "synthetic", "devices": 1_000_000}, clients=None, cohort=3, rounds=2)
    setup = make_setup(parse_run(million), torch.device("cpu"))
    result = simulate(million, device="cpu")
    first = np.sort(stream(0, "sampling", round=1).choice(1_000_000, 3, replace=False)).tolist()
    assert (list(result.history[1].cohort), len(result.history[2].cohort)) == (first, 3)
    assert len(made_clients) == 6
    assert len(setup.federation.clients) == 1_000_000
    assert len(setup.federation.clients.remembered) <= 6


def test_a_million_clients_say_what_they_cannot() -> None:
    fields = {
        "partition": {"name": "iid"},
        "hybrid": {"ratio": 0.2},
        "evaluation": {"on": "both", "validation": 0.1},
        "stop": {"patience": 2},
    }
    with pytest.raises(SpecError) as refusal:
        parse_run(run(dataset={"name": "synthetic", "devices": 1_000_000}, clients=None, **fields))
    made = "1,000,000 clients are made when a round needs them"
    assert {each.path: each.message for each in refusal.value.errors} == {
        "partition": f"{made}: take the natural partition, or 100,000 devices at most.",
        "hybrid.ratio": f"{made}, and cannot share data: take ratio 0, or 100,000 devices at most.",
        "evaluation.clients": f"{made}: evaluate on the cohort, or take 100,000 devices at most.",
        "dataset.test_devices": "The test set of 1,000,000 clients does not fit into memory: set 100,000 at most, or "
        "evaluate on clients.",
        "stop.patience": f"{made}, and the validation loss is of all: leave stop.patience out.",
    }


def test_a_test_set_of_the_first_clients_leaves_the_clients_as_they_are() -> None:
    dataset = load_catalog().datasets["synthetic"]
    every, first = (dataset.load(dataset.Params(devices=9, test_devices=tested)) for tested in (None, 2))
    assert np.array_equal(first.train_x, every.train_x)
    assert np.array_equal(first.test_x, every.test_x[every.test_client < 2])
    assert dataset.facts(dataset.Params(devices=9, test_devices=2)).test == len(first.test_y)


def test_the_new_field_leaves_the_identity_of_earlier_specs() -> None:
    spec = run(evaluation={"on": "server"})
    same = {**spec, "dataset": {**spec["dataset"], "test_devices": None}}
    other = {**spec, "dataset": {**spec["dataset"], "test_devices": 7}}
    hashes = [canonical_hash(parse_run(each)) for each in (spec, same, other)]
    assert (hashes[0] == hashes[1], hashes[0] == hashes[2]) == (True, False)


def test_a_history_that_somebody_listens_to_forgets_the_clients_of_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MOST_REMEMBERED_CLIENTS", 8)
    told: list[int] = []
    listened = simulate(run(rounds=5), on_round=lambda record: told.append(len(record.clients)), device="cpu")
    alone = simulate(run(rounds=5), device="cpu")
    assert told == [0, 4, 4, 4, 4, 4]
    assert [len(record.clients) for record in listened.history] == [0, 0, 0, 0, 4, 4]
    assert [len(record.clients) for record in alone.history] == [0, 4, 4, 4, 4, 4]
    assert [len(record.cohort) for record in listened.history] == [0, 4, 4, 4, 4, 4]
