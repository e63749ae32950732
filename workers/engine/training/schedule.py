"""Which samples each client of a stack sees at each local step. Numpy, vectorised over clients and steps.

Clients are sorted by their number of steps, so those that are still at work are the first rows of the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from workers.streams import keyed_draws

BLOCK = 2**21
"""Most indices made at once."""
KEY_BITS = 44

Rows = slice | torch.Tensor


@dataclass(slots=True)  # not frozen: that takes longer to make than the rest of a batch
class Batch:
    """One local step of some rows of the stack. `weights` is None where no sample is padding."""

    step: int
    rows: Rows
    index: torch.Tensor
    labels: torch.Tensor
    counts: torch.Tensor
    weights: torch.Tensor | None


class Layout(NamedTuple):
    """Where a schedule's batches are, for whoever takes them one client after the other; clients are sorted by steps.

    Step t of a client is batch w of epoch e, where e, w = divmod(t, per_epoch): the places in `order` from
    `e * strides + offsets + w * batch_size` on, to the end of its `sizes` samples at most.
    """

    order: np.ndarray
    offsets: np.ndarray
    strides: np.ndarray
    sizes: np.ndarray
    per_epoch: np.ndarray
    steps: np.ndarray
    batch_size: int


class Schedule:
    """The batches of one round for clients with these samples, of all that `labels` has.

    Every client takes `steps` steps where that is given, going through its samples as often as that needs.
    `parts` has a number in [0, 1) for each straggler: of its T steps it takes 1 + floor(part * (T - 1)).
    Without padding, batches of different size are steps of their own, and a last batch of one sample joins the
    batch before it: batch statistics of one sample do not exist. A client of a single sample then takes no step.
    """

    def __init__(
        self,
        samples: Sequence[np.ndarray],
        keys: np.ndarray,
        labels: torch.Tensor,
        *,
        epochs: int,
        batch_size: int,
        parts: Sequence[float | None],
        padded: bool,
        dtype: torch.dtype,
        steps: int | None = None,
    ) -> None:
        self.batch_size, self.padded, self.labels, self.dtype = batch_size, padded, labels, dtype
        self.device = labels.device
        self.sizes = np.array([len(each) for each in samples], dtype=np.int64)
        self.per_epoch = steps_per_epoch(self.sizes, batch_size, padded=padded)
        self.steps = self.per_epoch * epochs if steps is None else np.where(self.per_epoch > 0, steps, 0)
        for row, part in enumerate(parts):
            if part is not None:
                self.steps[row] = min(self.steps[row], 1 + int(part * (self.steps[row] - 1)))
        self.offsets = np.cumsum(self.sizes) - self.sizes
        self.strides = np.full(len(self.sizes), self.sizes.sum())
        if steps is None:
            self.order = shuffle_epochs(samples, self.sizes, keys, epochs)
        else:
            passes = -(-steps // np.maximum(self.per_epoch, 1))
            self.offsets, self.strides = np.cumsum(passes * self.sizes) - passes * self.sizes, self.sizes
            self.order = shuffle_passes(samples, self.sizes, keys, passes)
        self.by_steps = np.argsort(-self.steps, kind="stable")

    @property
    def layout(self) -> Layout:
        """Of a padded schedule: nobody's last batch of one sample has joined another."""
        assert self.padded
        rows = self.by_steps
        return Layout(
            self.order,
            self.offsets[rows],
            self.strides[rows],
            self.sizes[rows],
            self.per_epoch[rows],
            self.steps[rows],
            self.batch_size,
        )

    def batches(self) -> Iterator[Batch]:
        return self.batches_until(self.steps)

    def first_epoch(self) -> Iterator[Batch]:
        """Every client's samples once, also those that it will not reach."""
        return self.batches_until(self.per_epoch)

    def batches_until(self, steps: np.ndarray) -> Iterator[Batch]:
        longest = int(steps.max(initial=0))
        width = self.batch_size + (0 if self.padded else 1)
        block = max(1, BLOCK // max(1, len(self.sizes) * width))
        for first in range(0, longest, block):
            yield from self.batches_in_block(first, min(first + block, longest), width, steps)

    def batches_in_block(self, first: int, last: int, width: int, ends: np.ndarray) -> Iterator[Batch]:
        """All steps from first to last: index [steps, clients, width] and how many of each are real."""
        rows, steps = self.by_steps, np.arange(first, last)[:, None]
        per_epoch = np.maximum(self.per_epoch[rows], 1)
        epoch, within = np.divmod(steps, per_epoch)
        start = within * self.batch_size
        counts = np.where(within == per_epoch - 1, self.sizes[rows] - start, self.batch_size)
        places = (epoch * self.strides[rows] + self.offsets[rows] + start)[..., None] + np.arange(width)
        index = torch.from_numpy(self.order[np.minimum(places, len(self.order) - 1)]).to(self.device)
        active = ends[rows] > steps
        alike = active.all(1) & (counts == counts[:, :1]).all(1)
        labels = self.labels[index]
        everyone, full, full_labels = slice(0, len(rows)), self.full_batches(index), self.full_batches(labels)
        for at, (step, real) in enumerate(zip(range(first, last), torch.from_numpy(counts).unbind(), strict=True)):
            if alike[at] and counts[at, 0] == self.batch_size:
                yield Batch(step, everyone, full[at], full_labels[at], real, None)
            elif alike[at]:
                size = counts[at, 0]
                yield Batch(step, everyone, index[at, :, :size], labels[at, :, :size], real, None)
            else:
                yield from self.batches_of_step(step, index[at], labels[at], counts[at], active[at])

    def full_batches(self, block: torch.Tensor) -> Sequence[torch.Tensor]:
        return block[:, :, : self.batch_size].unbind()

    def batches_of_step(
        self, step: int, index: torch.Tensor, labels: torch.Tensor, counts: np.ndarray, active: np.ndarray
    ) -> Iterator[Batch]:
        """One batch, or without padding one per batch size. Rows are a slice wherever they can be."""
        sizes = np.unique(counts[active])[::-1]
        for size in sizes[:1] if self.padded else sizes:
            mask = active if self.padded else active & (counts == size)
            rows = rows_of(np.flatnonzero(mask), self.device)
            real = counts[mask]
            weights = self.weights(real, size) if self.padded and len(sizes) > 1 else None
            yield Batch(step, rows, index[rows, :size], labels[rows, :size], torch.from_numpy(real), weights)

    def weights(self, counts: np.ndarray, most: int) -> torch.Tensor:
        real = np.arange(most) < counts[:, None]
        return torch.from_numpy(real / counts[:, None]).to(self.device, self.dtype)


def rows_of(places: np.ndarray, device: torch.device) -> Rows:
    if places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return torch.from_numpy(places).to(device)


def steps_per_epoch(sizes: np.ndarray, batch_size: int, *, padded: bool) -> np.ndarray:
    steps = -(-sizes // batch_size)
    return steps if padded else steps - (sizes % batch_size == 1)


def samples_seen(size: int, steps: int, batch_size: int, *, padded: bool) -> int:
    """How many samples (repeated ones too) a client of that size went through in that many steps."""
    per_epoch = max(1, int(steps_per_epoch(np.array(size), batch_size, padded=padded)))
    epochs, rest = divmod(steps, per_epoch)
    return epochs * size + rest * batch_size


def shuffle_epochs(samples: Sequence[np.ndarray], sizes: np.ndarray, keys: np.ndarray, epochs: int) -> np.ndarray:
    """For each epoch every client's samples in a new order: one sort of random keys with the client in front."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    counters = (np.arange(epochs)[:, None] << 32) + places
    draws = keyed_draws(keys[owners], counters) >> np.uint64(64 - KEY_BITS)
    ranks = np.argsort(draws | owners.astype(np.uint64) << np.uint64(KEY_BITS), axis=1, kind="stable")
    return np.concatenate(samples)[ranks].reshape(-1)


def shuffle_passes(
    samples: Sequence[np.ndarray], sizes: np.ndarray, keys: np.ndarray, passes: np.ndarray
) -> np.ndarray:
    """As `shuffle_epochs`, but every client as many times as it has passes, all of its own one after the other."""
    parts = []
    for row, own in enumerate(samples):
        counters = (np.arange(passes[row])[:, None] << 32) + np.arange(sizes[row])
        draws = keyed_draws(keys[row], counters) >> np.uint64(64 - KEY_BITS)
        parts.append(own[np.argsort(draws, axis=1, kind="stable")].reshape(-1))
    return np.concatenate(parts)
