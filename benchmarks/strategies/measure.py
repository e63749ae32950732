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
Found = dict[str, Any]


def built_in() -> list[str]:
    return [name for name, each in load_catalog().strategies.items() if not each.origin]


def stale(known: Found) -> list[str]:
    """Strategies without a result of their present version on this federation."""
    return [name for name in built_in() if not is_current(known.get(name), name)]


def is_current(found: Found | None, name: str) -> bool:
    return bool(found) and found["block"] == BLOCK and found["version"] == load_catalog().strategies[name].version


def measured(names: Iterable[str], tell: Callable[[str], None]) -> Iterable[tuple[str, Found]]:
    for name in names:
        histories = [simulate({**BLOCK, "strategy": {"name": name}, "seed": seed}).history for seed in SEEDS]
        at = {str(number): [history[number].metrics["accuracy"] for history in histories] for number in CHECKPOINTS}
        sent = [sum(total(record.metrics) for record in history) for history in histories]
        tell(f"{name:18} {' '.join(f'{value:.3f}' for value in at['30'])}")
        yield (
            name,
            {
                "version": load_catalog().strategies[name].version,
                "block": BLOCK,
                "accuracy": {number: [round(value, 6) for value in values] for number, values in at.items()},
                "bytes": round(sum(sent) / len(sent)),
            },
        )


def total(metrics: Any) -> float:
    return sum(metrics.get(name, 0.0) for name in ("bytes_up", "bytes_down", "bytes_peer"))
