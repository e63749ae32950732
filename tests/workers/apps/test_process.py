"""Flower apps, unchanged, in a process of their own: the numbers of Flower's own simulation, again and again."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.workers.apps.driver import AppProcess, example, hostile, run_app
from tests.workers.apps.reference import FILE
from workers.apps.package import read_package

REFERENCE: dict[str, Any] = json.loads(FILE.read_text())["apps"]
TOLERANCE = 1e-6
EXAMPLES = sorted(path.name for path in (FILE.parent / "examples").iterdir())
WITH_STRATEGY = [name for name in EXAMPLES if REFERENCE[name]["rounds"]]


def expected_metrics(name: str) -> dict[int, dict[str, float | None]]:
    """Flower's own numbers under Tributary's names: train metrics apart, lists spread."""
    parts, server = REFERENCE[name]["metrics"], set[str]()
    rounds: dict[int, dict[str, float | None]] = {}
    for part in ("server", "train", "evaluate"):
        for number, metrics in parts[part].items():
            for key, value in metrics.items():
                for place, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    named = key if place is None else f"{key}.{place}"
                    if part == "train" and not key.startswith("train"):
                        named = f"train_{named}"
                    if part == "server":
                        server.add(named)
                    elif part == "evaluate" and named in server:
                        named = f"client_{named}"
                    rounds.setdefault(int(number), {})[named] = each
    return rounds


@pytest.mark.parametrize("name", WITH_STRATEGY)
def test_an_app_gives_the_rounds_keys_and_numbers_of_flowers_own_simulation(name: str, tmp_path: Path) -> None:
    seed = {"torch-batchnorm-lr-schedule": 7}.get(name, 0)
    result = run_app(example(name), tmp_path, seed=seed)
    assert result.end["event"] == "done", result.text
    expected = expected_metrics(name)
    ours = {number: record["metrics"] for number, record in result.rounds.items()}
    assert {number: set(metrics) - {"bytes_up", "bytes_down", "seconds"} for number, metrics in ours.items()} == {
        number: set(metrics) for number, metrics in expected.items()
    }
    if REFERENCE[name]["deterministic"]:
        for number, metrics in expected.items():
            for key, value in metrics.items():
                assert ours[number][key] == pytest.approx(value, rel=TOLERANCE, abs=1e-9), (number, key)


def test_a_main_without_a_strategy_has_its_own_rounds_and_leaves_its_findings(tmp_path: Path) -> None:
    result = run_app(example("federated-analytics"), tmp_path)
    assert sorted(result.rounds) == [1, 2]
    assert result.end["findings"]["server_state"] == REFERENCE["federated-analytics"]["state"]
    # Counts of the first feature over all five clients are 11, 30, ...: each has a fifth of them on average.
    assert result.rounds[1]["metrics"]["counts.0"] == 11 / 5
    assert result.rounds[1]["metrics"]["counts.1"] == 30 / 5
    assert result.end["artifact"] is None


def test_actions_of_a_message_type_and_lifespans_work(tmp_path: Path) -> None:
    result = run_app(example("actions-and-lifespans"), tmp_path)
    state = REFERENCE["actions-and-lifespans"]["state"]
    losses = [state[f"round-{number}"]["loss"] for number in (1, 2, 3)]
    assert [result.rounds[number]["metrics"]["train_loss"] for number in (1, 2, 3)] == pytest.approx(losses)
    assert result.end["findings"]["server_state"]["tuned"] == pytest.approx(state["tuned"])


@pytest.mark.parametrize("name", ["numpy-global-random", "torch-digits"])
def test_the_same_seed_gives_the_same_bits_and_another_one_others(name: str, tmp_path: Path) -> None:
    config = {"num-server-rounds": 2}
    first = run_app(example(name), tmp_path / "first", seed=3, config=config)
    again = run_app(example(name), tmp_path / "again", seed=3, config=config)
    other = run_app(example(name), tmp_path / "other", seed=4, config=config)
    assert first.end["event"] == again.end["event"] == other.end["event"] == "done"
    assert first.numbers == again.numbers
    assert first.numbers != other.numbers


@pytest.mark.parametrize("name", ["numpy-global-random", "client-state", "legacy-numpyclient"])
def test_a_killed_run_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    config = {"num-server-rounds": 40}
    undisturbed = run_app(example(name), tmp_path / "undisturbed", seed=5, config=config)
    moments, journal, told = random.Random(1), None, {}
    resumed = []
    for _ in range(2):
        attempt = AppProcess(example(name), tmp_path / "killed", seed=5, config=config, resume=journal)
        attempt.wait_for_rounds(len(told) + moments.randint(1, 8))
        attempt.close()
        told |= attempt.result.rounds
        journal = attempt.result.journal
        resumed.append("Resumed" in attempt.result.text)
    last = AppProcess(example(name), tmp_path / "killed", seed=5, config=config, resume=journal).wait()
    assert resumed == [False, True]
    assert "Resumed" in last.text
    assert "anew" not in last.text
    assert last.numbers == undisturbed.numbers
    # Rounds that were told before are told again as they were, with their seconds.
    assert {number: record["metrics"]["seconds"] for number, record in last.rounds.items() if number in told} == {
        number: record["metrics"]["seconds"] for number, record in told.items()
    }


def test_a_stop_ends_the_run_at_once_and_it_goes_on_later(tmp_path: Path) -> None:
    package, config = example("numpy-least-squares"), {"num-server-rounds": 200}
    attempt = AppProcess(package, tmp_path / "stopped", config=config)
    attempt.wait_for_rounds(5)
    attempt.slot.stop()
    stopped = attempt.wait()
    assert stopped.end["event"] == "stopped"
    resumed = run_app(package, tmp_path / "stopped", config=config, resume=stopped.journal)
    assert resumed.numbers == run_app(package, tmp_path / "whole", config=config).numbers


def test_a_server_that_no_seed_repeats_starts_anew_and_says_so(tmp_path: Path) -> None:
    """Its messages carry the clock: stored replies to the old ones are no replies to the new ones."""
    source = example("numpy-least-squares").folder
    folder = tmp_path / "clock"
    copy_with_clock(source, folder)
    attempt = AppProcess(read_package(folder), tmp_path / "run", config={"num-server-rounds": 60})
    attempt.wait_for_rounds(3)
    attempt.close()
    again = run_app(
        read_package(folder), tmp_path / "run", config={"num-server-rounds": 60}, resume=attempt.result.journal
    )
    assert again.end["event"] == "done"
    assert "The run starts anew instead of going on: it sends another train message to client" in again.text
    assert sorted(again.rounds) == list(range(1, 61))


def copy_with_clock(source: Path, target: Path) -> None:
    """The app with a server that puts the clock into what it sends."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    server = next(target.rglob("server_app.py"))
    text = server.read_text()
    server.write_text(
        text
        + "\n\nimport time\nfrom flwr.serverapp import strategy as _s\n_old = _s.FedAvg.configure_train\n"
        + "def _clocked(self, server_round, arrays, config, grid):\n    config['clock'] = time.time_ns()\n"
        + "    return _old(self, server_round, arrays, config, grid)\n_s.FedAvg.configure_train = _clocked\n"
    )


