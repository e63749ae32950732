"""A model as the engine sees it: named parameters and buffers, and a forward pass for one client or a whole stack."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn import functional as F  # noqa: N812
from torch.nn.modules.batchnorm import _BatchNorm

from workers.catalog import load_catalog
from workers.engine.messages.arrays import Tensors
from workers.engine.training.chain import Gradients, chain_gradients, chain_of
from workers.engine.training.convolutions import convolutions_of
from workers.engine.training.dropout import replace_dropout
from workers.streams import stream

if TYPE_CHECKING:
    from workers.spec import RunSpec


LossFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""From logits and representations, [clients, samples, classes or values], to losses [clients, samples]."""
Pair = tuple[torch.Tensor, torch.Tensor]
"""Logits and representations."""
generator_lock = Lock()
"""torch's default generator belongs to the process: clients on other threads must not draw from it in between."""


class Network:
    """The module (a template: its own values are never trained) and what it is made of.

    `draws` says that a forward pass takes numbers from torch's default generator (dropout by function, or inside an
    LSTM or an attention layer).
    """

    def __init__(self, module: nn.Module, *, draws: bool = False, label_smoothing: float = 0.0) -> None:
        self.label_smoothing = label_smoothing
        self.keys = replace_dropout(module)
        pool_before_relu(module)
        self.module = module.train()
        self.parameters = [name for name, _ in module.named_parameters()]
        self.buffers = [name for name, _ in module.named_buffers() if name not in self.keys]
        self.has_batch_statistics = any(isinstance(each, _BatchNorm) for each in module.modules())
        self.stacked: Callable[..., torch.Tensor] = vmap(self.call, in_dims=(0, 0, 0))
        self.stacked_pair: Callable[..., Pair] = vmap(self.call_pair, in_dims=(0, 0, 0))
        self.chain = chain_of(module)
        self.channels_last = takes_channels_last(module)
        on_cpu = all(param.device.type == "cpu" for param in module.parameters())
        self.convolutions = convolutions_of(module) if self.channels_last and on_cpu else None
        self.draws = draws

    def call(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = functional_call(self.module, (params, buffers), (x,))
        return result

    def call_pair(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> Pair:
        """Logits, and for each sample what goes into the layer with parameters that is called last."""
        inputs: list[torch.Tensor] = []
        with ExitStack() as hooks:
            for layer in self.module.modules():
                if next(layer.parameters(recurse=False), None) is not None:
                    handle = layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
                    hooks.callback(handle.remove)
            logits = self.call(params, buffers, x)
        return logits, (inputs[-1] if inputs else logits).flatten(1)

    def logits(self, model: Tensors, x: torch.Tensor) -> torch.Tensor:
        """Logits [clients, samples, classes] of a stack in evaluation mode: running statistics, no dropout.

        A stack of one is computed as plain PyTorch would: not every model can be stacked.
        """
        params, buffers = self.split(model)
        with self.in_evaluation_mode():
            if len(x) == 1:
                return self.call(first_rows(params), first_rows(buffers), x[0])[None]
            return self.stacked(params, buffers, x)

    @torch.no_grad()
    def representations(self, model: Tensors, x: torch.Tensor) -> torch.Tensor:
        """Of a stack, [clients, samples, values], in evaluation mode and as constants."""
        params, buffers = self.split(model)
        with self.in_evaluation_mode():
            if len(x) == 1:
                return self.call_pair(first_rows(params), first_rows(buffers), x[0])[1][None]
            return self.stacked_pair(params, buffers, x)[1]

    def split(self, model: Tensors) -> tuple[Tensors, Tensors]:
        return {name: model[name] for name in self.parameters}, {name: model[name] for name in self.buffers}

    @contextmanager
    def in_evaluation_mode(self) -> Iterator[None]:
        self.module.eval()
        try:
            yield
        finally:
            self.module.train()

    def cross_entropy(self, logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Of every sample, [clients, samples]."""
        smoothing = self.label_smoothing
        each = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none", label_smoothing=smoothing)
        return each.view(y.shape)

    def initial(self) -> Tensors:
        tensors = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        return {name: tensors[name].detach().clone() for name in [*self.parameters, *self.buffers]}

    def copy(self) -> Network:
        """For another thread: a functional call swaps values inside the module while it runs."""
        return Network(copy.deepcopy(self.module), draws=self.draws, label_smoothing=self.label_smoothing)

    @contextmanager
    def keyed_generator(self, keys: torch.Tensor) -> Iterator[None]:
        """What a forward pass draws in here depends on the client's key only; a model that draws is never stacked."""
        if not self.draws:
            yield
            return
        device = next(self.module.parameters()).device
        with generator_lock, torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(int(keys[0]))
            yield

    def can_be_stacked(self, x: torch.Tensor) -> bool:
        """Whether vmap takes the model, in training and in evaluation: tried with two clients that have `x` each."""
        network, clients = self.copy(), 2
        model = {name: torch.stack([tensor] * clients) for name, tensor in network.initial().items()}
        params, buffers = [model[name] for name in self.parameters], {name: model[name] for name in self.buffers}
        keys = torch.zeros(clients, dtype=torch.int64, device=x.device)
        both, labels = torch.stack([x] * clients), torch.zeros(clients, len(x), dtype=torch.int64, device=x.device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                stacked_gradients(network, params, network.with_keys(buffers, keys), both, labels, None)
                network.logits(model, both)
            except Exception:
                # Whatever it is: the same forward pass works for one client, `draws_numbers` has gone through it.
                return False
        return True

    def with_keys(self, buffers: Tensors, keys: torch.Tensor) -> Tensors:
        return {**buffers, **dict.fromkeys(self.keys, keys)} if self.keys else buffers


def first_rows(tensors: Tensors) -> Tensors:
    return {name: tensor[0] for name, tensor in tensors.items()}


def draws_numbers(network: Network, x: torch.Tensor) -> bool:
    """Whether a forward pass of `x`, in training or evaluation, moves torch's default generator."""
    module, device = copy.deepcopy(network.module), x.device
    with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        before = generator_states(device)
        for training in (True, False):
            module.train(training)(x)
        return not all(map(torch.equal, before, generator_states(device)))


def generator_states(device: torch.device) -> list[torch.Tensor]:
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def pool_before_relu(module: nn.Module) -> None:
    """max(relu(x)) is relu(max(x)), value and gradient, to the bit: after pooling there is a quarter of the work."""
    for sequence in [each for each in module.modules() if type(each) is nn.Sequential]:
        for at, (first, second) in enumerate(pairwise(list(sequence))):
            if type(first) is nn.ReLU and type(second) is nn.MaxPool2d:
                sequence[at], sequence[at + 1] = second, first


def make_network(spec: RunSpec, device: torch.device) -> Network:
    network = Network(make_module(spec, device), label_smoothing=spec.local.label_smoothing)
    network.draws = network.chain is None and draws_numbers(network, example_input(spec, device))
    return network


def make_module(spec: RunSpec, device: torch.device, draw: int = 0) -> nn.Module:
    """Built in float32 from the `init` stream, then brought to the precision of the run; the run's own is draw 0."""
    catalog = load_catalog()
    classes = catalog.strategies[spec.strategy.name].model_classes(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(spec.seed, "init", round=draw).integers(2**63)))
        module = catalog.models[spec.model.name].build(spec.dataset_facts.shape, classes, spec.model)
    return module.to(device=device, dtype=dtype_of(spec))


def example_input(spec: RunSpec, device: torch.device) -> torch.Tensor:
    """Two samples (batch statistics need as many) for looking at what a model does, whatever it learns."""
    return torch.zeros(2, *spec.dataset_facts.shape, dtype=dtype_of(spec), device=device)


def dtype_of(spec: RunSpec) -> torch.dtype:
    return torch.float64 if spec.precision == "float64" else torch.float32


def stacked_gradients(
    network: Network,
    params: Sequence[torch.Tensor],
    buffers: Tensors,
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None,
    loss_of: LossFunction | None = None,
) -> Gradients:
    """Losses [clients] and gradients [clients, ...] of a stack: one vmapped forward pass, one backward pass.

    The clients' losses are summed: no client's loss depends on another's parameters. Plain chains of linear layers
    have a backward pass of their own, without the bookkeeping that costs more than they do.
    """
    if network.chain is not None and not network.label_smoothing and loss_of is None:
        return chain_gradients(network.chain, list(params), x, y, weights)
    leaves = [param.detach().requires_grad_() for param in params]
    model = dict(zip(network.parameters, leaves, strict=True))
    if loss_of is None:
        each = network.cross_entropy(network.stacked(model, buffers, x), y)
    else:
        each = loss_of(*network.stacked_pair(model, buffers, x))
    losses = each.mean(1) if weights is None else (each * weights).sum(1)
    return losses.detach(), list(torch.autograd.grad(losses.sum(), leaves))


def is_convolutional(module: nn.Module) -> bool:
    return any(isinstance(each, nn.Conv1d | nn.Conv2d | nn.Conv3d) for each in module.modules())


def takes_channels_last(module: nn.Module) -> bool:
    """Whether every convolution is of a kind that is sound with the channel last in memory, and faster.

    Others are not: with torch 2.13.0 on this project's machines a 1 x 1 convolution to 4 channels corrupts memory.
    """
    layers = [each for each in module.modules() if isinstance(each, nn.modules.conv._ConvNd)]
    return bool(layers) and all(
        isinstance(layer, nn.Conv2d)
        and layer.groups == 1
        and layer.kernel_size in ((3, 3), (5, 5))
        and layer.stride == (1, 1)
        and (layer.in_channels in (1, 3) or layer.in_channels % 16 == 0)
        and layer.out_channels % 16 == 0
        for layer in layers
    )


def with_faster_layout(network: Network, x: torch.Tensor) -> torch.Tensor:
    """Pictures with the channel last in memory, where that is faster: on the CPU, in single precision."""
    if network.channels_last and x.dtype == torch.float32 and x.device.type == "cpu":
        return x.contiguous(memory_format=torch.channels_last)
    return x


def single_gradients(
    network: Network,
    params: Sequence[torch.Tensor],
    buffers: Tensors,
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None,
    loss_of: LossFunction | None = None,
) -> Gradients:
    """The same for a stack of one, as plain PyTorch would compute it: the reference."""
    leaves = [param[0].detach().requires_grad_() for param in params]
    own = first_rows(buffers)
    model, inputs = dict(zip(network.parameters, leaves, strict=True)), with_faster_layout(network, x[0])
    smoothing = network.label_smoothing
    if loss_of is not None:
        logits, representations = network.call_pair(model, own, inputs)
        each = loss_of(logits[None], representations[None])[0]
        loss = each.mean() if weights is None else (each * weights[0]).sum()
    elif weights is None:
        loss = F.cross_entropy(network.call(model, own, inputs), y[0], label_smoothing=smoothing)
    else:
        logits = network.call(model, own, inputs)
        loss = (F.cross_entropy(logits, y[0], reduction="none", label_smoothing=smoothing) * weights[0]).sum()
    return loss.detach()[None], [gradient[None] for gradient in torch.autograd.grad(loss, leaves)]
