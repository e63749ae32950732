"""What malicious clients send in place of their models, all of a round at once: a row of each stack is one client's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import torch

from workers.attacks.attack import Attack
from workers.attacks.data_attacks import Backdoor
from workers.attacks.update_attacks import Alie, Gaussian, Ipm, Scaling, SignFlip
from workers.engine.messages.arrays import Tensors


class UpdateAttack:
    """Overrides `value`, or `poisoned` where parameters are not treated alike."""

    def poisoned(
        self, sent: Tensors, malicious: Tensors, honest: Tensors, streams: Sequence[np.random.Generator]
    ) -> Tensors:
        """Of each parameter what the malicious clients send: from the server's, their own and the honest clients'.

        `streams` has each malicious client's own of the round.
        """
        return {name: self.value(value, malicious[name], honest[name]) for name, value in sent.items()}

    def value(self, sent: torch.Tensor, malicious: torch.Tensor, honest: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class Scale(UpdateAttack):
    """w + factor (w_i - w)."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def value(self, sent: torch.Tensor, malicious: torch.Tensor, honest: torch.Tensor) -> torch.Tensor:
        return sent + self.factor * (malicious - sent)


class Noise(UpdateAttack):
    """w + N(0, deviation^2)."""

    def __init__(self, deviation: float) -> None:
        self.deviation = deviation

    def poisoned(
        self, sent: Tensors, malicious: Tensors, honest: Tensors, streams: Sequence[np.random.Generator]
    ) -> Tensors:
        def noise(like: torch.Tensor) -> torch.Tensor:
            draws = np.stack([rng.standard_normal(tuple(like.shape)) for rng in streams])
            return torch.from_numpy(draws).to(like)

        return {name: value + self.deviation * noise(value) for name, value in sent.items()}


class LittleIsEnough(UpdateAttack):
    """mean - z std over the honest models."""

    def __init__(self, z: float | None) -> None:
        self.z = z

    def value(self, sent: torch.Tensor, malicious: torch.Tensor, honest: torch.Tensor) -> torch.Tensor:
        if not len(honest):
            return malicious
        z = self.z if self.z is not None else safe_deviations(len(honest), len(malicious))
        return (honest.mean(0) - z * honest.std(0, correction=0)).expand_as(malicious)


def safe_deviations(honest: int, malicious: int) -> float:
    """The quantile of (n - m - s) / (n - m), with s = floor(n / 2 + 1) - m, one at least; never below 0."""
    supporters = max(1, (honest + malicious) // 2 + 1 - malicious)
    share = (honest - supporters) / honest
    return max(0.0, NormalDist().inv_cdf(share)) if share > 0 else 0.0


class OpposeMean(UpdateAttack):
    """w - epsilon mean_honest(w_i - w)."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def value(self, sent: torch.Tensor, malicious: torch.Tensor, honest: torch.Tensor) -> torch.Tensor:
        if not len(honest):
            return malicious
        return (sent - self.epsilon * (honest.mean(0) - sent)).expand_as(malicious)


def update_attack(attack: Attack) -> UpdateAttack | None:
    """None where malicious clients send what they trained."""
    match attack:
        case SignFlip():
            return Scale(-attack.scale)
        case Scaling():
            return Scale(attack.factor)
        case Backdoor() if attack.boost != 1:
            return Scale(attack.boost)
        case Gaussian():
            return Noise(attack.deviation)
        case Alie():
            return LittleIsEnough(attack.z)
        case Ipm():
            return OpposeMean(attack.epsilon)
    return None
