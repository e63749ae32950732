"""Compressors of movements, as parts of a spec; what they compute is in `workers/engine/compression.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workers.catalog.part import Part, choice_of
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec


class Compressor(Part):
    """Acts on w_i - w over all parameters; the server gets w + C(w_i - w). Batch statistics are sent whole."""

    feedback: bool = True
    """Error feedback: what was left out is kept by its sender and added to its next movement."""
    direction: Literal["up", "both"] = "up"
    """up: what clients send. both: also how the global model moved since the last round, told to all clients."""

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        from workers.catalog import load_catalog

        strategy = load_catalog().strategies[spec.strategy.name]
        if not strategy.sends_models(spec.strategy):
            yield Problem(
                path, f"{strategy.label} does not send every client's model in every round: choose another strategy."
            )


class TopK(Compressor):
    """The k values that moved furthest, of all parameters together; the others are sent as 0.

    A value travels with its place: 4 bytes more (8 in double precision for the value).
    """

    label = "Top k"
    paper = "Stich et al.: Sparsified SGD with Memory, NeurIPS 2018"
    name: Literal["top-k"] = "top-k"
    share: float = Field(0.01, gt=0, le=1)
    """k as a share of all parameters, one at least."""


class RandomK(Compressor):
    """k values at random places, drawn anew by client and round; the others are sent as 0.

    Places need not travel: both sides know the stream. Without error feedback values are multiplied by n / k, so that
    the movement is right on average.
    """

    label = "Random k"
    paper = "Stich et al.: Sparsified SGD with Memory, NeurIPS 2018"
    name: Literal["random-k"] = "random-k"
    share: float = Field(0.01, gt=0, le=1)
    """k as a share of all parameters, one at least."""


class Quantise(Compressor):
    """Each value in `bits` bits: rounded up or down at random to a multiple of max|d| / (2^(bits - 1) - 1).

    The chance is such that the value is right on average. The greatest value of each tensor travels along.
    """

    label = "Quantise"
    paper = "Alistarh et al.: QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding, NeurIPS 2017"
    name: Literal["quantise"] = "quantise"
    bits: int = Field(8, ge=2, le=16)
    """Bits of a value, its sign included."""


class Sign(Compressor):
    """The sign of each value, times the mean of |d| over its tensor: one bit a value."""

    label = "Sign"
    paper = "Karimireddy et al.: Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019"
    name: Literal["sign"] = "sign"


COMPRESSORS: tuple[type[Compressor], ...] = (TopK, RandomK, Quantise, Sign)
if TYPE_CHECKING:
    CompressionChoice = Compressor
else:
    CompressionChoice = choice_of(COMPRESSORS)
