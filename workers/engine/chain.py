"""Gradients of plain chains of linear layers (logistic regression, MLPs) on stacked parameters, written out.

For small models autograd's bookkeeping costs several times the arithmetic. The result is the same to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    for layer in reversed(range(len(chain))):
        grads[:0] = [torch.bmm(error.transpose(1, 2), inputs[layer]), error.sum(1)]
        if layer:
            error = torch.bmm(error, params[2 * layer])
            if chain[layer - 1]:
                error *= inputs[layer] > 0
    return losses, grads


def forward(chain: Chain, params: Sequence[torch.Tensor], x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """What goes into each layer, and what comes out of the last."""
    inputs = []
    for layer, followed in enumerate(chain):
        inputs.append(x)
        x = torch.baddbmm(params[2 * layer + 1].unsqueeze(1), x, params[2 * layer].transpose(1, 2))
        if followed:
            x = x.relu_()
    return inputs, x


def cross_entropy(
    logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss per client and its derivative: (softmax - one-hot), weighted per sample."""
    logs = torch.log_softmax(logits, 2)
    labels = y.unsqueeze(2)
    each = logs.gather(2, labels).squeeze(2)
    error = logs.exp_()
    error.scatter_(2, labels, -1, reduce="add")
    if weights is None:
        error /= y.shape[1]
        return -each.mean(1), error
    error *= weights.unsqueeze(2)
    return -(each * weights).sum(1), error
