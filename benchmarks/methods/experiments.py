"""The experiments behind docs/methods.md, each one picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]
DIGITS: Fields = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "clients": 20,
    "rounds": 30,
    "local": {"epochs": 2, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}},
}


@dataclass(frozen=True)
class Experiment:
    """Lines of runs that differ in `lines`; along each, in `axis`, or round by round where `axis` is empty."""

    name: str
    title: str
    x: str
    y: str
    block: Fields
    lines: dict[str, Fields]
    axis: dict[float, Fields] = field(default_factory=dict)
    levels: dict[str, Fields] = field(default_factory=dict)
    """Further lines, which the axis does not change."""
    seeds: int = 5
    over: str = ""
    """The metric whose sum over the rounds so far is the x axis, in millions, where it is not the round."""
    target: float = 0.85
    """Of such an axis the table says where this was reached."""
    log_x: bool = False

    def definition(self) -> Fields:
        """What results belong to: other fields, other results."""
        axis = [[x, fields] for x, fields in self.axis.items()]
        lines = {"lines": self.lines, "levels": self.levels, "axis": axis}
        return {"block": self.block, **lines, "seeds": self.seeds, "over": self.over}


SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
EXPERIMENTS = (
    Experiment(
        name="attackers",
        title="Defences under sign-flipping clients (digits, 20 clients, IID)",
        x="share of the clients that flip the sign of four times their movement",
        y="accuracy after 30 rounds",
        block={**DIGITS, "partition": {"name": "iid"}},
        lines={
            "FedAvg": {"strategy": {"name": "fedavg"}},
            "FedMedian": {"strategy": {"name": "fedmedian"}},
            "Krum (8 malicious)": {"strategy": {"name": "krum", "malicious": 8}},
            "Multi-Krum (8 malicious)": {"strategy": {"name": "multikrum", "malicious": 8}},
            "RFA (geometric median)": {"strategy": {"name": "rfa"}},
        },
        axis={share: {"attack": {"name": "sign-flip", "share": share, "scale": 4.0}} for share in SHARES},
    ),
    Experiment(
        name="privacy",
        title="What privacy of clients costs (MNIST, 1,000 clients, 100 a round, IID)",
        x="epsilon after 40 rounds, at delta = 0.0001",
        y="accuracy after 40 rounds",
        block={
            "dataset": {"name": "mnist"},
            "model": {"name": "mlp-50"},
            "partition": {"name": "iid"},
            "strategy": {"name": "composed", "aggregate": {"name": "uniform"}},
            "clients": 1000,
            "cohort": 100,
            "rounds": 40,
            "local": {"epochs": 5, "batch_size": 20, "optimizer": {"name": "sgd", "lr": 0.1}},
        },
        lines={
            "central, clip 1": {"privacy": {"name": "central", "clip": 1.0, "delta": 1e-4}},
            "central, clip 0.3": {"privacy": {"name": "central", "clip": 0.3, "delta": 1e-4}},
        },
        levels={"without privacy": {}},
        axis={epsilon: {"privacy": {"epsilon": epsilon}} for epsilon in (1.0, 2.0, 4.0, 8.0, 16.0)},
        seeds=3,
        log_x=True,
    ),
    Experiment(
        name="compression",
        title="Accuracy by bytes sent up (MNIST, 100 clients, 10 a round, Dirichlet 0.5)",
        x="MB sent by all clients so far",
        y="accuracy",
        block={
            "dataset": {"name": "mnist"},
            "model": {"name": "mlp-50"},
            "partition": {"name": "label-dirichlet", "alpha": 0.5},
            "strategy": {"name": "fedavg"},
            "clients": 100,
            "cohort": 10,
            "rounds": 60,
            "local": {"epochs": 1, "batch_size": 20, "optimizer": {"name": "sgd", "lr": 0.1}},
        },
        lines={
            "whole models (first 8 rounds)": {"rounds": 8},
            "quantise, 8 bits": {"rounds": 30, "compression": {"name": "quantise", "bits": 8}},
            "quantise, 4 bits": {"compression": {"name": "quantise", "bits": 4}},
            "top-k, a tenth": {"compression": {"name": "top-k", "share": 0.1}},
            "top-k, a hundredth": {"compression": {"name": "top-k", "share": 0.01}},
            "sign": {"compression": {"name": "sign"}},
        },
        seeds=3,
        over="bytes_up",
        log_x=True,
    ),
    Experiment(
        name="feature-noise",
        title="FedBN and FedAvg under feature noise, on the clients' own data (digits, 6 clients, IID)",
        x="noise of the last client (standard deviation, after normalisation)",
        y="accuracy on held-out parts after 20 rounds",
        block={
            "dataset": {"name": "digits"},
            "model": {"name": "cnn", "widths": [16, 32], "dense": [32], "kernel": 3, "padding": 1, "norm": "batch"},
            "partition": {"name": "iid"},
            "clients": 6,
            "rounds": 20,
            "local": {"epochs": 1, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.05}},
            "feature_noise_kind": "deviation",
            "evaluation": {"on": "clients", "held_out": 0.3, "every": 20},
        },
        lines={"FedBN": {"strategy": {"name": "fedbn"}}, "FedAvg": {"strategy": {"name": "fedavg"}}},
        axis={noise: {"feature_noise": noise} for noise in (0.0, 1.0, 2.0, 3.0, 4.0)},
    ),
    Experiment(
        name="drift",
        title="Two classes a client (12,000 samples of Fashion-MNIST, 10 clients)",
        x="round",
        y="accuracy",
        block={
            "dataset": {"name": "fashion-mnist", "samples": 12_000},
            "model": {"name": "mlp", "hidden": [100]},
            "partition": {"name": "classes-per-client", "k": 2},
            "clients": 10,
            "rounds": 40,
            "local": {"epochs": 2, "batch_size": 50, "optimizer": {"name": "sgd", "lr": 0.05}},
        },
        lines={
            "SCAFFOLD": {"strategy": {"name": "scaffold"}},
            "FedDyn (alpha = 0.1)": {"strategy": {"name": "feddyn", "alpha": 0.1}},
            "FedProx (mu = 0.01)": {"strategy": {"name": "fedprox", "mu": 0.01}},
            "FedAvg": {"strategy": {"name": "fedavg"}},
        },
        seeds=3,
    ),
)
