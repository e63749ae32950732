"""What a slot uses, read from real processes; the driver's tool is a script that answers as the real one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from workers.memory import allowed_memory
from workers.queue import gauges
from workers.queue.gauges import Gauge

BUSY = "import sys\nbytearray(50_000_000)\nsys.stdout.write('ready\\n'); sys.stdout.flush()\nwhile True: pass"
TOOL = """#!/bin/sh
echo "$@" > "$(dirname "$0")/asked"
case "$1" in
  --query-gpu=utilization.gpu,memory.used) echo "37, 2048" ;;
  --query-gpu=name,memory.total) echo "NVIDIA A100-SXM4-40GB, 40960" ;;
esac
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "nvidia-smi"
    path.write_text(TOOL)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return path


def test_a_busy_runner_is_measured_against_the_slots_threads() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as runner:
        assert runner.stdout
        runner.stdout.readline()
        gauge = Gauge("cpu", 1)
        gauge.read(runner.pid)
        while sum(psutil.Process(runner.pid).cpu_times()[:2]) < gauge.spent[runner.pid] + 0.3:
            pass
        read = gauge.read(runner.pid)
        alone = psutil.Process().memory_info().rss
        runner.kill()
    assert 0 < read.cpu <= 1
    assert read.memory > alone
    assert (read.gpu, read.gpu_memory) == (None, None)


def test_more_threads_make_the_same_work_a_smaller_share(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 110.0, 100.0, 110.0])
    monkeypatch.setattr("workers.queue.gauges.time.monotonic", lambda: next(clock))
    spent = iter([1.0, 6.0, 1.0, 6.0])
    monkeypatch.setattr("workers.queue.gauges.cpu_seconds", lambda _: next(spent))
    assert Gauge("cpu", 1).read(None).cpu == 0.5
    assert Gauge("cpu", 4).read(None).cpu == 0.125


def test_a_runner_that_is_gone_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as runner:
        runner.wait()
    assert gauges.descendants(runner.pid) == []
    assert Gauge("cpu", 1).read(runner.pid).memory > 0


def test_a_gpu_slot_reads_its_own_device(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5d1f")
    read = Gauge("cuda:1", 1).read(None)
    assert (read.gpu, read.gpu_memory) == (0.37, 2048 * 2**20)
    assert (tool.parent / "asked").read_text().split()[-2:] == ["-i", "GPU-5d1f"]
    found = gauges.slot_facts("cuda:0")
    assert (found["device"], found["gpu_memory"]) == ("NVIDIA A100-SXM4-40GB", 40960 * 2**20)
    assert (tool.parent / "asked").read_text().split()[-2:] == ["-i", "3"]


@pytest.mark.parametrize(
    ("device", "visible", "asked"), [("cuda:1", None, "1"), ("cuda", "2,5", "2"), ("cuda:7", "0", "7")]
)
def test_the_driver_is_asked_for_the_device_that_cuda_means(device: str, visible: str | None, asked: str) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert gauges.physical_device(device, environ) == asked


def test_a_cpu_slot_never_asks_the_driver(tool: Path) -> None:
    assert gauges.read_gpu_use("cpu") == (None, None)
    assert "gpu_memory" not in gauges.slot_facts("cpu")
    assert not (tool.parent / "asked").exists()


@pytest.mark.parametrize("answer", ["exit 9", "echo", "echo '1, 2, 3'", "exec sleep 9"])
def test_a_driver_that_does_not_answer_leaves_the_rest_known(
    tool: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("workers.queue.gauges.SMI_SECONDS", 0.2)
    tool.write_text(f"#!/bin/sh\n{answer}\n")
    assert gauges.read_gpu_use("cuda:0") == (None, None)


def test_what_the_driver_cannot_tell_is_unknown(tool: Path) -> None:
    tool.write_text("#!/bin/sh\necho '[N/A], 12'\n")
    assert gauges.read_gpu_use("cuda:0") == (None, 12 * 2**20)


def test_a_slot_tells_what_it_is_made_of() -> None:
    found = gauges.slot_facts("cpu")
    assert found["memory"] == allowed_memory()
    assert found["device"]
    assert found["versions"]["torch"].startswith("2.")
