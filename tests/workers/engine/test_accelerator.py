"""Accelerators as far as a machine without one can tell: whose error it was, how much at once, and which one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.workers.engine.tiny import tiny
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in, load_checkpoint, save_checkpoint
from workers.engine.execution.accelerator import accelerator_problem, is_accelerator_error
from workers.engine.execution.executors import EXECUTORS, ThreadedExecutor
from workers.engine.execution.ray_executor import start_request, visible_devices
from workers.engine.execution.threads import stream_count
from workers.engine.setup import make_setup
from workers.engine.training.trainer import Samples, Trainer
from workers.errors import CheckpointError, TributaryError
from workers.spec import canonical_hash, parse_run

STICKY = [
    torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle )`"),
    TributaryError("Round 3: client 2 failed:\ntorch.AcceleratorError: CUDA error: unspecified launch failure"),
]
HARMLESS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    torch.AcceleratorError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x3 and 4x3)"),
    ValueError("The disk has gone."),
]


@pytest.mark.parametrize("error", STICKY, ids=range(len(STICKY)))
def test_an_accelerators_error_is_known_by_its_type_or_its_words(error: Exception) -> None:
    assert is_accelerator_error(error)


@pytest.mark.parametrize("error", HARMLESS, ids=range(len(HARMLESS)))
def test_too_little_memory_and_a_runs_own_errors_leave_the_accelerator_working(error: Exception) -> None:
    assert not is_accelerator_error(error)


def test_an_accelerators_error_is_known_behind_another_one() -> None:
    outer = TributaryError("The round failed.")
    outer.__cause__ = STICKY[0]
    assert is_accelerator_error(outer)
    outer.__cause__ = HARMLESS[0]
    assert not is_accelerator_error(outer)


def test_a_device_that_is_not_there_cannot_compute_and_a_cpu_always_can() -> None:
    assert accelerator_problem("cpu") is None
    assert accelerator_problem(f"cuda:{torch.cuda.device_count()}")


def trainer_on(device: torch.device) -> Trainer:
    trainer = make_setup(parse_run(tiny()), torch.device("cpu")).trainer
    return replace(trainer, samples=Samples(FakeTensor(trainer.samples.x, device), trainer.samples.y))


class FakeTensor(torch.Tensor):
    """Values of a CPU under the name of another device."""

    @staticmethod
    def __new__(cls, values: torch.Tensor, device: torch.device) -> FakeTensor:
        return values.as_subclass(cls)

    def __init__(self, values: torch.Tensor, device: torch.device) -> None:
        self.named_device = device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.named_device


@pytest.mark.parametrize(("device", "streams"), [("cpu", 4), ("cuda:1", 1), ("mps", 1)])
def test_an_accelerator_has_one_stream_of_work_however_many_threads_its_worker_has(
    device: str, streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_THREADS", "4")

    assert stream_count(torch.device(device)) == streams
    for name in ("cohort", "sequential"):
        executor = EXECUTORS[name](trainer_on(torch.device(device)))
        executor.close()
        assert isinstance(executor, ThreadedExecutor)
        assert executor.threads == streams


def test_ray_computes_on_the_gpu_of_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    second = trainer_on(torch.device("cuda:1"))

    assert start_request(second, "folder").device == "cuda:1"
    assert start_request(trainer_on(torch.device("cpu")), "folder").device == "cpu"
    monkeypatch.setenv("TRIBUTARY_RAY_CLIENT_GPUS", "0.5")
    assert start_request(second, "folder").device == "cuda"


def test_a_ray_that_hands_out_gpus_has_none_but_its_workers() -> None:
    second = torch.device("cuda:1")

    assert visible_devices(second, {}) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert visible_devices(second, {"CUDA_VISIBLE_DEVICES": "4,6"}) == {"CUDA_VISIBLE_DEVICES": "6"}
    assert visible_devices(second, {"RAY_ADDRESS": "cluster:6379"}) == {}
    assert visible_devices(torch.device("cpu"), {}) == {}


def test_a_checkpoint_of_another_type_of_device_is_not_used(tmp_path: Path) -> None:
    spec = parse_run(tiny(rounds=4))
    simulate(spec, device="cpu", checkpoint=CheckpointPolicy(tmp_path, every=2))
    newest = checkpoints_in(tmp_path)[0]
    state = load_checkpoint(newest, canonical_hash(spec), "cpu")
    assert (state.round, state.device) == (4, "cpu")
    with pytest.raises(CheckpointError, match=r"round-00000004 was computed on cpu; it is not used on cuda\."):
        load_checkpoint(newest, canonical_hash(spec), "cuda")

    other = CheckpointPolicy(tmp_path / "other")
    save_checkpoint(other, replace(state, device="cuda"))
    rounds: list[int] = []
    simulate(spec, device="cpu", checkpoint=tmp_path / "other", on_round=lambda record: rounds.append(record.round))
    assert rounds == [0, 1, 2, 3, 4]
