"""Local training of one client's plain CNN, written out: convolutions, pooling and ReLU, then a chain of linear layers.

As in `chain`, many steps are one call of TorchScript and nothing is kept for autograd. Pictures, values between layers
and weights have the channel last in memory all the way, which is what oneDNN computes fastest: the step of a small CNN
takes three quarters of what autograd takes for it. Clients are computed one at a time: convolutions of a stack have
nothing to share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from workers.engine.training.chain import (
    Chain,
    ChainState,
    Update,
    add_terms,
    apply_update,
    backward,
    chain_of,
    cross_entropy,
    forward,
    ones_for,
    script_once,
    share_of_one,
)


@dataclass(frozen=True)
class Convolutions:
    """The convolutions of a plain CNN by their padding, whether 2 x 2 pooling and a ReLU follow, and its linear end."""

    paddings: list[int]
    pooled: list[bool]
    relu_follows: list[bool]
    dense: Chain


def convolutions_of(module: nn.Module) -> Convolutions | None:
    """None unless it is a sequence of convolutions of stride 1, each with pooling and ReLU or not, and a chain."""
    layers = list(module.children()) if type(module) is nn.Sequential else []
    flatten = next((at for at, layer in enumerate(layers) if type(layer) is nn.Flatten), 0)
    dense = chain_of(nn.Sequential(*layers[flatten:]))
    paddings: list[int] = []
    pooled: list[bool] = []
    relu_follows: list[bool] = []
    for layer in layers[:flatten]:
        if type(layer) is nn.Conv2d and is_plain(layer):
            paddings.append(int(layer.padding[0]))
            pooled.append(False)
            relu_follows.append(False)
        elif type(layer) is nn.MaxPool2d and halves(layer) and paddings and not pooled[-1] and not relu_follows[-1]:
            pooled[-1] = True
        elif type(layer) is nn.ReLU and paddings and not relu_follows[-1]:
            relu_follows[-1] = True
        else:
            return None
    return Convolutions(paddings, pooled, relu_follows, dense) if paddings and dense is not None else None


def is_plain(layer: nn.Conv2d) -> bool:
    padding = layer.padding
    return (
        layer.bias is not None
        and (layer.stride, layer.dilation, layer.groups) == ((1, 1), (1, 1), 1)
        and layer.padding_mode == "zeros"
        and not isinstance(padding, str)
        and padding[0] == padding[1]
    )


def halves(layer: nn.MaxPool2d) -> bool:
    shape = [layer.kernel_size, layer.stride, layer.padding, layer.dilation]
    sizes = [each if isinstance(each, int) else tuple(each) for each in shape]
    return sizes[0] in (2, (2, 2)) and sizes[1] in (2, (2, 2)) and sizes[2] in (0, (0, 0)) and not layer.ceil_mode


def channels_last(stack: torch.Tensor) -> torch.Tensor:
    """The one client of a stack, a copy; the weights of a convolution with their channel last in memory."""
    own = stack[0].clone()
    return own.contiguous(memory_format=torch.channels_last) if own.ndim == 4 else own


def train_convolutions(
    convolutions: Convolutions,
    state: ChainState,
    update: Update,
    samples: torch.Tensor,
    index: Sequence[torch.Tensor],
    labels: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor | None],
    step: int,
) -> None:
    """As `train_chain`, for a stack of one client whose tensors are laid out as `channels_last` has them, unstacked."""
    script_once(take_steps)(
        convolutions.paddings,
        convolutions.pooled,
        convolutions.relu_follows,
        convolutions.dense,
        *state.arguments(update, [torch.empty_like(param) for param in state.params]),
        samples,
        list(index),
        list(labels),
        list(weights),
        step,
    )


# From here on only what TorchScript understands.


def take_steps(
    paddings: list[int],
    pooled: list[bool],
    relu_follows: list[bool],
    dense: list[bool],
    params: list[torch.Tensor],
    first: list[torch.Tensor],
    second: list[torch.Tensor],
    grads: list[torch.Tensor],
    losses: torch.Tensor,
    pull: float,
    anchor: list[torch.Tensor],
    gradient_term: list[torch.Tensor],
    step_term: list[torch.Tensor],
    update: Update,
    samples: torch.Tensor,
    index: list[torch.Tensor],
    labels: list[torch.Tensor],
    weights: list[torch.Tensor | None],
    step: int,
) -> None:
    layers = len(paddings)
    dense_params = [each.unsqueeze(0) for each in params[2 * layers :]]
    dense_grads = [each.unsqueeze(0) for each in grads[2 * layers :]]
    count = torch.full([], float(step))
    for number, places in enumerate(index):
        value = samples.index_select(0, places.reshape(-1)).permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
        values = [value]
        planes: list[torch.Tensor] = []
        places_of_most: list[torch.Tensor] = []
        for layer in range(layers):
            value = torch.conv2d(value, params[2 * layer], params[2 * layer + 1], padding=paddings[layer])
            planes.append(value)
            most = value
            if pooled[layer]:
                value, most = torch.ops.aten.max_pool2d_with_indices(value, [2, 2], [2, 2], [0, 0], [1, 1], False)
            places_of_most.append(most)
            if relu_follows[layer]:
                value = value.relu_()
            values.append(value)
        dense_values = forward(dense, dense_params, value.reshape([1, value.shape[0], -1]))
        error = cross_entropy(dense_values[-1], labels[number], weights[number], losses)
        error.mul_(share_of_one(labels[number], weights[number]))
        error = backward(
            dense, dense_params, dense_values, error, dense_grads, 0.0, 1.0, ones_for(labels[number], value)
        )
        below = to_pictures(torch.mm(error[0].t(), dense_params[0][0]), value)
        for behind in range(layers):
            layer = layers - 1 - behind
            if relu_follows[layer]:
                below = torch.ops.aten.threshold_backward(below, values[layer + 1], 0.0)
            if pooled[layer]:
                below = torch.ops.aten.max_pool2d_with_indices_backward(
                    below, planes[layer], [2, 2], [2, 2], [0, 0], [1, 1], False, places_of_most[layer]
                )
            # Two calls: without a gradient by its input the first layer's answer has a hole.
            if layer > 0:
                below, weight, bias = convolution_gradients(
                    below, values[layer], params[2 * layer], paddings[layer], True
                )
            else:
                _, weight, bias = convolution_gradients(below, values[layer], params[2 * layer], paddings[layer], False)
            grads[2 * layer].copy_(weight)
            grads[2 * layer + 1].copy_(bias)
        add_terms(params, grads, pull, anchor, gradient_term)
        count += 1
        apply_update(params, grads, first, second, update, count, False)
        if len(step_term) > 0:
            torch._foreach_sub_(params, step_term)


def convolution_gradients(
    error: torch.Tensor, value: torch.Tensor, weight: torch.Tensor, padding: int, by_input: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gradients: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = torch.ops.aten.convolution_backward(
        error,
        value,
        weight,
        [weight.shape[0]],
        [1, 1],
        [padding, padding],
        [1, 1],
        False,
        [0, 0],
        1,
        [by_input, True, True],
    )
    return gradients


def to_pictures(rows: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Rows of flattened pictures, laid out with the channel last."""
    samples, channels, height, width = like.shape[0], like.shape[1], like.shape[2], like.shape[3]
    last = rows.view([samples, channels, height * width]).transpose(1, 2).contiguous()
    return last.view([samples, height, width, channels]).permute([0, 3, 1, 2])
