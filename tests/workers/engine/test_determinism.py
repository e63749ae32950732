"""One spec, one device type, one curve: whatever the threads, the load and the memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread
from typing import Any

import pytest
import torch

from tests.workers.engine.tiny import distance, tiny, untimed
from workers.engine import evaluation, simulate
from workers.engine.execution import executors
from workers.engine.execution.executors import CohortExecutor, ExecutorError, engine_for
from workers.engine.execution.memory import largest_stack
from workers.engine.records import Result
from workers.engine.setup import Setup, make_setup
from workers.engine.training.trainer import Assignment, Outcome
from workers.spec import parse_run

ADAMW = {"name": "adamw", "lr": 0.01}
LARGE_BATCHES = {"epochs": 1, "batch_size": 32, "optimizer": ADAMW}
CPU = torch.device("cpu")
MLP: dict[str, Any] = {
    "dataset": {"name": "blobs", "shape": [64], "classes": 10, "train": 1200, "test": 100},
    "model": {"name": "mlp-50"},
    "partition": {"name": "quantity-dirichlet", "beta": 3.0, "min_size": 2},
    "clients": 60,
    "local": {"epochs": 1, "batch_size": 64, "optimizer": ADAMW},
}
CNN: dict[str, Any] = {
    "dataset": {"name": "blobs", "shape": [1, 28, 28], "classes": 10, "train": 100, "test": 100},
    "model": {"name": "cnn-32-64-100"},
    "partition": {"name": "quantity-dirichlet", "beta": 1.0, "min_size": 5},
    "clients": 8,
    "local": {"epochs": 1, "batch_size": 8, "optimizer": ADAMW},
}
LENET: dict[str, Any] = {
    **CNN,
    "dataset": {"name": "blobs", "shape": [1, 28, 28], "classes": 10, "train": 100, "test": 60},
    "model": {"name": "lenet"},
}


def spec_of(changes: dict[str, Any], **further: Any) -> dict[str, Any]:
    return tiny(**{"cohort": None, "rounds": 2, "precision": "float32", "engine": "auto"} | changes | further)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """As a worker with so many sets them, for its clients and for everything else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIBUTARY_THREADS", str(count))
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def load_of_others(processes: int = 2) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def simulate_with_threads(spec: dict[str, Any], threads: int) -> Result:
    with torch_threads(threads):
        return simulate(spec)


def assert_one_curve(results: list[Result]) -> None:
    first = results[0]
    assert {result.provenance["engine"] for result in results} == {first.provenance["engine"]}
    assert [untimed(result) for result in results] == [untimed(first)] * len(results)
    assert [distance(first, result) for result in results] == [0] * len(results)


@pytest.mark.parametrize("changes", [MLP, LENET], ids=["mlp", "cnn"])
def test_auto_gives_one_curve_ten_times_with_any_threads_and_under_load(changes: dict[str, Any]) -> None:
    spec = spec_of(changes)

    results = [simulate_with_threads(spec, threads) for threads in (1, 2, 4, 1, 2)]
    with load_of_others():
        results += [simulate_with_threads(spec, threads) for threads in (4, 1, 2, 4, 1)]

    assert_one_curve(results)


@pytest.mark.parametrize("engine", ["cohort", "sequential"])
@pytest.mark.parametrize("changes", [MLP, CNN], ids=["mlp", "cnn"])
def test_threads_change_no_bit_on_either_path(changes: dict[str, Any], engine: str) -> None:
    spec = spec_of(changes, engine=engine)

    assert_one_curve([simulate_with_threads(spec, threads) for threads in (1, 2, 4)])


def test_threads_change_no_bit_of_an_evaluation() -> None:
    """Convolutions of a large batch are cut by threads, which moved the last bits of the test loss."""
    spec = spec_of(CNN, rounds=1, engine="sequential")
    spec["dataset"] = {**spec["dataset"], "test": 2000}

    assert_one_curve([simulate_with_threads(spec, threads) for threads in (1, 4)])


