"""What Flower's own simulation gives for the example apps: rounds, metric keys, and numbers where they are fixed.

    python -m tests.workers.apps.reference [NAME ...]       all apps without a name; rewrites their part of the file

Each app runs twice, unchanged, as `flwr run` would run it (Ray, five SuperNodes), in a process and a folder of its own.
An app is deterministic if both runs give the same numbers, but for the last bits: Flower takes replies in the order in
which they come, and sums in that order. The numbers of other apps are null.

One thing is helped along: Flower starts the server before it has registered all nodes, so that the first round may have
fewer clients on a busy machine. Here the server waits for them.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers import TELEMETRY_OFF

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EXAMPLES = HERE / "examples"
HOSTILE = HERE / "hostile"
FILE = HERE / "reference.json"
CLIENTS = 5
RELATIVE_TOLERANCE = 1e-5
SECONDS = 300
ATTEMPTS = 2
"""Ray gives itself 30 s to start, which a busy machine exceeds now and then."""
NOTE = "Written by `python -m tests.workers.apps.reference` with Flower's own simulation; not edited by hand."

Rounds = dict[int, dict[str, Any]]


def app_folders() -> dict[str, Path]:
    """The examples, and the one of the hostile apps that Flower brings to its end."""
    folders = [path.parent for path in sorted(EXAMPLES.glob("*/pyproject.toml"))]
    return {folder.name: folder for folder in [*folders, HOSTILE / "raises-in-client"]}


@dataclass
class Observation:
    """What a run showed through the strategy's result, the grid and the server's context."""

    train: Rounds = field(default_factory=dict)
    evaluate: Rounds = field(default_factory=dict)
    server: Rounds = field(default_factory=dict)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take_result(self, result: Any) -> None:
        """Of a strategy of `flwr.serverapp`."""
        self.train = {number: dict(metrics) for number, metrics in result.train_metrics_clientapp.items()}
        self.evaluate = {number: dict(metrics) for number, metrics in result.evaluate_metrics_clientapp.items()}
        self.server = {number: dict(metrics) for number, metrics in result.evaluate_metrics_serverapp.items()}

    def take_history(self, history: Any) -> None:
        """Of a strategy of `flwr.server`, whose losses stand apart from the other metrics."""
        add_metrics(self.train, history.metrics_distributed_fit)
        add_metrics(self.evaluate, {"loss": history.losses_distributed}, history.metrics_distributed)
        add_metrics(self.server, {"loss": history.losses_centralized}, history.metrics_centralized)

    def take_replies(self, replies: Iterable[Any]) -> None:
        for reply in replies:
            kind = self.replies.setdefault(reply.metadata.message_type, {"count": 0, "errors": 0, "keys": {}})
            kind["count"] += 1
            kind["errors"] += reply.has_error()
            if reply.has_content():
                kind["keys"] |= {name: sorted(record) for name, record in reply.content.metric_records.items()}


def add_metrics(rounds: Rounds, *metrics: Mapping[str, Iterable[tuple[int, Any]]]) -> None:
    for each in metrics:
        for name, values in each.items():
            for number, value in values:
                rounds.setdefault(number, {})[name] = value


def observe(name: str) -> dict[str, Any]:
    """Runs the app on Flower's simulation, in the current folder."""
    from flwr.app import Context, RecordDict
    from flwr.common.config import get_fused_config_from_dir, get_project_config
    from flwr.common.constant import SUPERLINK_NODE_ID
    from flwr.simulation.run_simulation import _run_simulation
    from flwr.supercore.constant import NOOP_FEDERATION_ID
    from flwr.supercore.run import Run
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.supercore.telemetry import EventType

    logging.getLogger("flwr").setLevel(logging.ERROR)
    folder = app_folders()[name]
    components = get_project_config(folder)["tool"]["flwr"]["app"]["components"]
    config = get_fused_config_from_dir(folder, {})
    run = Run.create_empty(run_id=1)
    run.primary_task_id, run.federation_id = 1, NOOP_FEDERATION_ID
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, run.run_id, SUPERLINK_NODE_ID
    observation = Observation()
    watch(observation)
    with tempfile.TemporaryDirectory(prefix="tributary-ray-", ignore_cleanup_errors=True) as temporary:
        outcome = _run_simulation(
            num_supernodes=CLIENTS,
            exit_event=EventType.FLWR_SIMULATION_RUN_LEAVE,
            server_app_attr=components["serverapp"],
            client_app_attr=components["clientapp"],
            backend_config={
                "init_args": {"num_cpus": 2, "include_dashboard": False, "_temp_dir": temporary},
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            },
            server_app_context=Context(run.run_id, SUPERLINK_NODE_ID, {}, RecordDict(), dict(config)),
            app_dir=str(folder),
            run=run,
            is_app=True,
        )
    return {
        "clients": CLIENTS,
        "config": config,
        "rounds": len(observation.train),
        "metrics": {"train": observation.train, "evaluate": observation.evaluate, "server": observation.server},
        "state": {key: dict(record) for key, record in outcome.context.state.metric_records.items()},
        "replies": observation.replies,
        "files": sorted(str(path.relative_to(Path.cwd())) for path in Path.cwd().rglob("*") if path.is_file()),
    }


