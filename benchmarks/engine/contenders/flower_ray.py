"""Flower's own simulator: stock FedAvg on the Ray backend, one actor per process asked for."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from benchmarks.engine.contenders.clock import Clock, Task, parse_task
from benchmarks.engine.contenders.flower_client import SHAPE, THREADS, app
from benchmarks.engine.shapes import Shape, build_model, make_tensors


def make_evaluation(shape: Shape, samples: int) -> Callable[[dict[str, Any]], float]:
    """The accuracy of a state on so many samples, in this process."""
    import torch

    model, (x, y) = build_model(shape).eval(), make_tensors(shape)
    x, y = x[:samples], y[:samples]

    @torch.no_grad()
    def evaluate(state: dict[str, Any]) -> float:
        model.load_state_dict(state)
        logits = model(x)
        torch.nn.functional.cross_entropy(logits, y)
        return float((logits.argmax(1) == y).float().mean())

    return evaluate


def main(work: Task) -> None:
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    os.environ |= {SHAPE: work.shape.name, THREADS: str(work.threads), "OMP_NUM_THREADS": str(work.threads)}
    from flwr.app import ArrayRecord, Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    logging.getLogger("flwr").setLevel(logging.ERROR)
    clock, server = Clock(), ServerApp()
    evaluate = make_evaluation(work.shape, work.test) if work.test else None

    def finish_round(number: int, arrays: ArrayRecord) -> None:
        if evaluate is not None:
            evaluate(arrays.to_torch_state_dict())
        clock.tick()

    @server.main()
    def run(grid: Grid, context: Context) -> None:
        strategy = FedAvg(fraction_train=work.shape.cohort / work.shape.clients, fraction_evaluate=0.0)
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(build_model(work.shape).state_dict()),
            num_rounds=work.rounds,
            evaluate_fn=finish_round,
        )

    resources = {"num_cpus": 2 // work.processes, "num_gpus": 0.0}
    own_ray = {"address": "local", "num_cpus": 2, "include_dashboard": False}
    run_simulation(
        server,
        app,
        work.shape.clients,
        backend_config={"client_resources": resources, "init_args": own_ray},
    )
    clock.report(work.out)


if __name__ == "__main__":
    main(parse_task())
