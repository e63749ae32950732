"""Tributary itself, as a user calls it: `simulate` with a spec; the clock ticks when a round's record arrives."""

from __future__ import annotations

import math
import os

from benchmarks.engine.contenders.clock import Clock, Task, parse_task
from benchmarks.engine.shapes import Shape

MODELS = {"logistic": "logistic", "mlp-50": "mlp-50", "cnn-64": "cnn-32-64-64", "cnn-100": "cnn-32-64-100"}


def run_spec(shape: Shape, rounds: int) -> dict[str, object]:
    """Evaluated before the first and after the last round only, as the others are."""
    count = shape.clients * shape.samples
    return {
        "dataset": {"name": "blobs", "shape": list(shape.input), "classes": shape.classes, "train": count, "test": 10},
        "model": {"name": MODELS[shape.model]},
        "strategy": {"name": "fedavg"},
        "clients": shape.clients,
        "cohort": shape.cohort,
        "rounds": rounds,
        "local": {"epochs": shape.epochs, "batch_size": shape.batch, "optimizer": {"name": "sgd", "lr": shape.lr}},
        "evaluation": {"every": 10 * rounds},
    }


def main(work: Task) -> None:
    os.environ["OMP_NUM_THREADS"] = os.environ["TRIBUTARY_THREADS"] = str(work.threads)
    import torch

    from workers.engine import simulate

    torch.set_num_threads(work.threads)
    clock = Clock()
    result = simulate(run_spec(work.shape, work.rounds), on_round=lambda record: clock.tick(), device="cpu")
    assert math.isfinite(result.history[-1].metrics["loss"])
    values = sum(array.size for array in result.parameters.values())
    clock.report(work.out, engine=result.provenance["engine"], parameters=values)


if __name__ == "__main__":
    main(parse_task())
