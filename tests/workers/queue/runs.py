"""Small runs for a real worker, what is stored of them, and what the engine alone gives."""

from __future__ import annotations

from typing import Any

import psutil
import torch

from experiments.models import Metric, Run
from tests.live import LivePlatform
from workers.engine import simulate
from workers.engine.records import Result

TIMES = ("seconds", "seconds_cpu", "seconds_train", "seconds_aggregate", "seconds_evaluate")


def block(**changes: Any) -> dict[str, Any]:
    fields = {
        "dataset": {"name": "digits"},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "rounds": 3,
        "engine": "cohort",
    }
    return {**fields, **changes}


def state_of(run: int) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run)


def far_enough(run: int, rounds: int) -> bool:
    return Run.objects.filter(pk=run, rounds_done__gte=rounds).exists()


def stored(run: int) -> dict[tuple[int, str], float]:
    rows = Metric.objects.filter(run=run).exclude(name__in=TIMES).values_list("round", "name", "value")
    return {(number, name): value for number, name, value in rows}


def expected(result: Result) -> dict[tuple[int, str], float]:
    return {
        (each.round, name): value
        for each in result.history
        for name, value in each.metrics.items()
        if name not in TIMES
    }


def undisturbed(run: Run) -> Result:
    torch.set_num_threads(1)
    return simulate(run.spec, device="cpu")


def runner_of(platform: LivePlatform, worker: str = "worker-1") -> int:
    (runner,) = psutil.Process(platform.processes[worker].pid).children()
    return runner.pid
