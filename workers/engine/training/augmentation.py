"""Random crops and flips of training pictures, each sample's own, drawn from its client's stream.

The result is that of torchvision's `v2.functional.pad`, `crop` and `horizontal_flip`; all samples of a stack are one
gather. The draws depend on client, round, step and place in the batch alone: every engine path sees the same pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from workers.catalog import load_catalog
from workers.streams import keyed_uniforms

if TYPE_CHECKING:
    from workers.spec import RunSpec

PADDING = 4
"""Pixels of black on each side, out of which a picture of the old size is cut."""
DOWN, RIGHT, FLIP = 0, 1, 2
DRAWS, PLACES = 4, 2**20
"""Draws of a sample, and places in a batch."""


class Augmentation:
    """`kind` is crop, flip or crop-flip; `black` is a black pixel's value in each channel, as the samples have it."""

    def __init__(self, kind: str, black: torch.Tensor) -> None:
        self.crops, self.flips, self.black = "crop" in kind, "flip" in kind, black

    def apply(self, x: torch.Tensor, keys: np.ndarray, step: int) -> torch.Tensor:
        """Of pictures [clients, samples, channels, height, width], in that step of the clients with these keys."""
        draws = sample_draws(keys, x.shape[1], step)
        flat = x.flatten(0, 1)
        if self.crops:
            offsets = np.floor(draws[:, :, :2] * (2 * PADDING + 1)).astype(np.int64).reshape(-1, 2)
            flat = crop(flat, torch.from_numpy(offsets).to(x.device), self.black)
        if self.flips:
            mirrored = torch.from_numpy(draws[:, :, FLIP].reshape(-1) < 0.5).to(x.device)
            flat = torch.where(mirrored.view(-1, 1, 1, 1), flat.flip(-1), flat)
        return flat.view_as(x)


def sample_draws(keys: np.ndarray, width: int, step: int) -> np.ndarray:
    """Numbers in [0, 1) for each client, place and draw."""
    places = np.arange(width, dtype=np.uint64)[:, None] * np.uint64(DRAWS) + np.arange(DRAWS, dtype=np.uint64)
    counters = places + np.uint64(step * DRAWS * PLACES)
    return keyed_uniforms(keys[:, None, None], counters[None])


def crop(x: torch.Tensor, offsets: torch.Tensor, black: torch.Tensor) -> torch.Tensor:
    """Of each picture, with `PADDING` pixels of black around it, the part that begins `offsets` down and right."""
    count, channels, height, width = x.shape
    framed = black.view(1, -1, 1, 1).expand(count, channels, height + 2 * PADDING, width + 2 * PADDING).clone()
    framed[:, :, PADDING : PADDING + height, PADDING : PADDING + width] = x
    rows = offsets[:, 0, None] + torch.arange(height, device=x.device)
    columns = offsets[:, 1, None] + torch.arange(width, device=x.device)
    pictures = torch.arange(count, device=x.device).view(-1, 1, 1)
    return framed.movedim(1, -1)[pictures, rows[:, :, None], columns[:, None, :]].movedim(-1, 1).contiguous()


def make_augmentation(spec: RunSpec, like: torch.Tensor) -> Augmentation | None:
    """With black as the data set's normalisation makes it, on the device of `like`."""
    if spec.local.augment == "none":
        return None
    constants = load_catalog().datasets[spec.dataset.name].normalisation(spec.dataset.normalise)
    channels = spec.dataset_facts.shape[0]
    black = [-mean / std for mean, std in zip(constants.mean, constants.std, strict=True)] if constants else [0.0]
    values = torch.tensor(black if len(black) == channels else black[:1] * channels)
    return Augmentation(spec.local.augment, values.to(like))
