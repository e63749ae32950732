"""Gradients of plain chains of linear layers (logistic regression, MLPs) on stacked parameters, written out.

For small models autograd's bookkeeping costs several times the arithmetic. The result is the same to rounding.
Values between layers have a column for each sample, [clients, values, samples]: that form multiplies fastest.

A whole step is one call of TorchScript: threads that each train a stack would otherwise queue for Python's lock
after every single operation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
from torch import nn

Chain = list[bool]
"""For each linear layer whether a ReLU follows it."""
Gradients = tuple[torch.Tensor, list[torch.Tensor]]

compiled_functions: dict[Callable[..., Any], Callable[..., Any]] = {}
compile_lock = Lock()


def chain_of(module: nn.Module) -> Chain | None:
    """None unless the module is a sequence of Flatten, then Linear layers with bias and ReLU between them only."""
    layers = list(module.children()) if type(module) is nn.Sequential else []
    if layers and type(layers[0]) is nn.Flatten and layers[0].start_dim == 1:
        layers = layers[1:]
    relu_follows: list[bool] = []
    for layer, before in zip(layers, [None, *layers], strict=False):
        if type(layer) is nn.Linear and layer.bias is not None:
            relu_follows.append(False)
        elif type(layer) is nn.ReLU and type(before) is nn.Linear:
            relu_follows[-1] = True
        else:
            return None
    return relu_follows if relu_follows and not relu_follows[-1] else None


def chain_gradients(
    chain: Chain, params: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None
) -> Gradients:
    """Mean cross-entropy per client and its gradients; `params` are weight, bias, weight, bias, ..., each stacked."""
    result: Gradients = for_device(x.device, compute_gradients)(chain, params, x.flatten(2), y, weights)
    return result


@dataclass(frozen=True)
class Descent:
    """Gradient descent, with momentum if any, as torch.optim.SGD does it without Nesterov's look ahead."""

    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0


def chain_descend(
    chain: Chain,
    params: list[torch.Tensor],
    velocity: list[torch.Tensor],
    samples: tuple[torch.Tensor, torch.Tensor],
    index: torch.Tensor,
    weights: torch.Tensor | None,
    descent: Descent,
) -> torch.Tensor:
    """One step on the samples and labels at `index`, in place; plain gradients are never written down.

    `velocity` has what momentum keeps, a tensor for each of `params`; without momentum it is empty.
    """
    x, y = samples
    lr, momentum, decay = descent.lr, descent.momentum, descent.weight_decay
    losses: torch.Tensor = for_device(x.device, descend)(
        chain, params, velocity, x, y, index, weights, lr, momentum, decay
    )
    return losses


def for_device(device: torch.device, function: Callable[..., Any]) -> Callable[..., Any]:
    """A GPU has one thread and nobody to queue behind, and an error such as too little memory keeps its type."""
    return script_once(function) if device.type == "cpu" else function


def script_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled once, by one thread: Python 3.11 may fail to parse in two threads at a time."""
    if function not in compiled_functions:
        with compile_lock, warnings.catch_warnings():
            # TorchScript has had its last new feature, but has no successor that needs no compiler.
            warnings.simplefilter("ignore", DeprecationWarning)
            if function not in compiled_functions:
                compiled_functions[function] = torch.jit.script(function)
    return compiled_functions[function]


# From here on only what TorchScript understands.


def compute_gradients(
    chain: list[bool],
    params: list[torch.Tensor],
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    inputs, logits = forward(chain, params, x)
    losses, error = cross_entropy(logits, y, weights, 1.0)
    errors = backward(chain, params, inputs, error)
    grads: list[torch.Tensor] = []
    for layer in range(len(chain)):
        grads.append(torch.bmm(errors[layer], inputs[layer].transpose(1, 2)))
        grads.append(errors[layer].sum(2))
    return losses, grads


def descend(
    chain: list[bool],
    params: list[torch.Tensor],
    velocity: list[torch.Tensor],
    samples: torch.Tensor,
    labels: torch.Tensor,
    index: torch.Tensor,
    weights: torch.Tensor | None,
    lr: float,
    momentum: float,
    weight_decay: float,
) -> torch.Tensor:
    plain = len(velocity) == 0
    flat = index.reshape(-1)
    x = samples.index_select(0, flat).view([index.shape[0], index.shape[1], -1])
    y = labels.index_select(0, flat).view_as(index)
    inputs, logits = forward(chain, params, x)
    losses, error = cross_entropy(logits, y, weights, -lr if plain else 1.0)
    errors = backward(chain, params, inputs, error)
    if plain:
        decay_and_add(params, 1.0 - lr * weight_decay, errors, inputs)
    else:
        decay_and_add(velocity, momentum, errors, inputs)
        for number, speed in enumerate(velocity):
            if weight_decay != 0.0:
                speed.add_(params[number], alpha=weight_decay)
            params[number].add_(speed, alpha=-lr)
    return losses


def decay_and_add(
    stacks: list[torch.Tensor], factor: float, errors: list[torch.Tensor], inputs: list[torch.Tensor]
) -> None:
    """Multiplies `stacks` by that factor and adds the gradients."""
    for layer in range(len(inputs)):
        stacks[2 * layer].baddbmm_(errors[layer], inputs[layer].transpose(1, 2), beta=factor)
        bias = stacks[2 * layer + 1]
        if factor != 1.0:
            bias.mul_(factor)
        bias.add_(errors[layer].sum(2))


def forward(chain: list[bool], params: list[torch.Tensor], x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """What goes into each layer, and what comes out of the last."""
    values = x.transpose(1, 2)
    inputs: list[torch.Tensor] = []
    for layer in range(len(chain)):
        inputs.append(values)
        values = torch.baddbmm(params[2 * layer + 1].unsqueeze(2), params[2 * layer], values)
        if chain[layer]:
            values = values.relu_()
    return inputs, values


def backward(
    chain: list[bool], params: list[torch.Tensor], inputs: list[torch.Tensor], error: torch.Tensor
) -> list[torch.Tensor]:
    """The derivative by what came out of each layer."""
    errors = [error]
    for behind in range(len(chain) - 1):
        layer = len(chain) - 1 - behind
        below = torch.bmm(params[2 * layer].transpose(1, 2), errors[0])
        if chain[layer - 1]:
            below = torch.ops.aten.threshold_backward(below, inputs[layer], 0.0)
        errors.insert(0, below)
    return errors


def cross_entropy(
    logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss per client and `scale` times its derivative: (softmax - one-hot), weighted per sample."""
    logs = torch.log_softmax(logits, 1)
    labels = y.unsqueeze(1)
    each = logs.gather(1, labels)
    error = logs.exp_().scatter_(1, labels, -1.0, reduce="add")
    if weights is None:
        return each.mean([1, 2]).neg_(), error.mul_(scale / y.shape[1])
    shares = weights.unsqueeze(1)
    return (each * shares).sum([1, 2]).neg_(), error.mul_(shares * scale)
