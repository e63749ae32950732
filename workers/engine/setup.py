"""From a spec to everything a run needs, on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from workers.catalog import load_catalog
from workers.engine.adversary import Adversary
from workers.engine.clients import ClientMapping
from workers.engine.compression import Compression
from workers.engine.evaluation import Evaluator
from workers.engine.federation import Federation, make_federation
from workers.engine.messages.arrays import Tensors
from workers.engine.poisoning import malicious_clients
from workers.engine.prepared import DEVICE_COPIES, prepared_federation
from workers.engine.server.method import Method, MethodContext
from workers.engine.server.participation import Participation
from workers.engine.server.selector import Selector
from workers.engine.server.step_size import ServerStepSize
from workers.engine.training.network import Network, dtype_of, make_network, stacked_gradients
from workers.engine.training.rule import ClientStore
from workers.engine.training.samples_on_demand import SamplesOnDemand
from workers.engine.training.trainer import Samples, Trainer
from workers.errors import Problem, SpecError, TributaryError
from workers.spec import RunSpec
from workers.spec.runspec import schedules_server


@dataclass(frozen=True)
class Setup:
    spec: RunSpec
    device: torch.device
    federation: Federation
    network: Network
    initial: Tensors
    method: Method
    participation: Participation
    trainer: Trainer
    evaluator: Evaluator
    adversary: Adversary | None = None
    compression: Compression | None = None
    selector: Selector | None = None
    step_size: ServerStepSize | None = None


def make_setup(
    spec: RunSpec,
    device: torch.device,
    stop: Callable[[], bool] | None = None,
    federation: Federation | None = None,
) -> Setup:
    """`federation` replaces the one the spec describes."""
    catalog = load_catalog()
    compute_exactly()
    federation = federation or prepared_federation(spec)
    network = make_network(spec, device)
    if network.has_batch_statistics and spec.local.batch_size < 2:
        raise SpecError([Problem("local.batch_size", "A model with batch statistics needs batches of 2 or more.")])
    initial = network.initial()
    counts, classes = sample_counts(federation), client_classes(federation)
    context = MethodContext(spec, initial, tuple(network.buffers), counts, classes)
    method = catalog.strategies[spec.strategy.name].build(spec.strategy, context)
    if method.pooled and federation.make_samples is not None:
        federation = make_federation(spec, whole=True)
    samples = samples_on(device, dtype_of(spec), federation)
    trainer = Trainer(
        spec=spec,
        network=network,
        samples=samples,
        optimizer=catalog.optimizers[spec.local.optimizer.name].build(spec.local.optimizer),
        rule=method.rule,
        store=ClientStore(),
        gradients=stacked_gradients,
        padded=not network.has_batch_statistics,
        stop=stop,
    )
    participation = Participation(spec, federation, method)
    evaluator = Evaluator(spec, network, federation, samples, method.outputs)
    return Setup(
        spec,
        device,
        federation,
        network,
        initial,
        method,
        participation,
        trainer,
        evaluator,
        make_adversary(spec, federation, network),
        make_compression(spec, network, trainer.store),
        None if spec.selection.name == "uniform" else Selector(participation, evaluator),
        ServerStepSize(spec, tuple(network.buffers)) if schedules_server(spec) else None,
    )


def make_adversary(spec: RunSpec, federation: Federation, network: Network) -> Adversary | None:
    if spec.attack is None:
        return None
    return Adversary(spec.attack, spec.seed, malicious_clients(spec, federation.clients), tuple(network.buffers))


def make_compression(spec: RunSpec, network: Network, store: ClientStore) -> Compression | None:
    if spec.compression is None:
        return None
    return Compression(spec.compression, spec, tuple(network.buffers), store)


def sample_counts(federation: Federation) -> ClientMapping[int]:
    sizes = federation.clients.sizes
    return ClientMapping(federation.clients, lambda row: int(sizes[row]))


def client_classes(federation: Federation) -> ClientMapping[tuple[int, ...]]:
    clients = federation.clients
    return ClientMapping(clients, lambda row: tuple(np.unique(federation.labels(clients[row])).tolist()))


def samples_on(device: torch.device, dtype: torch.dtype, federation: Federation) -> Samples:
    if federation.make_samples is not None:
        return SamplesOnDemand(federation, device, dtype)
    x, y = DEVICE_COPIES.get(federation.x, device, dtype), DEVICE_COPIES.get(federation.y, device, torch.int64)
    return Samples(x, y)


def compute_exactly() -> None:
    """On a GPU too the same spec is to give the same bits, and `float32` to mean it: TF32 has 10 bits of 23."""
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def device_from_name(name: str) -> torch.device:
    """`auto` is the first GPU, if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise TributaryError(f"The device {name} cannot be used here. Choose auto, cpu or cuda:N.") from error
    return device
