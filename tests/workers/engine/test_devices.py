"""What every type of device promises, asked of each that this machine has: on a machine with a GPU it is asked too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.engine.tiny import curve, distance, tiny, untimed
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in
from workers.engine.execution.accelerator import accelerator_problem, device_types
from workers.engine.records import Result

ADAMW = {"name": "adamw", "lr": 0.01}
LOCAL = {"epochs": 2, "batch_size": 8, "optimizer": ADAMW}
PICTURES = {"name": "blobs", "shape": [1, 16, 16], "classes": 3, "train": 60, "test": 12}
SPECS: dict[str, dict[str, Any]] = {
    "chain": {"model": {"name": "mlp-50"}, "local": LOCAL},
    "dropout": {"model": {"name": "mlp-50", "dropout": 0.5}, "local": LOCAL},
    "statistics": {"model": {"name": "mlp-50", "norm": "batch"}, "local": LOCAL},
    "convolutions": {"model": {"name": "lenet"}, "dataset": PICTURES, "local": LOCAL},
    "control variates": {"strategy": {"name": "scaffold"}},
    "server moments": {"strategy": {"name": "fedadam"}},
}
FLOAT32_ONLY = ("mps",)
DEVICES = device_types()
devices = pytest.mark.parametrize("device", DEVICES)
specs = pytest.mark.parametrize("changes", SPECS.values(), ids=SPECS)


def finest_precision(device: str) -> tuple[str, float]:
    """With what rounding alone may move after three rounds."""
    return ("float32", 1e-3) if device in FLOAT32_ONLY else ("float64", 1e-8)


def test_every_machine_has_a_cpu() -> None:
    assert DEVICES[0] == "cpu"
    assert [accelerator_problem(device) for device in DEVICES] == [None] * len(DEVICES)


@devices
@specs
@pytest.mark.parametrize("engine", ["cohort", "sequential"])
def test_one_spec_twice_is_equal_to_the_bit(device: str, changes: dict[str, Any], engine: str) -> None:
    spec = tiny(**changes, engine=engine, precision="float32")

    first, second = simulate(spec, device=device), simulate(spec, device=device)

    assert untimed(first) == untimed(second)
    assert distance(first, second) == 0


@devices
@specs
def test_a_cohort_ends_where_one_client_at_a_time_ends(device: str, changes: dict[str, Any]) -> None:
    precision, tolerance = finest_precision(device)

    cohort, alone = (
        simulate(tiny(**changes, engine=engine, precision=precision), device=device)
        for engine in ("cohort", "sequential")
    )

    assert distance(cohort, alone) < tolerance


@devices
@specs
def test_every_device_ends_where_a_cpu_ends(device: str, changes: dict[str, Any]) -> None:
    precision, tolerance = finest_precision(device)
    spec = tiny(**changes, precision=precision)

    here, on_cpu = simulate(spec, device=device), simulate(spec, device="cpu")

    assert distance(here, on_cpu) < tolerance
    assert curve(here, "loss") == pytest.approx(curve(on_cpu, "loss"), abs=tolerance)


@devices
def test_threads_change_no_bit(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_with(threads: str) -> Result:
        monkeypatch.setenv("TRIBUTARY_THREADS", threads)
        return simulate(tiny(**SPECS["convolutions"], cohort=None, precision="float32"), device=device)

    assert distance(run_with("1"), run_with("4")) == 0


@devices
def test_a_resumed_run_ends_equal_to_the_bit(device: str, tmp_path: Path) -> None:
    spec = tiny(**SPECS["server moments"], precision="float32")
    whole = simulate(spec, device=device, checkpoint=CheckpointPolicy(tmp_path, every=2))

    resumed = simulate(spec, device=device, checkpoint=tmp_path)

    assert [path.name for path in checkpoints_in(tmp_path)][:1] == ["round-00000002"]
    assert untimed(resumed) == untimed(whole)
    assert distance(resumed, whole) == 0


@devices
def test_its_provenance_names_the_device(device: str) -> None:
    provenance = simulate(tiny(precision="float32"), device=device).provenance

    assert provenance["device"].partition(":")[0] == device
    assert provenance["device_name"]
