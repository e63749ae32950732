"""A trial on made data: some seconds, one number."""

from __future__ import annotations

from typing import Any

import torch

from workers.queue.calibrate import calibrate_spec, trial_spec
from workers.spec import parse_run

SPEC: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedprox"},
    "cohort": 4,
    "local": {"epochs": 7, "batch_size": 8, "optimizer": {"name": "adam"}},
}


def test_a_trial_has_the_same_model_and_batches_on_a_few_clients_with_made_data() -> None:
    trial = trial_spec(parse_run(SPEC))
    assert (trial.dataset.name, trial.dataset_facts.shape, trial.dataset_facts.classes) == ("blobs", (1, 8, 8), 10)
    assert (trial.model.name, trial.local.optimizer.name, trial.local.batch_size) == ("mlp-50", "adam", 8)
    assert (trial.clients, trial.dataset_facts.train, trial.local.epochs) == (4, 96, 1)


def test_a_large_model_is_tried_with_few_steps() -> None:
    trial = trial_spec(parse_run({**SPEC, "dataset": {"name": "cifar10"}, "model": {"name": "resnet18"}}))
    assert (trial.clients, trial.dataset_facts.train) == (2, 16)


def test_a_trial_takes_the_path_that_the_run_will_take_but_starts_no_ray() -> None:
    engines = [
        trial_spec(parse_run({**SPEC, "engine": name})).engine for name in ("auto", "cohort", "sequential", "ray")
    ]
    assert engines == ["auto", "cohort", "sequential", "auto"]


def test_it_answers_each_spec_with_seconds_or_a_reason() -> None:
    assert 0 < calibrate_spec(SPEC)["step"] < 1
    assert calibrate_spec({**SPEC, "rounds": 0})["error"].startswith("SpecError: ")


def test_a_trial_is_made_on_the_device_that_is_asked_about() -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    answer = calibrate_spec(SPEC, missing)
    assert answer == {"error": f"TributaryError: The device {missing} cannot be used here. Choose auto, cpu or cuda:N."}
