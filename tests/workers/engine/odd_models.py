"""Models as a lab may write them, of kinds that vmap does not take: for tests."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class FunctionalDropout(nn.Module):
    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(inputs, 16), nn.Linear(16, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(F.dropout(F.relu(self.first(x)), 0.5, training=self.training))
        return out


class AlwaysDropout(FunctionalDropout):
    """Forgets that evaluation is no training."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(F.dropout(F.relu(self.first(x)), 0.5))
        return out


class Attention(nn.Module):
    """A sequence of single values, an encoder layer with its default dropout, the mean over the sequence."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.widen, self.last = nn.Linear(1, 8), nn.Linear(8, classes)
        self.encoder = nn.TransformerEncoderLayer(8, 2, dim_feedforward=8, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(self.encoder(self.widen(x.unsqueeze(-1))).mean(1))
        return out


class Recurrent(nn.Module):
    """A sequence of single values; two layers with dropout between them."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU], classes: int) -> None:
        super().__init__()
        self.layers = kind(1, 8, num_layers=2, dropout=0.3, batch_first=True)
        self.last = nn.Linear(8, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(self.layers(x.unsqueeze(-1))[0][:, -1])
        return out


ODD_MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "functional": FunctionalDropout,
    "always": AlwaysDropout,
    "transformer": Attention,
    "lstm": lambda inputs, classes: Recurrent(nn.LSTM, classes),
    "gru": lambda inputs, classes: Recurrent(nn.GRU, classes),
}
"""From the number of inputs and of classes to the module."""
