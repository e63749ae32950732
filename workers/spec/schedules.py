"""How the clients' learning rate goes over the rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workers.catalog.part import Part, choice_of


class LearningRateSchedule(Part):
    """A factor of `local.optimizer.lr` for each round: it rises over `warmup` rounds, then follows its course."""

    warmup: int = Field(0, ge=0)
    """Rounds over which the rate rises evenly from nothing to itself."""

    def factor(self, number: int, rounds: int) -> float:
        """Of round `number`, counted from 1, of so many."""
        if number <= self.warmup:
            return number / self.warmup
        return self.course(number - self.warmup - 1, max(1, rounds - self.warmup))

    def course(self, done: int, rounds: int) -> float:
        """After so many rounds of as many as there are without the warm-up."""
        return 1.0


class ConstantSchedule(LearningRateSchedule):
    """The learning rate stays as it is."""

    label = "Constant"
    name: Literal["constant"] = "constant"


class StepSchedule(LearningRateSchedule):
    """Multiplied by `gamma` each so many rounds: lr gamma^floor(t / every)."""

    label = "Step"
    name: Literal["step"] = "step"
    every: int = Field(10, ge=1)
    """Rounds between two steps."""
    gamma: float = Field(0.1, gt=0, le=1)
    """What the rate is multiplied by at each step."""

    def course(self, done: int, rounds: int) -> float:
        return float(self.gamma ** (done // self.every))


class ExponentialSchedule(LearningRateSchedule):
    """Multiplied by `gamma` after every round: lr gamma^t."""

    label = "Exponential"
    name: Literal["exponential"] = "exponential"
    gamma: float = Field(0.99, gt=0, le=1)
    """What the rate is multiplied by after each round."""

    def course(self, done: int, rounds: int) -> float:
        return float(self.gamma**done)


class CosineSchedule(LearningRateSchedule):
    """Falls along half a cosine over the rounds of the run: lr (least + (1 - least) (1 + cos(pi t / T)) / 2)."""

    label = "Cosine"
    paper = "Loshchilov and Hutter: SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017"
    name: Literal["cosine"] = "cosine"
    least: float = Field(0.0, ge=0, lt=1)
    """The share of the rate that it would fall to after the last round."""

    def course(self, done: int, rounds: int) -> float:
        return self.least + (1 - self.least) * (1 + math.cos(math.pi * done / rounds)) / 2


SCHEDULES: tuple[type[LearningRateSchedule], ...] = (
    ConstantSchedule,
    StepSchedule,
    ExponentialSchedule,
    CosineSchedule,
)
if TYPE_CHECKING:
    ScheduleChoice = LearningRateSchedule
else:
    ScheduleChoice = choice_of(SCHEDULES)
