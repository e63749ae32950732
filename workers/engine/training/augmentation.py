"""Random crops and flips of training pictures, each sample's own, by torchvision's transforms v2.

What is done to a sample is drawn from its client's stream: the draws depend on client, round, step and place in the
batch alone, so that every engine path sees the same pictures. `v2.RandomCrop` and `v2.RandomHorizontalFlip` would draw
from torch's generator, once for a whole batch; so their functional forms are called, with our numbers.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import torch

from workers.catalog import load_catalog
from workers.streams import keyed_uniforms
from workers.torchvision_shim import import_torchvision

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
        self.crops, self.flips, self.black = "crop" in kind, "flip" in kind, black.tolist()

    def apply(self, x: torch.Tensor, keys: np.ndarray, step: int) -> torch.Tensor:
        """Of pictures [clients, samples, channels, height, width], in that step of the clients with these keys."""
        draws = sample_draws(keys, x.shape[1], step)
        flat = x.flatten(0, 1)
        if self.crops:
            offsets = np.floor(draws[:, :, :2] * (2 * PADDING + 1)).astype(np.int64).reshape(-1, 2)
            flat = crop(flat, offsets, self.black)
        if self.flips:
            mirrored = torch.from_numpy(draws[:, :, FLIP].reshape(-1) < 0.5).to(x.device)
            flat = torch.where(mirrored.view(-1, 1, 1, 1), transforms().horizontal_flip_image(flat), flat)
        return flat.view_as(x)


def sample_draws(keys: np.ndarray, width: int, step: int) -> np.ndarray:
    """Numbers in [0, 1) for each client, place and draw."""
    places = np.arange(width, dtype=np.uint64)[:, None] * np.uint64(DRAWS) + np.arange(DRAWS, dtype=np.uint64)
    counters = places + np.uint64(step * DRAWS * PLACES)
    return keyed_uniforms(keys[:, None, None], counters[None])


def crop(x: torch.Tensor, offsets: np.ndarray, black: list[float]) -> torch.Tensor:
    """Of each picture, with `PADDING` pixels of black around it, the part that begins `offsets` down and right.

    A crop is a view, and all of them are copied at once. Milliseconds against one gather with an index for every pixel,
    on one thread: 32 pictures of 3 x 32 x 32 0.3 : 0.6, 320 of them 4.7 : 29, 128 of 3 x 64 x 64 4.4 : 55; only many
    tiny ones are slower, 640 of 1 x 28 x 28 11 : 4.
    """
    height, width = x.shape[-2:]
    framed = transforms().pad_image(x, [PADDING], fill=black)
    crop_image = transforms().crop_image
    return torch.stack(
        [
            crop_image(picture, down, right, height, width)
            for picture, (down, right) in zip(framed.unbind(), offsets.tolist(), strict=True)
        ]
    )


def transforms() -> ModuleType:
    """torchvision's `transforms.v2.functional`, imported by runs that augment only."""
    import_torchvision()
    return importlib.import_module("torchvision.transforms.v2.functional")


def make_augmentation(spec: RunSpec, like: torch.Tensor) -> Augmentation | None:
    """With black as the data set's normalisation makes it, on the device of `like`."""
    if spec.local.augment == "none":
        return None
    constants = load_catalog().datasets[spec.dataset.name].normalisation(spec.dataset.normalise)
    channels = spec.dataset_facts.shape[0]
    black = [-mean / std for mean, std in zip(constants.mean, constants.std, strict=True)] if constants else [0.0]
    values = torch.tensor(black if len(black) == channels else black[:1] * channels)
    return Augmentation(spec.local.augment, values.to(like))
