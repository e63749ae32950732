"""`engine: ray`: the same app on Flower's own simulation backend, on this machine or on the cluster at RAY_ADDRESS.

Clients run in Ray's processes, in any order: numbers are Flower's, not repeatable to the bit, and a run that was
interrupted starts anew. Rounds and what strategies aggregate are observed as in process; bytes and clients are not.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from flwr.app import Context
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.simulation.run_simulation import _run_simulation
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.supercore.telemetry import EventType
from flwr.superlink.grid import InMemoryGrid

from workers.apps.leftovers import MARK, ray_folder

RUN_ID = 1
WAIT_SECONDS, PAUSE_SECONDS = 60.0, 0.01


def run_on_ray(
    *, server_app: Any, clientapp: str, folder: Path, clients: int, context: Context, processors: int
) -> None:
    run = Run.create_empty(run_id=RUN_ID)
    run.primary_task_id, run.federation_id = 1, NOOP_FEDERATION_ID
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, SUPERLINK_NODE_ID
    wait_for_nodes(clients)
    # Its folder goes with the run, however that ends: see `leftovers`.
    folder_of_ray = ray_folder(os.environ[MARK])
    folder_of_ray.mkdir(parents=True, exist_ok=True)
    try:
        _run_simulation(
            num_supernodes=clients,
            exit_event=EventType.FLWR_SIMULATION_RUN_LEAVE,
            server_app=server_app,
            client_app_attr=clientapp,
            backend_config={
                "init_args": init_args(str(folder_of_ray), processors),
                "client_resources": {
                    "num_cpus": float(os.environ.get("TRIBUTARY_RAY_CLIENT_CPUS", "1")),
                    "num_gpus": float(os.environ.get("TRIBUTARY_RAY_CLIENT_GPUS", "0")),
                },
            },
            server_app_context=context,
            app_dir=str(folder),
            run=run,
            is_app=True,
        )
    finally:
        shutil.rmtree(folder_of_ray, ignore_errors=True)


def wait_for_nodes(clients: int) -> None:
    """Flower starts the server before all of its nodes are there, and a first round might have only some of them."""
    get_node_ids = InMemoryGrid.get_node_ids

    def get_all_node_ids(grid: InMemoryGrid) -> Any:
        deadline = monotonic() + WAIT_SECONDS
        while len(nodes := list(get_node_ids(grid))) < clients and monotonic() < deadline:
            sleep(PAUSE_SECONDS)
        return nodes

    InMemoryGrid.get_node_ids = get_all_node_ids  # type: ignore[method-assign, assignment]


def init_args(folder: str, processors: int) -> dict[str, Any]:
    if address := os.environ.get("RAY_ADDRESS"):
        return {"address": address}
    return {"num_cpus": processors, "include_dashboard": False, "_temp_dir": folder}