def test_the_last_model_is_saved_and_files_that_the_server_wrote_are_the_runs(tmp_path: Path) -> None:
    result = run_app(example("writes-files"), tmp_path)
    names = sorted(str(path.relative_to(result.files)) for path in result.files.rglob("*") if path.is_file())
    assert names == REFERENCE["writes-files"]["files"]
    saved = load_file(result.end["artifact"])
    own = np.load(result.files / "model.npz")
    assert any(np.array_equal(array, own[own.files[0]]) for array in saved.values())


def test_a_rule_of_the_study_gives_a_metric_our_name_and_unit(tmp_path: Path) -> None:
    rules = {"accuracy": {"source": "r2", "unit": "percent"}}
    plain = run_app(example("numpy-least-squares"), tmp_path / "plain")
    ruled = run_app(example("numpy-least-squares"), tmp_path / "ruled", metrics=rules)
    assert ruled.metric("accuracy") == [value / 100 for value in plain.metric("r2")]
    assert ruled.metric("r2") == []


def test_a_client_that_raises_is_left_out_as_in_flower_and_told(tmp_path: Path) -> None:
    result = run_app(hostile("raises-in-client"), tmp_path)
    assert result.end["event"] == "done"
    assert result.metric("clients_failed") == [1.0, 1.0, 1.0]
    expected = REFERENCE["raises-in-client"]["metrics"]["train"]
    assert result.metric("train_calls") == [expected[number]["calls"] for number in ("1", "2", "3")]
    assert sum(numbers.get("failed", 0.0) for numbers in result.rounds[1]["clients"].values()) == 1.0
    assert "Client " in result.text
    assert "Traceback" in result.text


def test_more_nodes_than_clients_are_not_waited_for(tmp_path: Path) -> None:
    result = run_app(example("numpy-least-squares"), tmp_path, clients=1)
    assert result.end["event"] == "failed"
    assert "waits for more nodes than the run's 1 clients: raise `clients`" in result.end["reason"]


def test_more_processes_change_no_bit(tmp_path: Path) -> None:
    """Once a client took more than 20 ms, batches are computed in as many processes as the worker has threads."""
    config = {"num-server-rounds": 4, "local-epochs": 8, "fraction-train": 1.0}
    one = run_app(example("torch-digits"), tmp_path / "one", config=config)
    two = run_app(example("torch-digits"), tmp_path / "two", config=config, threads=2)
    assert "Clients are computed in 2 processes." in two.text
    assert "Clients are computed" not in one.text
    assert one.numbers == two.numbers


def test_the_same_app_runs_on_flowers_own_backend(tmp_path: Path) -> None:
    """`engine: ray`: Flower's numbers, whose last bits follow the order in which replies come."""
    result = run_app(example("numpy-least-squares"), tmp_path, engine="ray")
    assert result.end["event"] == "done", result.text
    assert (result.end["provenance"]["engine"], result.journal) == ("ray", None)
    expected = expected_metrics("numpy-least-squares")
    assert sorted(result.rounds) == sorted(expected)
    for number, metrics in expected.items():
        for key, value in metrics.items():
            assert result.rounds[number]["metrics"][key] == pytest.approx(value, rel=1e-9), (number, key)
