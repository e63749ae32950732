"""Flower's own simulator: stock FedAvg on the Ray backend, one actor per process asked for."""

from __future__ import annotations

import logging
import os

from benchmarks.engine.contenders.clock import Clock, Task, parse_task
from benchmarks.engine.contenders.flower_client import SHAPE, THREADS, app
from benchmarks.engine.shapes import build_model


def main(work: Task) -> None:
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    os.environ |= {SHAPE: work.shape.name, THREADS: str(work.threads), "OMP_NUM_THREADS": str(work.threads)}
    from flwr.app import ArrayRecord, Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    logging.getLogger("flwr").setLevel(logging.ERROR)
    clock, server = Clock(), ServerApp()

    @server.main()
    def run(grid: Grid, context: Context) -> None:
        strategy = FedAvg(fraction_train=work.shape.cohort / work.shape.clients, fraction_evaluate=0.0)
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(build_model(work.shape).state_dict()),
            num_rounds=work.rounds,
            evaluate_fn=lambda number, arrays: clock.tick(),
        )

    resources = {"num_cpus": 2 // work.processes, "num_gpus": 0.0}
    run_simulation(
        server,
        app,
        work.shape.clients,
        backend_config={"client_resources": resources, "init_args": {"num_cpus": 2, "include_dashboard": False}},
    )
    clock.report(work.out)


if __name__ == "__main__":
    main(parse_task())
