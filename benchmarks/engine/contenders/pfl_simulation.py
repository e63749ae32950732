"""Apple's pfl: its FederatedAveraging on its SimulatedBackend; several processes through torchrun.

pfl does not shuffle a user's samples between epochs; that is left as it is.
"""

from __future__ import annotations

import asyncio

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.internal.ops.selector import get_framework_module
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn

from benchmarks.engine.contenders.clock import Clock, Task, parse_task
from benchmarks.engine.shapes import Shape, build_model, make_tensors


class WithLoss(nn.Module):
    """pfl asks a module for `loss` and `metrics`."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.inner(x), y)

    @torch.no_grad()
    def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Weighted]:
        return {"loss": Weighted(self.loss(x, y).item() * len(y), len(y))}


class TickingCallback(TrainingProcessCallback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_begin(self, *, model: PyTorchModel) -> Metrics:
        self.clock.tick()
        return Metrics()

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        self.clock.tick()
        return False, Metrics()


def federated_dataset(shape: Shape) -> FederatedDataset:
    x, y = make_tensors(shape)
    slices = [slice(i * shape.samples, (i + 1) * shape.samples) for i in range(shape.clients)]
    datasets = [PyTorchTensorDataset((x[part], y[part]), user_id=str(i)) for i, part in enumerate(slices)]
    return FederatedDataset(lambda user: datasets[user], get_user_sampler("random", range(shape.clients)))


def main(work: Task) -> None:
    torch.set_num_threads(work.threads)
    np.random.seed(0)
    asyncio.set_event_loop(asyncio.new_event_loop())
    shape, clock = work.shape, Clock()
    module = WithLoss(build_model(shape))
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    data = federated_dataset(shape)
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=work.rounds,
            evaluation_frequency=10**9,
            train_cohort_size=shape.cohort,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=data, val_data=data, postprocessors=[WeightByDatapoints()]),
        model,
        NNTrainHyperParams(local_batch_size=shape.batch, local_num_epochs=shape.epochs, local_learning_rate=shape.lr),
        NNEvalHyperParams(local_batch_size=None),
        callbacks=[TickingCallback(clock)],
        send_metrics_to_platform=False,
    )
    if get_framework_module().distributed.global_rank == 0:
        clock.report(work.out)
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()  # a process that leaves without this is aborted


if __name__ == "__main__":
    main(parse_task())
