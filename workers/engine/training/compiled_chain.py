"""Chains of linear layers on a CPU in float32: from stacks of tensors to the compiled functions, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from workers.engine.training.chain import Chain, ChainState, Update
from workers.engine.training.schedule import Layout

Stacks = Sequence[torch.Tensor]
"""Weight, bias, weight, bias, ..., each with a row for every client."""


def is_compiled(samples: torch.Tensor) -> bool:
    return samples.device.type == "cpu" and samples.dtype == torch.float32


@cache
def functions() -> Any:
    """numba takes half a second to import: whoever trains no chain need not wait for it."""
    from workers.engine.training import chain_kernels

    return chain_kernels


def compile_ahead() -> None:
    """Some seconds that the first run of a new installation need not wait."""
    y, order = torch.zeros(2, dtype=torch.int64), np.zeros(2, dtype=np.int64)
    ones = np.ones(1, dtype=np.int64)
    state = ChainState([torch.zeros(1, 2, 3), torch.zeros(1, 2)], [], [], torch.zeros(1))
    layout = Layout(order, 0 * ones, 2 * ones, 2 * ones, ones, ones, 2)
    compiled_training([False], state, Update(0.1), torch.zeros(2, 3), y, layout, None).advance(0, 1)
    compiled_scores([False], [torch.zeros(2, 3), torch.zeros(2)], torch.zeros(2, 3), y)


@cache
def layers_of(widths: tuple[int, ...], chain: tuple[bool, ...]) -> Any:
    return functions().layers_of(list(widths), list(chain))


def widths_of(weights: Stacks) -> tuple[int, ...]:
    return (weights[0].shape[-1], *(weight.shape[-2] for weight in weights))


@dataclass(frozen=True)
class CompiledTraining:
    """A stack in training: `rows` has what becomes of its parameters, `losses` each client's losses, added up."""

    layers: Any
    batches: Any
    numbers: Any
    samples: np.ndarray
    rows: np.ndarray
    moments: tuple[np.ndarray, np.ndarray]
    terms: tuple[np.ndarray, np.ndarray, np.ndarray]
    class_weights: np.ndarray
    losses: np.ndarray

    def advance(self, first: int, last: int) -> None:
        """Steps `first` to `last` of every client that has so many."""
        functions().train(
            self.layers,
            self.batches,
            self.numbers,
            self.samples,
            self.rows,
            *self.moments,
            *self.terms,
            self.class_weights,
            first,
            last,
            self.losses,
        )

    def write_into(self, stacks: Stacks) -> None:
        at = 0
        for stack in stacks:
            size = stack[0].numel()
            stack.view(len(stack), size).copy_(torch.from_numpy(self.rows[:, at : at + size]))
            at += size


def compiled_training(
    chain: Chain,
    state: ChainState,
    update: Update,
    samples: torch.Tensor,
    labels: torch.Tensor,
    layout: Layout,
    class_weights: torch.Tensor | None,
) -> CompiledTraining:
    """`labels` has what is learned of each sample of `layout.order`."""
    compiled = functions()
    layers = layers_of(widths_of(state.params[::2]), tuple(chain))
    clients, moments = len(state.params[0]), 2 if update.adam else 1 if update.momentum else 0
    return CompiledTraining(
        layers,
        compiled.Batches(whole(layout.order), labels.numpy(), *map(whole, layout[1:-1]), layout.batch_size),
        compiled.Numbers(*map(plain_number, update), pull=float(state.pull)),
        samples.flatten(1).numpy(),
        rows_of(state.params),
        (moment_rows(clients, layers.size, moments > 0), moment_rows(clients, layers.size, moments > 1)),
        (rows_of(state.gradient_term), rows_of(state.step_term), flat(state.anchor)),
        np.empty(0, np.float32) if class_weights is None else class_weights.numpy(),
        state.losses.numpy(),
    )


# Values of other types would have the functions compiled once more.


def plain_number(value: Any) -> bool | float:
    return value if isinstance(value, bool) else float(value)


def whole(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.int64)


def moment_rows(clients: int, size: int, exist: bool) -> np.ndarray:
    return np.zeros((clients, size if exist else 0), np.float32)


def rows_of(stacks: Stacks) -> np.ndarray:
    if not stacks:
        return np.empty((0, 0), np.float32)
    return torch.cat([stack.flatten(1) for stack in stacks], 1).numpy()


def flat(tensors: Stacks) -> np.ndarray:
    if not tensors:
        return np.empty(0, np.float32)
    return torch.cat([tensor.reshape(-1) for tensor in tensors]).numpy()


def compiled_scores(
    chain: Chain, params: Stacks, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `score_chain`."""
    losses, predictions = torch.empty(len(y), dtype=torch.float32), torch.empty(len(y), dtype=torch.int64)
    layers = layers_of(widths_of(params[::2]), tuple(chain))
    rows = x.flatten(1).contiguous().numpy()
    functions().score(layers, flat(params), rows, y.contiguous().numpy(), losses.numpy(), predictions.numpy())
    return losses, predictions
