"""Dropout whose mask depends on the client, the round, the step and the position only, never on the stack."""

from __future__ import annotations

import torch
from torch import nn

KEY = "dropout_key"
WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15 - WORD
FIRST, SECOND = 0xBF58476D1CE4E5B9 - WORD, 0x94D049BB133111EB - WORD


def step_offset(step: int) -> int:
    """What sets one local step's key apart from another's, as an int64."""
    return ((step * (GOLDEN + WORD) + WORD // 2) % WORD) - WORD // 2


def shift_right(values: torch.Tensor, bits: int) -> torch.Tensor:
    """A logical right shift: torch's own drags the sign along."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def scramble_bits(values: torch.Tensor) -> torch.Tensor:
    """SplitMix64's finishing step, as in `workers.streams`, on int64 that wraps around."""
    values = (values ^ shift_right(values, 30)) * FIRST
    values = (values ^ shift_right(values, 27)) * SECOND
    return values ^ shift_right(values, 31)


class KeyedDropout(nn.Module):
    """nn.Dropout (or Dropout2d: whole channels) with a mask that is a hash of the `key` and each position."""

    dropout_key: torch.Tensor

    def __init__(self, share: float, layer: int, *, channels: bool) -> None:
        super().__init__()
        self.share, self.layer, self.channels = share, layer, channels
        self.register_buffer(KEY, torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or not self.share:
            return x
        shape = (*x.shape[:2], *[1] * (x.ndim - 2)) if self.channels else x.shape
        return x * self.mask(torch.Size(shape), x.device).to(x.dtype) / (1 - self.share)

    def mask(self, shape: torch.Size, device: torch.device) -> torch.Tensor:
        """True where a value stays."""
        places = torch.arange(shape.numel(), device=device).view(shape) + (self.layer << 40)
        draws = shift_right(scramble_bits(scramble_bits(self.dropout_key + GOLDEN) + places * GOLDEN), 11)
        return draws >= round(self.share * 2**53)


def replace_dropout(module: nn.Module) -> list[str]:
    """Replaces every dropout layer in place (a copy of a module has them replaced already); returns their keys."""
    names: list[str] = []
    for name, child in list(module.named_modules()):
        if isinstance(child, nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d):
            parent_name, _, own = name.rpartition(".")
            keyed = KeyedDropout(child.p, len(names), channels=not isinstance(child, nn.Dropout))
            setattr(module.get_submodule(parent_name), own, keyed)
        if isinstance(child, KeyedDropout | nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d):
            names.append(f"{name}.{KEY}")
    return names
