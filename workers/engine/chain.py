"""Gradients of plain chains of linear layers (logistic regression, MLPs) on stacked parameters, written out.

For small models autograd's bookkeeping costs several times the arithmetic. The result is the same to rounding.
Values between layers have a column for each sample, [clients, values, samples]: that form multiplies fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import nn

Chain = tuple[bool, ...]
"""For each linear layer whether a ReLU follows it."""


def chain_of(module: nn.Module) -> Chain | None:
    """None unless the module is a sequence of Flatten, then Linear layers with bias and ReLU between them only."""
    layers = list(module.children()) if type(module) is nn.Sequential else []
    if layers and type(layers[0]) is nn.Flatten and layers[0].start_dim == 1:
        layers = layers[1:]
    followed: list[bool] = []
    for layer, before in zip(layers, [None, *layers], strict=False):
        if type(layer) is nn.Linear and layer.bias is not None:
            followed.append(False)
        elif type(layer) is nn.ReLU and type(before) is nn.Linear:
            followed[-1] = True
        else:
            return None
    return tuple(followed) if followed and not followed[-1] else None


def chain_gradients(
    chain: Chain, params: Sequence[torch.Tensor], x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Mean cross-entropy per client and its gradients; `params` are weight, bias, weight, bias, ..., each stacked."""
    inputs, logits = forward(chain, params, x.flatten(2))
    losses, error = cross_entropy(logits, y, weights)
    grads: list[torch.Tensor] = []
    for layer, each in backward(chain, params, inputs, error):
        grads[:0] = [torch.bmm(each, inputs[layer].transpose(1, 2)), each.sum(2)]
    return losses, grads


def chain_descend(
    chain: Chain,
    params: Sequence[torch.Tensor],
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None,
    lr: float,
) -> torch.Tensor:
    """One step of plain gradient descent, in place; the gradients themselves are never written down."""
    inputs, logits = forward(chain, params, x.flatten(2))
    losses, error = cross_entropy(logits, y, weights, scale=-lr)
    for layer, each in backward(chain, params, inputs, error):
        params[2 * layer].baddbmm_(each, inputs[layer].transpose(1, 2))
        params[2 * layer + 1].add_(each.sum(2))
    return losses


def forward(chain: Chain, params: Sequence[torch.Tensor], x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """What goes into each layer, and what comes out of the last."""
    values = x.transpose(1, 2)
    inputs = []
    for layer, followed in enumerate(chain):
        inputs.append(values)
        values = torch.baddbmm(params[2 * layer + 1].unsqueeze(2), params[2 * layer], values)
        if followed:
            values = values.relu_()
    return inputs, values


def backward(
    chain: Chain, params: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], error: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor]]:
    """Each layer, the last one first, with the derivative by what came out of it; the layer may then be changed."""
    for layer in reversed(range(len(chain))):
        above = error
        if layer:
            error = torch.bmm(params[2 * layer].transpose(1, 2), above)
            if chain[layer - 1]:
                error = torch.ops.aten.threshold_backward(error, inputs[layer], 0)
        yield layer, above


def cross_entropy(
    logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None, scale: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss per client and `scale` times its derivative: (softmax - one-hot), weighted per sample."""
    logs = torch.log_softmax(logits, 1)
    labels = y.unsqueeze(1)
    each = logs.gather(1, labels)
    error = logs.exp_()
    error.scatter_(1, labels, -1, reduce="add")
    if weights is None:
        error *= scale / y.shape[1]
        return each.mean((1, 2)).neg_(), error
    shares = weights.unsqueeze(1)
    error *= shares * scale
    return (each * shares).sum((1, 2)).neg_(), error