def watch(observation: Observation) -> None:
    """Observes the public methods that every app uses."""
    from flwr.serverapp import server_app
    from flwr.serverapp.strategy import Strategy
    from flwr.superlink.grid import InMemoryGrid

    start, start_grid = Strategy.start, server_app.start_grid
    pull, get_node_ids = InMemoryGrid.pull_messages, InMemoryGrid.get_node_ids

    def watched_start(self: Strategy, *args: Any, **options: Any) -> Any:
        result = start(self, *args, **options)
        observation.take_result(result)
        return result

    def watched_start_grid(**options: Any) -> Any:
        history = start_grid(**options)
        observation.take_history(history)
        return history

    def watched_pull(self: InMemoryGrid, message_ids: Iterable[str]) -> Any:
        replies = pull(self, message_ids)
        observation.take_replies(replies)
        return replies

    def patient_get_node_ids(self: InMemoryGrid) -> Any:
        while len(node_ids := get_node_ids(self)) < CLIENTS:
            time.sleep(0.01)
        return node_ids

    Strategy.start, server_app.start_grid = watched_start, watched_start_grid
    InMemoryGrid.pull_messages, InMemoryGrid.get_node_ids = watched_pull, patient_get_node_ids


def run_on_flower(name: str, attempts: int = ATTEMPTS) -> dict[str, Any]:
    """One run in a process of its own; without usage reports, and with Flower's home in a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="tributary-app-", ignore_cleanup_errors=True) as folder:
        home, work, answer = (Path(folder) / each for each in ("home", "work", "answer.json"))
        work.mkdir()
        environment = {
            **os.environ,
            **TELEMETRY_OFF,
            "FLWR_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        }
        command = [sys.executable, "-m", "tests.workers.apps.reference", "--observe", str(answer), name]
        process = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        if process.returncode == 0:
            return json.loads(answer.read_text())
    if attempts > 1:
        return run_on_flower(name, attempts - 1)
    raise RuntimeError(f"{name} does not run on Flower:\n{process.stdout}\n{process.stderr}")


def build_entry(name: str) -> dict[str, Any]:
    first, second = run_on_flower(name), run_on_flower(name)
    difference = largest_difference(numbers(first), numbers(second))
    print(f"{name}: {difference:.1e}")
    if difference > RELATIVE_TOLERANCE:
        for part in ("metrics", "state"):
            first[part] = without_values(first[part])
    return {"deterministic": difference <= RELATIVE_TOLERANCE, **first}


def numbers(entry: Mapping[str, Any]) -> list[float]:
    return list(leaves([entry["metrics"], entry["state"]]))


def leaves(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def largest_difference(first: list[float], second: list[float]) -> float:
    """Relative, infinite where even the number of numbers differs."""
    if len(first) != len(second):
        return math.inf
    pairs = zip(first, second, strict=True)
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b), default=0.0)


def without_values(value: Any) -> Any:
    """Keys stay."""
    return {key: without_values(each) for key, each in value.items()} if isinstance(value, dict) else None


def read_reference() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write_reference(apps: Mapping[str, Any]) -> None:
    requirements = (ROOT / "requirements.txt").read_text().splitlines()
    flower = next(line for line in requirements if line.startswith("flwr"))
    content = {"note": NOTE, "flower": flower, "tolerance": RELATIVE_TOLERANCE, "apps": dict(sorted(apps.items()))}
    FILE.write_text(json.dumps(content, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all apps without one")
    parser.add_argument("--observe", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.observe:
        options.observe.write_text(json.dumps(observe(options.names[0])))
        return
    apps = read_reference().get("apps", {})
    for name in options.names or app_folders():
        apps[name] = build_entry(name)
        write_reference(apps)


if __name__ == "__main__":
    main()
