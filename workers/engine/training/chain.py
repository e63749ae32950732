"""Local training of plain chains of linear layers (logistic regression, MLPs) on stacked parameters, written out.

For small models autograd's bookkeeping costs several times the arithmetic. The result is the same to rounding.
Values between layers have a column for each sample, [clients, values, samples]: that form multiplies fastest, and a
stack of one client costs no more than plain matrices.

Many steps are one call of TorchScript: gradient, what the strategy adds to it, and the optimizer's step, without
Python in between. Threads that each train a stack would otherwise queue for Python's lock after every operation.

On a CPU in float32 whole epochs are computed by `compiled_chain` instead; this serves accelerators and float64.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

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
    grads = [torch.empty_like(param) for param in params]
    losses: torch.Tensor = for_device(x.device, compute_gradients)(chain, params, grads, x.flatten(2), y, weights)
    return losses, grads


class Update(NamedTuple):
    """What an optimizer does with a gradient, in numbers: torch.optim's SGD, or its Adam (`decoupled`: AdamW)."""

    lr: float
    weight_decay: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False
    adam: bool = False
    decoupled: bool = False
    beta1: float = 0.0
    beta2: float = 0.0
    eps: float = 0.0


@dataclass(frozen=True)
class ChainState:
    """What training a stack goes on with from step to step: all but the samples, a tensor for each parameter.

    `first` and `second` are the optimizer's moments, as far as it has some. To every gradient comes
    `pull` * (parameter - anchor) and `gradient_term`; `step_term` is taken from the parameters after every step.
    """

    params: list[torch.Tensor]
    first: list[torch.Tensor]
    second: list[torch.Tensor]
    losses: torch.Tensor
    pull: float = 0.0
    anchor: list[torch.Tensor] = field(default_factory=list)
    gradient_term: list[torch.Tensor] = field(default_factory=list)
    step_term: list[torch.Tensor] = field(default_factory=list)

    @property
    def is_plain(self) -> bool:
        return not (self.pull or self.gradient_term)

    def scratch(self, update: Update) -> list[torch.Tensor]:
        """For gradients; none where they go straight into the parameters or the momentum."""
        straight = not update.adam and not update.nesterov and (update.momentum != 0.0 or self.is_plain)
        return [] if straight else [torch.empty_like(param) for param in self.params]

    def arguments(self, update: Update, scratch: list[torch.Tensor]) -> tuple[Any, ...]:
        """What compiled functions take, whose arguments are tensors and numbers."""
        terms = self.pull, self.anchor, self.gradient_term, self.step_term
        return self.params, self.first, self.second, scratch, self.losses, *terms, update


def train_chain(
    chain: Chain,
    state: ChainState,
    update: Update,
    samples: torch.Tensor,
    index: Sequence[torch.Tensor],
    labels: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor | None],
    step: int,
) -> None:
    """Steps on the samples at each `index` [rows, width], in place; `step` counts those that were before.

    A step is of the first rows of the stack, as many as its index has. The losses are added up.
    """
    for_device(samples.device, take_steps)(
        chain,
        *state.arguments(update, state.scratch(update)),
        samples,
        list(index),
        list(labels),
        list(weights),
        step,
    )


def score_chain(
    chain: Chain, params: Sequence[torch.Tensor], x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Each sample's loss and predicted class, by one model."""
    logits = forward(chain, [param.unsqueeze(0) for param in params], x.flatten(1)[None])[-1][0]
    losses = torch.log_softmax(logits, 0).gather(0, y.unsqueeze(0))[0].neg_()
    return losses, logits.max(0).indices


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
    grads: list[torch.Tensor],
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None,
) -> torch.Tensor:
    values = forward(chain, params, x)
    losses = torch.zeros([x.shape[0]], dtype=x.dtype, device=x.device)
    error = cross_entropy(values[-1], y, weights, losses)
    backward(chain, params, values, error, grads, 0.0, share_of_one(y, weights), ones_for(y, x))
    return losses


