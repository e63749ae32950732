"""Old places of modules: a lab's plugin that imports them there goes on working, and is warned of the new ones."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED_MODULES = {
    "workers.component": "workers.catalog.component",
    "workers.clustering.distances": "workers.clustering.grouping",
    "workers.spec.work": "workers.spec.workload",
    "workers.engine.arrays": "workers.engine.messages.arrays",
    "workers.engine.chain": "workers.engine.training.chain",
    "workers.engine.choice": "workers.engine.execution.executors",
    "workers.engine.dropout": "workers.engine.training.dropout",
    "workers.engine.exchange": "workers.engine.messages.exchange",
    "workers.engine.flower": "workers.engine.messages.flower",
    "workers.engine.grid": "workers.engine.messages.grid",
    "workers.engine.hybrid": "workers.engine.federation",
    "workers.engine.loop": "workers.engine.server.loop",
    "workers.engine.losses": "workers.engine.training.losses",
    "workers.engine.memory": "workers.engine.execution.memory",
    "workers.engine.method": "workers.engine.server.method",
    "workers.engine.metrics": "workers.engine.evaluation",
    "workers.engine.names": "workers.engine.messages.message_keys",
    "workers.engine.network": "workers.engine.training.network",
    "workers.engine.optimizer": "workers.engine.training.optimizer",
    "workers.engine.participation": "workers.engine.server.participation",
    "workers.engine.paths": "workers.engine.execution.executors",
    "workers.engine.ray_backend": "workers.engine.execution.ray_executor",
    "workers.engine.ray_client": "workers.engine.execution.ray_client",
    "workers.engine.ray_server": "workers.engine.execution.ray_server",
    "workers.engine.rule": "workers.engine.training.rule",
    "workers.engine.schedule": "workers.engine.training.schedule",
    "workers.engine.survey": "workers.engine.server.survey",
    "workers.engine.trainer": "workers.engine.training.trainer",
    "workers.datasets.cifar10": "workers.datasets.cifar",
    "workers.datasets.cifar100": "workers.datasets.cifar",
    "workers.datasets.fashion_mnist": "workers.datasets.mnist",
    "workers.models.cnn_32_64_100": "workers.models.cnn",
    "workers.models.cnn_32_64_512": "workers.models.cnn",
    "workers.models.cnn_32_64_64": "workers.models.cnn",
    "workers.models.detector": "workers.models.cnn",
    "workers.models.lenet": "workers.models.cnn",
    "workers.models.logistic": "workers.models.mlp",
    "workers.models.mlp_256_128_64": "workers.models.mlp",
    "workers.models.mlp_50": "workers.models.mlp",
    "workers.optimizers.adamw": "workers.optimizers.adam",
    "workers.partitions.classes_per_client": "workers.partitions.label_skew",
    "workers.partitions.label_dirichlet": "workers.partitions.label_skew",
    "workers.partitions.shards": "workers.partitions.label_skew",
    "workers.partitions.quantity_dirichlet": "workers.partitions.quantity_skew",
    "workers.partitions.quantity_normal": "workers.partitions.quantity_skew",
    "workers.strategies._fedprox": "workers.strategies._fedavg",
    "workers.strategies.athena": "workers.strategies.clustered",
    "workers.strategies.clustered_fedavg": "workers.strategies.clustered",
    "workers.strategies.centralised": "workers.strategies.references",
    "workers.strategies.local_only": "workers.strategies.references",
    "workers.strategies.fedadagrad": "workers.strategies.server_optimizers",
    "workers.strategies.fedadam": "workers.strategies.server_optimizers",
    "workers.strategies.fedavgm": "workers.strategies.server_optimizers",
    "workers.strategies.fedyogi": "workers.strategies.server_optimizers",
    "workers.strategies.fedloss": "workers.strategies.weighting",
    "workers.strategies.fednova": "workers.strategies.weighting",
    "workers.strategies.fedprox": "workers.strategies.fedavg",
    "workers.strategies.fedsgd": "workers.strategies.fedavg",
    "workers.strategies.fedmedian": "workers.strategies.robust",
    "workers.strategies.fedtrimmedavg": "workers.strategies.robust",
    "workers.strategies.krum": "workers.strategies.robust",
    "workers.strategies.multikrum": "workers.strategies.robust",
    "workers.strategies.fedswap": "workers.strategies.swapping",
    "workers.strategies.simfedswap": "workers.strategies.swapping",
}
RENAMED = {
    "workers.component": {
        "QUICKLY_MADE": "QUICK_LOAD_VALUES",
        "needs_summed_gradients": "summed_gradient_problems",
    },
    "workers.strategies._fedprox": {"Proximal": "ProximalTerm"},
}
"""By old module: old names of what has another name in the new one."""
MOVED_NAMES = {
    "workers.engine.server": {
        "Averaging": "workers.engine.server.averaging",
        "array_record": "workers.engine.server.averaging",
        "mean_metrics": "workers.engine.server.averaging",
        "mean_of": "workers.engine.server.averaging",
        "metric": "workers.engine.server.averaging",
        "weights_of": "workers.engine.server.averaging",
    },
}
"""By module that is a package now: what it had as a file."""


class MovedModuleLoader(Loader):
    """Fills a module of the old name with what the new one has; nothing is imported before the plugin asks."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = MOVED_MODULES[old]
        warn_moved(old, new)
        content = vars(importlib.import_module(new))
        vars(module).update({name: value for name, value in content.items() if not name.startswith("__")})
        vars(module).update({name: content[now] for name, now in RENAMED.get(old, {}).items()})


class MovedModuleFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, MovedModuleLoader()) if fullname in MOVED_MODULES else None


def find_moved_modules() -> None:
    """From now on in this process: a plugin may import in the middle of a run, inside `build`."""
    if not any(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(MovedModuleFinder())


def moved_names_of(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that was a module."""

    def find_name(name: str) -> Any:
        new = MOVED_NAMES[package].get(name)
        if new is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        warn_moved(f"{package}.{name}", f"{new}.{name}")
        return getattr(importlib.import_module(new), name)

    return find_name


def warn_moved(old: str, new: str) -> None:
    """At the line that imports it: Python leaves its own import machinery out of the count."""
    message = f"{old} has moved to {new}; what plugins need is in workers.plugin, which stays."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
