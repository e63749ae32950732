from __future__ import annotations

import math
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, distance, tiny, untimed
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in
from workers.engine.records import RoundRecord
from workers.engine.training.chain import ChainState
from workers.errors import SpecError, StopRequested, TributaryError

ENGINES = ["cohort", "sequential"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_seeded_run_ends_where_it_always_ended(engine: str) -> None:
    """Recorded once. A change means that old results can no longer be repeated."""
    result = simulate(tiny(engine=engine, precision="float32", model={"name": "mlp-50"}))

    train = [1.1363753, 1.0887850, 1.0592927]
    assert curve(result, "train_loss") == pytest.approx(train, abs=1e-6)
    assert curve(result, "loss") == pytest.approx([1.0754089, 1.0526133, 1.0255450, 1.0066150], abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_runs_of_one_spec_are_equal_to_the_bit(engine: str) -> None:
    spec = tiny(engine=engine, precision="float32", client_dropout=0.3, stragglers=0.5)

    one, other = simulate(spec), simulate(spec)

    assert untimed(one) == untimed(other)
    assert distance(one, other) == 0
    assert distance(one, simulate({**spec, "seed": 1})) > 0


def test_round_zero_is_the_evaluation_before_training() -> None:
    records: list[RoundRecord] = []

    result = simulate(tiny(), on_round=records.append)

    assert list(result.history) == records
    assert [record.round for record in records] == [0, 1, 2, 3]
    assert "train_loss" not in records[0].metrics
    assert (records[0].metrics["bytes_up"], records[0].metrics["bytes_down"], records[0].cohort) == (0, 0, ())
    assert {"accuracy", "loss", "f1", "recall.0", "seconds"} <= set(records[0].metrics)


def test_the_confusion_matrix_is_that_of_the_last_evaluation(tmp_path: Path) -> None:
    result = simulate(tiny())
    confusion, last = np.array(result.findings["confusion"]), result.history[-1].metrics

    assert confusion.shape == (3, 3)
    assert np.trace(confusion) / confusion.sum() == pytest.approx(last["accuracy"])
    recalls = np.diag(confusion) / confusion.sum(1)
    assert recalls.tolist() == pytest.approx([last[f"recall.{name}"] for name in range(3)])
    resumed = [simulate(tiny(), checkpoint=tmp_path / "checkpoints").findings for _ in range(2)]
    assert resumed == [result.findings, result.findings]


def test_records_say_who_took_part_and_what_it_cost() -> None:
    """A model of (4 + 1) * 3 float64 values and one integer down; model and three numbers up, for three clients."""
    record = simulate(tiny()).history[1]

    assert len(record.cohort) == 3
    assert set(record.clients) == set(record.cohort)
    assert record.metrics["bytes_down"] == 3 * (15 * 8 + 8)
    assert record.metrics["bytes_up"] == 3 * (15 * 8 + 3 * 8)
    assert record.metrics["bytes_peer"] == 0
    for values in record.clients.values():
        assert values["steps"] == 2 * math.ceil(values["samples"] / 4)
    total = sum(values["samples"] for values in record.clients.values())
    mean = sum(values["train_loss"] * values["samples"] for values in record.clients.values()) / total
    assert record.metrics["train_loss"] == pytest.approx(mean)


def test_seconds_are_told_per_phase() -> None:
    metrics = simulate(tiny()).history[1].metrics

    parts = [metrics[f"seconds_{phase}"] for phase in ("train", "aggregate", "evaluate")]
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(metrics["seconds"])


def test_evaluation_happens_every_n_rounds_and_in_the_last() -> None:
    result = simulate(tiny(rounds=5, evaluation={"every": 2}))

    assert [record.round for record in result.history if "accuracy" in record.metrics] == [0, 2, 4, 5]
    assert len(curve(result, "train_loss")) == 5


def test_evaluation_on_clients_weights_held_out_parts_by_size() -> None:
    record = simulate(tiny(rounds=1, evaluation={"on": "clients", "held_out": 0.4})).history[1]

    evaluated = {client: values for client, values in record.clients.items() if "accuracy" in values}
    assert sorted(evaluated) == [0, 1, 2, 3, 4]
    assert record.metrics["client_accuracy_mean"] == pytest.approx(
        np.mean([values["accuracy"] for values in evaluated.values()])
    )
    assert 0 <= record.metrics["client_accuracy_worst10"] <= record.metrics["client_accuracy_mean"]


def test_evaluation_may_be_left_to_the_cohort() -> None:
    record = simulate(tiny(rounds=1, evaluation={"on": "clients", "clients": "cohort"})).history[1]

    assert {client for client, values in record.clients.items() if "accuracy" in values} <= set(record.cohort)


def test_data_without_a_test_set_are_evaluated_on_what_clients_hold_out() -> None:
    dataset = {"name": "blobs", "shape": [4], "classes": 3, "train": 60, "test": 0}

    assert 0 <= simulate(tiny(dataset=dataset, rounds=1)).history[1].metrics["accuracy"] <= 1


def test_a_client_that_drops_out_is_reported_and_does_not_count() -> None:
    result = simulate(tiny(client_dropout=0.5, rounds=8))

    failures = curve(result, "failures")
    assert failures
    for record in result.history[1:]:
        failed = [client for client, values in record.clients.items() if "failed" in values]
        assert record.metrics.get("failures", 0) == len(failed)
        assert record.metrics["bytes_up"] == (3 - len(failed)) * (15 * 8 + 3 * 8)


def test_a_round_in_which_everyone_drops_out_keeps_the_model() -> None:
    result = simulate(tiny(client_dropout=0.999, rounds=1))

    assert result.history[1].metrics["failures"] == 3
    assert "train_loss" not in result.history[1].metrics
    assert result.history[1].metrics["loss"] == result.history[0].metrics["loss"]


def test_stragglers_take_fewer_steps() -> None:
    whole, part = simulate(tiny(cohort=None, rounds=1)), simulate(tiny(cohort=None, rounds=1, stragglers=0.4))

    slower = [
        client
        for client, values in part.history[1].clients.items()
        if values["steps"] < whole.history[1].clients[client]["steps"]
    ]
    assert len(slower) == 2


def test_it_ends_at_the_target_accuracy() -> None:
    result = simulate(tiny(rounds=50, stop={"target_accuracy": 0.3}))

    assert result.history[-1].metrics["accuracy"] >= 0.3
    assert len(result.history) < 51
    assert all(record.metrics["accuracy"] < 0.3 for record in result.history[1:-1])


def test_it_ends_when_the_loss_has_not_improved_for_a_while() -> None:
    local = {"batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e6}}

    result = simulate(tiny(rounds=50, local=local, stop={"patience": 3}))

    losses = curve(result, "loss")
    assert min(range(len(losses)), key=lambda at: losses[at]) == len(losses) - 4


def test_a_diverged_run_is_a_result() -> None:
    local = {"epochs": 5, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e30}}

    result = simulate(tiny(model={"name": "mlp-50"}, local=local, precision="float32"))

    assert len(result.history) == 4
    assert math.isnan(result.history[-1].metrics["loss"])
    assert math.isnan(result.history[-1].metrics["train_loss"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strategy", load_catalog().strategies)
def test_a_stopped_run_goes_on_and_ends_bit_equal(strategy: str, engine: str, tmp_path: Path) -> None:
    options = {"every": 3} if strategy == "fedavg" else {}
    spec = tiny(strategy={"name": strategy, **options}, rounds=6, engine="auto", precision="float32")
    whole = simulate(spec, engine=engine)
    records: list[RoundRecord] = []
    polls = count()

    def second_step_after_round_three() -> bool:
        return len(records) > 3 and next(polls) == 1

    with pytest.raises(StopRequested):
        simulate(
            spec,
            checkpoint=CheckpointPolicy(tmp_path, every=2),
            on_round=records.append,
            stop=second_step_after_round_three,
            engine=engine,
        )
    policy = CheckpointPolicy(tmp_path, every=2, resume=checkpoints_in(tmp_path))
    resumed = simulate(spec, checkpoint=policy)

    assert policy.resume
    assert resumed.provenance["engine"] == engine
    assert untimed(resumed) == untimed(whole)
    assert distance(resumed, whole) == 0


def test_a_stop_is_honoured_within_one_local_step(tmp_path: Path) -> None:
    polls = count(1)

    with pytest.raises(StopRequested, match="round 1, at local step 3"):
        simulate(tiny(), stop=lambda: next(polls) == 3)


def test_a_run_that_is_short_of_memory_says_what_to_set_and_halves_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    from workers.engine.training import trainer

    sizes = []

    def never_fits(chain: Any, state: ChainState, *rest: Any) -> Any:
        sizes.append(len(state.params[0]))
        raise torch.OutOfMemoryError("too many clients")

    monkeypatch.setattr(trainer, "train_chain", never_fits)

    with pytest.raises(TributaryError, match=r"5 clients does not fit into memory\. Set engine: sequential, "):
        simulate(tiny(cohort=None))
    assert sizes == [5, 5]


def test_auto_tells_its_choice_before_the_first_round() -> None:
    messages: list[str] = []

    result = simulate(
        tiny(engine="auto"), on_start=messages.append, on_round=lambda record: messages.append(str(record.round))
    )

    assert messages == ["cohort", "0", "1", "2", "3"]
    assert result.provenance["engine"] == "cohort"
    assert distance(result, simulate(tiny(engine="cohort"))) == 0


def problems(**changes: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        simulate(tiny(**changes))
    return {problem.path: problem.message for problem in caught.value.errors}


def test_wrong_specs_are_refused_with_paths() -> None:
    assert problems(colour="red")["colour"].startswith("Unknown field. Choose one of dataset, model, strategy,")
    assert "rounds" in problems(rounds=0)
    assert "model" in problems(model={"name": "lenet"})
    assert "cohort" in problems(cohort=6)
    assert "fraction" in problems(fraction=0.0)
    assert "local.optimizer" in problems(strategy={"name": "scaffold"}, local={"optimizer": {"name": "adam"}})
    assert "local.optimizer" in problems(strategy={"name": "fednova"}, local={"optimizer": {"name": "adamw"}})


def test_batch_statistics_of_one_sample_are_refused() -> None:
    refusals = problems(model={"name": "mlp-50", "norm": "batch"}, local={"batch_size": 1})

    assert refusals == {"local.batch_size": "A model with batch statistics needs batches of 2 or more."}


def test_a_fraction_below_one_client_takes_one() -> None:
    assert len(simulate(tiny(cohort=None, fraction=0.01)).history[1].cohort) == 1


def test_a_batch_larger_than_the_data_is_all_of_it() -> None:
    record = simulate(tiny(rounds=1, local={"epochs": 1, "batch_size": 10_000})).history[1]

    assert [values["steps"] for values in record.clients.values()] == [1, 1, 1]


def test_an_unknown_device_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(TributaryError, match="Choose auto, cpu or cuda:N"):
        simulate(tiny(), device="abacus")


def test_the_shared_client_of_hybrid_sharing_is_always_there() -> None:
    result = simulate(tiny(hybrid={"method": "share-disjoint", "ratio": 0.5}, client_dropout=0.5))

    assert all(record.cohort[0] == -1 for record in result.history[1:])
    assert all("failed" not in record.clients[-1] for record in result.history[1:])
    assert result.history[0].metrics["bytes_up"] > 0
