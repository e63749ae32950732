"""What a lab's own component imports: `from workers.plugin import Parameters, Strategy`. These names stay.

What declares a component costs nothing to import. What computes is imported when it is first asked for, with torch and
Flower: so ask inside `build`, or in a private file that `build` imports.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from workers.catalog.component import (
    Arrays,
    ClientSource,
    Dataset,
    DatasetFacts,
    DatasetParameters,
    Model,
    Normalisation,
    Optimizer,
    Parameters,
    Partition,
    PartitionInput,
    Shape,
    Strategy,
    elements,
    summed_gradient_problems,
)
from workers.errors import DatasetError, FederationError, Problem, TributaryError
from workers.strategies.simple.declaration import API_VERSION, SimpleStrategy, last_layers, norm_layers, param
from workers.streams import stream

if TYPE_CHECKING:
    from workers.engine.messages.arrays import (
        Tensors,
        record_of,
        tensor_of,
        tensors_of,
        weighted_mean,
        weighted_sum,
    )
    from workers.engine.messages.message_keys import ARRAYS, CONFIG, METRICS, ROUND, SAMPLES, STEPS, TRAIN_LOSS
    from workers.engine.server.averaging import (
        Averaging,
        array_record,
        mean_metrics,
        mean_of,
        metric,
        weights_of,
    )
    from workers.engine.server.method import Forward, Method, MethodContext, Outputs, Survey
    from workers.engine.server.server_side import ServerSide
    from workers.engine.training.optimizer import StackedAdam, StackedOptimizer, StackedSgd
    from workers.engine.training.rule import (
        ClientStore,
        Contribution,
        LocalRule,
        LocalStep,
        LocalWork,
        Predictions,
        Terms,
    )
    from workers.spec import RunSpec
    from workers.strategies.simple._clients import ClientView
    from workers.strategies.simple._server import Replies, ServerView
    from workers.strategies.simple._weights import Weights

__all__ = [
    "API_VERSION",
    "ARRAYS",
    "CONFIG",
    "METRICS",
    "ROUND",
    "SAMPLES",
    "STEPS",
    "TRAIN_LOSS",
    "Arrays",
    "Averaging",
    "ClientSource",
    "ClientStore",
    "ClientView",
    "Contribution",
    "Dataset",
    "DatasetError",
    "DatasetFacts",
    "DatasetParameters",
    "FederationError",
    "Forward",
    "LocalRule",
    "LocalStep",
    "LocalWork",
    "Method",
    "MethodContext",
    "Model",
    "Normalisation",
    "Optimizer",
    "Outputs",
    "Parameters",
    "Partition",
    "PartitionInput",
    "Predictions",
    "Problem",
    "Replies",
    "RunSpec",
    "ServerSide",
    "ServerView",
    "Shape",
    "SimpleStrategy",
    "StackedAdam",
    "StackedOptimizer",
    "StackedSgd",
    "Strategy",
    "Survey",
    "Tensors",
    "Terms",
    "TributaryError",
    "Weights",
    "array_record",
    "elements",
    "last_layers",
    "mean_metrics",
    "mean_of",
    "metric",
    "norm_layers",
    "param",
    "record_of",
    "stream",
    "summed_gradient_problems",
    "tensor_of",
    "tensors_of",
    "weighted_mean",
    "weighted_sum",
    "weights_of",
]
LAZY_MODULES = (
    "workers.engine.messages.arrays",
    "workers.engine.messages.message_keys",
    "workers.engine.server.averaging",
    "workers.engine.server.method",
    "workers.engine.server.server_side",
    "workers.engine.training.optimizer",
    "workers.engine.training.rule",
    "workers.spec",
    "workers.strategies.simple._clients",
    "workers.strategies.simple._server",
    "workers.strategies.simple._weights",
)


def __getattr__(name: str) -> Any:
    """What computes, from the module that has it."""
    if name in __all__:
        for module in LAZY_MODULES:
            content = vars(importlib.import_module(module))
            if name in content:
                return content[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
