"""The tour: a small real study, queued once at the first start, so that the first page shows live curves."""

from __future__ import annotations

from typing import Any

from experiments.models import Study, User
from experiments.studies.services.launch import study_launch

ORIGIN = "tour"
NAME = "Tour: FedAvg and FedProx on digits"
WELCOME = (
    "Welcome to Tributary. This study compares two strategies on 1,797 real handwritten digits held by 20 clients, once"
    " evenly spread and once with most digits on few clients, with three seeds each. Its twelve runs started when you"
    " did: watch the curves grow, open one, then launch a grid of your own with New study."
)
BLOCKS: list[dict[str, Any]] = [
    {
        "dataset": {"name": "digits"},
        "model": {"name": "mlp-50"},
        "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
        "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": 0.3}],
        "clients": 20,
        "fraction": 0.5,
        "rounds": 40,
        "local": {"epochs": 3, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}},
        "seeds": 3,
    }
]


def ensure_tour(owner: User) -> bool:
    """True where it was queued just now. A tour that was deleted stays deleted as long as other studies exist."""
    if Study.objects.exists():
        return False
    study_launch(owner=owner, name=NAME, description=WELCOME, blocks=BLOCKS, tags=["tour"], origin=ORIGIN)
    return True