def test_batches_of_an_evaluation_are_spread_over_threads_and_end_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PICTURE_VALUES", 10 * 28 * 28)
    spec = spec_of(LENET, rounds=1)
    threads: set[str] = set()
    forward = evaluation.Evaluator.forward

    def observed_forward(self: evaluation.Evaluator, model: Any, x: torch.Tensor) -> torch.Tensor:
        threads.add(current_thread().name.rpartition("_")[0])
        return forward(self, model, x)

    monkeypatch.setattr(evaluation.Evaluator, "forward", observed_forward)
    results = [simulate_with_threads(spec, 4)]
    assert threads == {"evaluation"}

    assert_one_curve([*results, *(simulate_with_threads(spec, count) for count in (1, 2))])


def test_two_threads_have_a_stack_each_where_the_work_is_heavy() -> None:
    setup = setup_of(MLP)
    executor = CohortExecutor(setup.trainer, threads=1)
    executor.close()

    assert len(executor.groups(setup.federation.clients)) == 2
    assert len(executor.groups(setup.federation.clients[:5])) == 1


def setup_of(changes: dict[str, Any], **further: Any) -> Setup:
    return make_setup(parse_run(spec_of(changes, **further)), CPU)


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({"model": {"name": "logistic"}}, "cohort"),
        ({"model": {"name": "mlp-50"}, "clients": 1, "partition": {"name": "iid"}}, "cohort"),
        ({"model": {"name": "mlp-50", "norm": "batch"}}, "cohort"),
        ({"model": {"name": "mlp-50", "norm": "batch"}, "cohort": 1}, "sequential"),
        (LENET, "cohort"),
        ({**LENET, "cohort": 1}, "sequential"),
        ({**CNN, "local": LARGE_BATCHES}, "cohort"),
        ({**CNN, "cohort": 1}, "cohort"),
        ({**CNN, "local": LARGE_BATCHES, "model": {"name": "cnn-32-64-512", "activation": "gelu"}}, "sequential"),
    ],
    ids=[
        "chain",
        "chain-alone",
        "statistics",
        "statistics-alone",
        "small-cnn",
        "small-cnn-alone",
        "plain-cnn",
        "plain-cnn-alone",
        "large-cnn",
    ],
)
def test_auto_follows_from_the_spec(changes: dict[str, Any], engine: str) -> None:
    with torch_threads(1):
        assert engine_for(setup_of(changes)) == engine
    with torch_threads(4), load_of_others():
        assert engine_for(setup_of(changes)) == engine


def test_the_size_of_a_stack_follows_from_spec_and_device_type_not_from_free_memory() -> None:
    """lenet on 28 x 28 in batches of 10: 48 MiB of activations are 85 clients."""
    lenet = {**LENET, "local": {"epochs": 1, "batch_size": 10, "optimizer": ADAMW}}

    assert largest_stack(setup_of(lenet).trainer) == 85
    assert largest_stack(setup_of(lenet, precision="float64").trainer) == 42


def test_a_stack_that_does_not_fit_beside_others_is_computed_alone_and_ends_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup, started = setup_of(MLP), []
    whole = train_all(setup)

    def train_group(self: CohortExecutor, assignment: Assignment) -> list[Outcome]:
        started.append(len(assignment.clients))
        if len(started) == 1:
            raise torch.OutOfMemoryError("Tried to allocate.")
        return executors.ThreadedExecutor.train_group(self, assignment)

    monkeypatch.setattr(CohortExecutor, "train_group", train_group)
    again = train_all(setup)

    assert sorted(started) == sorted([started[0], *(len(outcome.clients) for outcome in whole)])
    for one, other in zip(whole, again, strict=True):
        assert one.clients == other.clients
        assert all(torch.equal(one.model[name], other.model[name]) for name in one.model)


def test_a_stack_that_does_not_fit_alone_is_refused_because_a_smaller_one_has_other_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train_group(self: CohortExecutor, assignment: Assignment) -> list[Outcome]:
        raise torch.OutOfMemoryError("Tried to allocate 2 GiB.")

    monkeypatch.setattr(CohortExecutor, "train_group", train_group)

    with pytest.raises(ExecutorError, match="clients does not fit into memory"):
        train_all(setup_of(MLP))


def train_all(setup: Setup) -> list[Outcome]:
    executor = CohortExecutor(setup.trainer, threads=2)
    try:
        return executor.train(Assignment(1, setup.federation.clients, setup.initial))
    finally:
        executor.close()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_no_multiplication_is_rounded_to_tf32(precision: str) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True

    setup_of(MLP, precision=precision)

    assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (False, False)
