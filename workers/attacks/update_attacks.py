"""Attacks on the models that malicious clients send; they train as honest clients do. Batch statistics stay."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workers.attacks.attack import Attack


class SignFlip(Attack):
    """Malicious clients send their movement turned round: w - scale (w_i - w)."""

    label = "Sign flip"
    paper = "Li et al.: RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning, AAAI 2019"
    name: Literal["sign-flip"] = "sign-flip"
    scale: float = Field(1.0, gt=0)
    """How far it goes, against the length of the true movement."""


class Scaling(Attack):
    """Malicious clients send a multiple of their movement: w + factor (w_i - w)."""

    label = "Scaling"
    paper = "Bagdasaryan et al.: How To Backdoor Federated Learning, AISTATS 2020"
    name: Literal["scaling"] = "scaling"
    factor: float = Field(10.0, gt=0)
    """How many times the true movement."""


class Gaussian(Attack):
    """Malicious clients send the global model with Gaussian noise on every parameter: w + N(0, deviation^2)."""

    label = "Gaussian noise"
    paper = "Blanchard et al.: Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"
    name: Literal["gaussian"] = "gaussian"
    deviation: float = Field(1.0, gt=0)
    """Standard deviation of the noise."""


class Alie(Attack):
    """A little is enough: all malicious clients send the honest models' mean less z standard deviations.

    Coordinate by coordinate mean - z std over the round's honest clients, whom the attackers know (the paper's estimate
    both from their own). Empty z is the paper's: of n clients of which m are malicious, the standard normal quantile of
    (n - m - s) / (n - m), with s = floor(n / 2 + 1) - m honest ones whom the attackers need on their side.
    """

    label = "A little is enough"
    paper = "Baruch et al.: A Little Is Enough: Circumventing Defenses For Distributed Learning, NeurIPS 2019"
    name: Literal["alie"] = "alie"
    z: float | None = Field(None, gt=0)
    """Standard deviations from the mean; empty takes as many as the paper finds safe from being noticed."""


class Ipm(Attack):
    """Inner product manipulation: all malicious clients send -epsilon times the honest clients' mean movement.

    w - epsilon mean_honest(w_i - w): a small epsilon keeps them near the others, and turns the mean round all the same
    where they are many enough; a large one is a sign flip in concert.
    """

    label = "Inner product manipulation"
    paper = "Xie et al.: Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product Manipulation, UAI 2019"
    name: Literal["ipm"] = "ipm"
    epsilon: float = Field(0.5, gt=0)
    """How far it goes, against the honest clients' mean movement."""
