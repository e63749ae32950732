"""Clipping and noise on the server or on the clients, and the epsilon that follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import ARRAYS
from workers.engine.server.averaging import array_record
from workers.engine.training.rule import Contribution, LocalRule, LocalWork
from workers.errors import TributaryError
from workers.privacy.guarantees import CentralPrivacy, Privacy
from workers.strategies._composition import Aggregation, ComposedServer
from workers.strategies._weighting import movements_weighted, squared_movement
from workers.streams import stream

if TYPE_CHECKING:
    from workers.spec import RunSpec

EPSILON, CLIP = "privacy.epsilon", "privacy.clip"
COUNT_SHARE = 1 / 20
NOISE_PRECISION = 1e-3
MOST_NOISE = 2.0**20


class Accountant:
    """What so many rounds cost. Replacing a client moves a sum of clipped movements by 2 clip, hence noise / 2.

    `sampled` has how many clients are drawn for a round, and from how many; None where drawing gains nothing.
    """

    def __init__(self, noise: float, delta: float, sampled: tuple[int, int] | None) -> None:
        self.delta = delta
        self.orders, self.one_round = renyi_divergences(noise, sampled)

    def epsilon(self, rounds: int) -> float:
        from dp_accounting.rdp import compute_epsilon

        return float(compute_epsilon(self.orders, self.one_round * rounds, self.delta)[0])


@lru_cache(maxsize=64)
def renyi_divergences(noise: float, sampled: tuple[int, int] | None) -> tuple[np.ndarray, np.ndarray]:
    """Of one round at each order, by dp-accounting."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    event: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(noise / 2)
    if sampled is not None and sampled[0] < sampled[1]:
        event = dp_accounting.SampledWithoutReplacementDpEvent(sampled[1], sampled[0], event)
    accountant.compose(event)
    return np.array(accountant._orders), np.array(accountant._rdp)


def accountant_for(part: Privacy, spec: RunSpec) -> tuple[Accountant, float]:
    """And the noise that goes with it: as given, or the least that keeps epsilon after the last round."""
    sampled = (spec.cohort_size, spec.candidates) if isinstance(part, CentralPrivacy) else None
    noise = part.noise
    if noise is None:
        assert part.epsilon is not None
        noise = least_noise(part.epsilon, part.delta, spec.rounds, sampled)
    return Accountant(noise, part.delta, sampled), noise


@lru_cache(maxsize=64)
def least_noise(epsilon: float, delta: float, rounds: int, sampled: tuple[int, int] | None) -> float:
    low, high = 0.0, 1.0
    while Accountant(high, delta, sampled).epsilon(rounds) > epsilon and high < MOST_NOISE:
        low, high = high, 2 * high
    while high - low > NOISE_PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if Accountant(middle, delta, sampled).epsilon(rounds) > epsilon else (low, middle)
    return high


class PrivateMean(Aggregation):
    """The plain mean of clipped movements, with noise of deviation noise clip / n on every parameter."""

    def __init__(self, part: Privacy, spec: RunSpec) -> None:
        self.first_clip, self.seed = part.clip, spec.seed
        self.accountant, self.noise = accountant_for(part, spec)

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        records = [array_record(reply, ARRAYS) for reply in replies]
        lengths = np.sqrt([squared_movement(server, record, list(server.sent)) for record in records])
        clip = self.clip(server)
        factors = np.minimum(1, clip / np.maximum(lengths, 1e-300)) / len(replies)
        mean = movements_weighted(server, replies, factors.tolist())
        rng = stream(self.seed, "privacy", round=server.round)
        server.reported |= {
            EPSILON: self.accountant.epsilon(server.round),
            "privacy.clipped": float((lengths > clip).sum()),
        }
        deviation = self.noise * clip / len(replies)
        noisy = {name: value + deviation * normal_like(value, rng) for name, value in mean.items()}
        self.follow(server, lengths, rng)
        return noisy

    def clip(self, server: ComposedServer) -> float:
        """Of this round."""
        return self.first_clip

    def follow(self, server: ComposedServer, lengths: np.ndarray, rng: np.random.Generator) -> None:
        """Looks at how long movements were, for the next round."""


class AdaptivelyClippedMean(PrivateMean):
    """The clip goes to where that share of the clients is left as it is; their number is counted with noise, too.

    Replacing a client moves the sum by 2 clip and the number by 1: (2 / z)^2 + (1 / count_noise)^2 is (2 / noise)^2.
    """

    def __init__(self, part: CentralPrivacy, spec: RunSpec) -> None:
        super().__init__(part, spec)
        self.quantile, self.rate = part.quantile, part.clip_lr
        self.count_noise = part.count_noise or max(spec.cohort_size * COUNT_SHARE, self.noise)
        self.noise = noise_beside_count(self.noise, self.count_noise)

    def clip(self, server: ComposedServer) -> float:
        return float(server.state[CLIP]) if CLIP in server.state else self.first_clip

    def follow(self, server: ComposedServer, lengths: np.ndarray, rng: np.random.Generator) -> None:
        clip = self.clip(server)
        unclipped = (float((lengths <= clip).sum()) + self.count_noise * rng.standard_normal()) / len(lengths)
        server.reported[CLIP] = clip
        new_clip = clip * math.exp(-self.rate * (unclipped - self.quantile))
        server.state[CLIP] = torch.tensor(new_clip, dtype=torch.float64)


def noise_beside_count(noise: float, count_noise: float) -> float:
    """What movements get, so that both together cost no more than that noise on movements alone."""
    rest = noise**-2 - (2 * count_noise) ** -2
    if rest <= 0:
        raise TributaryError(
            f"This epsilon takes noise {noise:.4g}, and the count alone would cost more: set privacy.count_noise to "
            f"more than {noise / 2:.4g}."
        )
    return float(rest**-0.5)


class LocalNoise(LocalRule):
    """Clips the client's movement and adds noise to it, once all else is done."""

    def __init__(self, part: Privacy, spec: RunSpec) -> None:
        self.clip, self.seed = part.clip, spec.seed
        self.accountant, self.noise = accountant_for(part, spec)

    def finish(self, work: LocalWork) -> Contribution:
        movements = {name: values - work.anchor[name] for name, values in work.params.items()}
        squares = torch.stack([each.flatten(1).square().sum(1) for each in movements.values()]).sum(0)
        factors = (self.clip / squares.sqrt().clamp(min=1e-300)).clamp(max=1)
        streams = [stream(self.seed, "privacy", client=client, round=work.round) for client in work.clients]
        for name, values in work.params.items():
            noise = torch.stack([normal_like(values[0], rng) for rng in streams])
            shortened = movements[name] * factors.view(-1, *[1] * (values.ndim - 1))
            values.copy_(work.anchor[name] + shortened + self.noise * self.clip * noise)
        return Contribution()


class LocalPrivacyReport(Aggregation):
    """Tells the epsilon beside whatever the models are aggregated with."""

    def __init__(self, inner: Aggregation, accountant: Accountant) -> None:
        self.inner, self.accountant = inner, accountant

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        server.reported[EPSILON] = self.accountant.epsilon(server.round)
        return self.inner.combine(server, replies)


def normal_like(value: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(tuple(value.shape))).to(value)


def make_private(part: Privacy, spec: RunSpec, aggregation: Aggregation) -> tuple[Aggregation, LocalRule | None]:
    """The aggregation, and what clients do besides."""
    if isinstance(part, CentralPrivacy):
        return (AdaptivelyClippedMean if part.adaptive else PrivateMean)(part, spec), None
    noise = LocalNoise(part, spec)
    return LocalPrivacyReport(aggregation, noise.accountant), noise
