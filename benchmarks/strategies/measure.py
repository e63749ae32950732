"""The runs behind the table of docs/strategies.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workers.catalog import load_catalog
from workers.engine import simulate

SEEDS = range(5)
CHECKPOINTS = (5, 10, 20, 30)
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "partition": {"name": "label-dirichlet", "alpha": 0.1},
    "clients": 20,
    "rounds": 30,
    "local": {"epochs": 2, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}},
    # For FedLoss, which weighs clients by the loss on it; the others train on the same samples.
    "evaluation": {"validation": 0.1},
}
StrategyResult = dict[str, Any]


def built_in_strategies() -> list[str]:
    return [name for name, each in load_catalog().strategies.items() if not each.origin]


def stale_strategies(results: StrategyResult) -> list[str]:
    """Strategies without a result of their present version on this federation."""
    return [name for name in built_in_strategies() if not is_current(results.get(name), name)]


def is_current(result: StrategyResult | None, name: str) -> bool:
    return bool(result) and result["block"] == BLOCK and result["version"] == load_catalog().strategies[name].version


def measure_strategies(names: Iterable[str], tell: Callable[[str], None]) -> Iterable[tuple[str, StrategyResult]]:
    for name in names:
        histories = [simulate({**BLOCK, "strategy": {"name": name}, "seed": seed}).history for seed in SEEDS]
        accuracies = {
            str(number): [history[number].metrics["accuracy"] for history in histories] for number in CHECKPOINTS
        }
        bytes_sent = [sum(total_bytes(record.metrics) for record in history) for history in histories]
        tell(f"{name:18} {' '.join(f'{value:.3f}' for value in accuracies['30'])}")
        yield (
            name,
            {
                "version": load_catalog().strategies[name].version,
                "block": BLOCK,
                "accuracy": {number: [round(value, 6) for value in values] for number, values in accuracies.items()},
                "bytes": round(sum(bytes_sent) / len(bytes_sent)),
            },
        )


def total_bytes(metrics: Any) -> float:
    return sum(metrics.get(name, 0.0) for name in ("bytes_up", "bytes_down", "bytes_peer"))