def take_steps(
    chain: list[bool],
    params: list[torch.Tensor],
    first: list[torch.Tensor],
    second: list[torch.Tensor],
    scratch: list[torch.Tensor],
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
    rows = params[0].shape[0]
    own, means, squares, grads, totals = params, first, second, scratch, losses
    count = torch.full([], float(step), device=losses.device)
    ones = torch.ones([0, 0, 1], dtype=samples.dtype, device=samples.device)
    for number, places in enumerate(index):
        if places.shape[0] != rows:
            rows = places.shape[0]
            own, means, squares = first_rows(params, rows), first_rows(first, rows), first_rows(second, rows)
            grads, totals = first_rows(scratch, rows), losses[:rows]
            gradient_term, step_term = first_rows(gradient_term, rows), first_rows(step_term, rows)
        x = samples.index_select(0, places.reshape(-1)).view([rows, places.shape[1], -1])
        if ones.shape[0] != rows or ones.shape[1] != x.shape[1]:
            ones = ones_for(places, x)
        values = forward(chain, own, x)
        error = cross_entropy(values[-1], labels[number], weights[number], totals)
        share = share_of_one(labels[number], weights[number])
        if len(grads) == 0 and len(means) == 0:
            # Nobody wants to see the gradient: it goes straight into the parameters.
            decay = 1.0 - update.lr * update.weight_decay
            backward(chain, own, values, error, own, decay, -update.lr * share, ones)
        else:
            into = means if len(grads) == 0 else grads
            backward(chain, own, values, error, into, update.momentum if len(grads) == 0 else 0.0, share, ones)
            add_terms(own, into, pull, anchor, gradient_term)
            if update.adam:
                count += 1
            apply_update(own, into, means, squares, update, count, len(grads) == 0)
        if len(step_term) > 0:
            torch._foreach_sub_(own, step_term)


def add_terms(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    pull: float,
    anchor: list[torch.Tensor],
    gradient_term: list[torch.Tensor],
) -> None:
    if pull != 0.0:
        for at, gradient in enumerate(grads):
            gradient.add_(params[at] - anchor[at], alpha=pull)
    if len(gradient_term) > 0:
        torch._foreach_add_(grads, gradient_term)


def first_rows(stacks: list[torch.Tensor], rows: int) -> list[torch.Tensor]:
    return [stack[:rows] for stack in stacks]


def apply_update(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    first: list[torch.Tensor],
    second: list[torch.Tensor],
    update: Update,
    count: torch.Tensor,
    in_momentum: bool,
) -> None:
    """The optimizer's step number `count`, in place. `in_momentum`: the gradients were added to the momentum already,

    which decayed, and are given as what has become of it. Otherwise they may be overwritten.
    """
    if update.adam:
        if update.decoupled and update.weight_decay != 0.0:
            torch._foreach_mul_(params, 1.0 - update.lr * update.weight_decay)
        none: list[torch.Tensor] = []
        torch.ops.aten._fused_adam_(
            params,
            grads,
            first,
            second,
            none,
            [count for _ in params],
            lr=update.lr,
            beta1=update.beta1,
            beta2=update.beta2,
            weight_decay=0.0 if update.decoupled else update.weight_decay,
            eps=update.eps,
            amsgrad=False,
            maximize=False,
        )
        return
    if update.weight_decay != 0.0:
        torch._foreach_add_(grads, params, alpha=update.weight_decay)
    if update.momentum != 0.0 and not in_momentum:
        torch._foreach_mul_(first, update.momentum)
        torch._foreach_add_(first, grads)
        if update.nesterov:
            torch._foreach_add_(grads, first, alpha=update.momentum)
        else:
            grads = first
    torch._foreach_add_(params, grads, alpha=-update.lr)


def forward(chain: list[bool], params: list[torch.Tensor], x: torch.Tensor) -> list[torch.Tensor]:
    """What goes into each layer, and last what comes out of the last."""
    values = [x.transpose(1, 2)]
    for layer, relu_follows in enumerate(chain):
        value = torch.baddbmm(params[2 * layer + 1].unsqueeze(2), params[2 * layer], values[-1])
        values.append(value.relu_() if relu_follows else value)
    return values


def backward(
    chain: list[bool],
    params: list[torch.Tensor],
    values: list[torch.Tensor],
    error: torch.Tensor,
    into: list[torch.Tensor],
    factor: float,
    scale: float,
    ones: torch.Tensor,
) -> torch.Tensor:
    """From the derivative by what came out: multiplies `into` by `factor` and adds `scale` times the gradients.

    Returns the derivative by what came out of the first layer. `into` may be the parameters themselves: a layer is
    changed once nothing below needs it any more.
    """
    for behind in range(len(chain)):
        layer = len(chain) - 1 - behind
        below = error
        if layer > 0:
            below = torch.bmm(params[2 * layer].transpose(1, 2), error)
            if chain[layer - 1]:
                below = torch.ops.aten.threshold_backward(below, values[layer], 0.0)
        into[2 * layer].baddbmm_(error, values[layer].transpose(1, 2), beta=factor, alpha=scale)
        into[2 * layer + 1].unsqueeze(2).baddbmm_(error, ones, beta=factor, alpha=scale)
        if layer > 0:
            error = below
    return error


def cross_entropy(
    logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None, losses: torch.Tensor
) -> torch.Tensor:
    """The derivative of the sum of the samples' losses: (softmax - one-hot), weighted where they are.

    Adds each client's loss to `losses`: the mean, or the sum where samples are weighted.
    """
    logs = torch.log_softmax(logits, 1)
    labels = y.unsqueeze(1)
    each = logs.gather(1, labels)
    error = logs.exp_().scatter_(1, labels, -1.0, reduce="add")
    if weights is None:
        losses.sub_(each.sum([1, 2]), alpha=1.0 / y.shape[1])
        return error
    shares = weights.unsqueeze(1)
    losses.sub_((each * shares).sum([1, 2]))
    return error.mul_(shares)


def share_of_one(y: torch.Tensor, weights: torch.Tensor | None) -> float:
    """What a sample counts in the mean, beyond its weight."""
    return 1.0 / y.shape[1] if weights is None else 1.0


def ones_for(y: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A column that sums over the samples of each client, in a product."""
    return torch.ones([1, 1, 1], dtype=like.dtype, device=like.device).expand([y.shape[0], y.shape[1], 1])
