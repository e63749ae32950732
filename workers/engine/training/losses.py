"""Mean losses of a stack of clients on samples of their own: forward passes only, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from workers.engine.messages.arrays import Tensors
from workers.engine.training.network import Network

Take = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""From rows of the stack and an index [rows, width] to inputs and labels."""


@torch.no_grad()
def mean_losses(
    network: Network, model: Tensors, parts: Sequence[np.ndarray], take: Take, batch_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy of row i of the stacked `model` on the samples `parts[i]`, and how many they are; 0 of none."""
    some = next(iter(model.values()))
    sizes = torch.tensor([len(part) for part in parts], device=some.device)
    totals = torch.zeros(len(parts), dtype=some.dtype, device=some.device)
    for rows, index, real in padded_batches(parts, batch_size, some.device):
        x, y = take(rows, index)
        logits = network.logits({name: tensor[rows] for name, tensor in model.items()}, x)
        each = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(y.shape)
        totals[rows] += torch.where(real, each, 0).sum(1)
    return totals / sizes.clamp(min=1), sizes


def padded_batches(
    parts: Sequence[np.ndarray], batch_size: int, device: torch.device
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Rows that have samples left, their next samples, and which of them are no padding."""
    sizes = np.array([len(part) for part in parts])
    for first in range(0, int(sizes.max(initial=0)), batch_size):
        rows = np.flatnonzero(sizes > first)
        width = min(batch_size, int(sizes.max()) - first)
        places = first + np.arange(width)
        real = places < sizes[rows][:, None]
        index = np.stack([parts[row][np.minimum(places, sizes[row] - 1)] for row in rows.tolist()])
        yield tuple(torch.from_numpy(each).to(device) for each in (rows, index, real))  # type: ignore[misc]
