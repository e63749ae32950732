"""The file a run leaves is the model whose accuracy it reports: read with the very lines that docs/export.md shows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.numpy import load_file

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import curve, tiny
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy
from workers.engine.records import Result, RoundRecord
from workers.queue.computing import save_model

PAGE = Path(__file__).resolve().parents[3] / "docs" / "export.md"
LOAD, IMPORTS, SEVERAL, GROUPS, DETECTORS = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8").partition("## The model of a run")[2], re.DOTALL | re.M
)
ON_DIGITS = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "partition": {"name": "label-dirichlet", "alpha": 0.3},
    "clients": 6,
    "rounds": 5,
    "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
    "engine": "sequential",
}
STRATEGIES = [
    *({"name": name} for name in load_catalog().strategies),
    {"name": "fedavg", "every": 3},
    {"name": "fedswap", "h1": 2, "h2": 2},
    {"name": "clustered-fedavg", "eps": 0.35, "noise": "nearest"},
    {"name": "athena", "eps": 0.35, "noise": "nearest"},
]


def saved_run(folder: Path, spec: dict[str, Any]) -> Result:
    result = simulate(spec, device="cpu")
    save_model(folder, result.parameters)
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    return result


def accuracy_by_the_documented_lines(folder: Path, strategy: str, result: Result) -> float:
    names: dict[str, Any] = {"findings": result.findings}
    by_client = [*SEVERAL.splitlines(), "accuracy = np.mean(list(accuracies.values()))"]
    lines = {
        "local-only": by_client,
        "fedbn": by_client,
        "fedper": by_client,
        "fedrep": by_client,
        "clustered-fedavg": [*SEVERAL.splitlines(), *GROUPS.splitlines()],
        "ifca": [*SEVERAL.splitlines(), *GROUPS.splitlines()],
        "athena": [*SEVERAL.splitlines(), *DETECTORS.splitlines()],
    }
    load = LOAD.splitlines()
    program = [*load[:2], load[3], *lines[strategy]] if strategy in lines else load
    if strategy == "athena":
        program[1] = program[1].replace("spec.dataset_facts.classes", "2")
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(IMPORTS + "\n".join(program), names)
    finally:
        os.chdir(before)
    return float(names["accuracy"])


def test_five_lines_are_documented() -> None:
    assert len(LOAD.splitlines()) == 5


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: "-".join(map(str, each.values())))
def test_the_documented_lines_get_the_last_accuracy_from_the_saved_file(
    strategy: dict[str, Any], tmp_path: Path
) -> None:
    result = saved_run(tmp_path, {**ON_DIGITS, "strategy": strategy})

    accuracy = accuracy_by_the_documented_lines(tmp_path, strategy["name"], result)

    assert accuracy == pytest.approx(result.history[-1].metrics["accuracy"], abs=1e-9)


def test_every_client_has_its_model_in_the_file_of_local_only(tmp_path: Path) -> None:
    saved_run(tmp_path, tiny(strategy={"name": "local-only"}, hybrid={"method": "share-disjoint", "ratio": 0.5}))

    owners = {name.partition("/")[0] for name in load_file(tmp_path / "model.safetensors")}

    assert owners == {"client.-1", "client.0", "client.1", "client.2", "client.3", "client.4"}


def test_groups_and_detectors_are_named(tmp_path: Path) -> None:
    partition = {"name": "classes-per-client", "k": 1}
    clustered = simulate(tiny(strategy={"name": "clustered-fedavg", "eps": 1000.0}, partition=partition))
    athena = simulate(tiny(strategy={"name": "athena", "eps": 1000.0}, partition=partition))

    assert list(clustered.parameters) == ["group.0/1.weight", "group.0/1.bias"]
    assert sorted({name.partition("/")[0] for name in athena.parameters}) == [
        *("group.0.class.0", "group.0.class.1", "group.0.class.2")
    ]


def test_counters_of_batches_keep_their_shape(tmp_path: Path) -> None:
    dataset = {"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 30, "test": 6}
    spec = tiny(model={"name": "mobilenet"}, dataset=dataset, rounds=1, precision="float32", partition={"name": "iid"})
    result = saved_run(tmp_path, spec)

    counters = {
        name: array.shape for name, array in load_file(tmp_path / "model.safetensors").items() if "num_batches" in name
    }

    assert set(counters.values()) == {()}
    assert accuracy_by_the_documented_lines(tmp_path, "fedavg", result) == result.history[-1].metrics["accuracy"]


@pytest.mark.parametrize("strategy", [{"name": "fedswap"}, {"name": "fedavg", "every": 3}, {"name": "local-only"}])
def test_a_run_that_resumes_after_its_last_round_leaves_the_same_model(
    strategy: dict[str, Any], tmp_path: Path
) -> None:
    spec = tiny(strategy=strategy)
    whole = simulate(spec, checkpoint=CheckpointPolicy(tmp_path, every=1), device="cpu")

    again = simulate(spec, checkpoint=tmp_path, device="cpu")

    assert bits(again) == bits(whole)


def test_a_round_that_nobody_answers_is_evaluated_alike_after_a_crash(tmp_path: Path) -> None:
    """Until there is a new mean of the clients' models the last one is evaluated, in the next attempt too."""
    spec = tiny(strategy={"name": "fedavg", "every": 100}, cohort=1, client_dropout=0.5, rounds=12)
    whole = simulate(spec, device="cpu")
    answered = ["train_loss" in record.metrics for record in whole.history]
    silent = next(number for number in range(3, 13) if answered[number - 1] and not answered[number])

    def crash(record: RoundRecord) -> None:
        if record.round == silent:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(spec, checkpoint=CheckpointPolicy(tmp_path, every=1), on_round=crash, device="cpu")
    resumed = simulate(spec, checkpoint=tmp_path, device="cpu")

    assert curve(resumed, "loss") == curve(whole, "loss")
