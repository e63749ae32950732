"""`engine: ray` on a real cluster of two Ray nodes. Part of `make integration`: a cluster takes half a minute to start.

Each node has one processor and a client needs one, so that both nodes compute.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from ray._common.utils import get_default_ray_temp_dir

from workers import TELEMETRY_OFF
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in
from workers.engine.records import RoundRecord
from workers.errors import TributaryError

ROOT = Path(__file__).resolve().parents[3]
RUN: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": {"name": "scaffold"},
    "clients": 6,
    "cohort": 4,
    "rounds": 6,
    "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
    "precision": "float64",
}
START_SECONDS = 90


class Node:
    """One node of the cluster, in a process group of its own: what it starts ends with it."""

    def __init__(self, *flags: str) -> None:
        command = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus=1", "--block", *flags]
        environment = {**os.environ, **TELEMETRY_OFF, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def kill(self) -> None:
        """All at once, as when a machine loses its power."""
        for process in [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]:
            process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


def free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def wait_for_nodes(address: str, count: int) -> None:
    ask = f"import ray; ray.init({address!r}, log_to_driver=False); print(sum(n['Alive'] for n in ray.nodes()))"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
        if answer.stdout.strip().endswith(str(count)):
            return
        time.sleep(1)
    pytest.fail(f"The cluster has no {count} nodes:\n{answer.stderr[-2000:]}")


@pytest.fixture
def second_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Of two; the other one has the cluster's books."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    own = ("--node-ip-address=127.0.0.1", "--disable-usage-stats")
    nodes = [Node("--head", f"--port={port}", "--include-dashboard=false", *own)]
    try:
        wait_for_nodes(address, 1)
        nodes.append(Node(f"--address={address}", *own))
        wait_for_nodes(address, 2)
        monkeypatch.setenv("RAY_ADDRESS", address)
        yield nodes[1]
    finally:
        for node in reversed(nodes):
            node.stop()
        forget_cluster(address)


def forget_cluster(address: str) -> None:
    """Where Ray on this machine would look for it, and for ever wait."""
    known = Path(get_default_ray_temp_dir()) / "ray_current_cluster"
    if known.exists() and known.read_text().strip() == address:
        known.unlink()


def test_two_nodes_compute_what_one_process_computes(second_node: Node) -> None:
    expected = simulate(RUN | {"engine": "sequential"}, device="cpu")
    result = simulate(RUN | {"engine": "ray"}, device="cpu")
    assert result.provenance["engine"] == "ray"
    for name, array in expected.parameters.items():
        assert np.abs(result.parameters[name] - array).max() < 1e-8


def test_a_node_that_is_killed_is_told_and_what_was_computed_before_is_kept(second_node: Node, tmp_path: Path) -> None:
    records: list[RoundRecord] = []

    def kill_after_two_rounds(record: RoundRecord) -> None:
        records.append(record)
        if record.round == 2:
            second_node.kill()

    policy = CheckpointPolicy(tmp_path, every=2)
    with pytest.raises(TributaryError, match=r"Ray lost client \d+, as when a node of its cluster goes away"):
        simulate(RUN | {"engine": "ray"}, checkpoint=policy, on_round=kill_after_two_rounds, device="cpu")
    assert [record.round for record in records] == [0, 1, 2]
    assert [path.name for path in checkpoints_in(tmp_path)] == ["round-00000002"]
