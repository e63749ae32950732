"""The grids that are launched, each as a block of a study; `quick` makes it small enough to try the command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

Block = dict[str, Any]
MADE = "blobs"
RATIOS = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True)
class StudyGrid:
    """A block, what stands in where its data are not here, and how many rounds the plain script is timed on.

    `floor` is how many times faster than the plain script the grid must be.
    """

    name: str
    title: str
    block: Block
    made_data: Block
    plain_rounds: int
    floor: float

    @property
    def dataset(self) -> str:
        return str(self.block["dataset"]["name"])

    @property
    def rounds(self) -> int:
        return int(self.block["rounds"])

    @property
    def seeds(self) -> int:
        return int(self.block["seeds"])

    @property
    def is_made(self) -> bool:
        return self.dataset == MADE

    def on_made_data(self) -> StudyGrid:
        return replace(self, block={**self.block, **self.made_data})

    def with_changes(self, plain_rounds: int, **fields: Any) -> StudyGrid:
        return replace(self, block={**self.block, **fields}, plain_rounds=plain_rounds)


def made_dataset(shape: tuple[int, ...], classes: int, train: int, test: int) -> Block:
    return {"name": MADE, "shape": [list(shape)], "classes": classes, "train": train, "test": test}


def local_training(epochs: int, batch_size: int, optimizer: Any) -> Block:
    return {"epochs": epochs, "batch_size": batch_size, "optimizer": optimizer}


SGD_AND_ADAMW = [{"name": "sgd", "lr": 0.01, "momentum": 0.9}, {"name": "adamw", "lr": 0.01}]
HAR = StudyGrid(
    "har",
    "HAR: MLP 561-50-6, 21 subjects, 5 epochs, 11 ratios x SGD and AdamW",
    {
        "dataset": {"name": "uci-har"},
        "model": {"name": "mlp-50"},
        "partition": {"name": "natural"},
        "clients": None,
        "strategy": {"name": "fedavg"},
        "hybrid": {"method": "share-disjoint", "ratio": list(RATIOS)},
        "rounds": 20,
        "local": local_training(5, 32, SGD_AND_ADAMW),
        "seeds": 4,
    },
    {"dataset": made_dataset((561,), 6, 7_352, 2_947), "partition": {"name": "iid"}, "clients": 21},
    plain_rounds=4,
    floor=4,
)
LR = StudyGrid(
    "lr",
    "LR: 784x10, 1,000 clients x 60, 10 a round, 10,000 test samples every round, 10 learning rates",
    {
        "dataset": {"name": "mnist"},
        "model": {"name": "logistic"},
        "partition": {"name": "iid"},
        "clients": 1000,
        "cohort": 10,
        "strategy": {"name": "fedavg"},
        "rounds": 100,
        "local": local_training(1, 10, {"name": "sgd", "lr": [step / 100 for step in range(1, 11)]}),
        "seeds": 4,
    },
    {"dataset": made_dataset((1, 28, 28), 10, 60_000, 10_000)},
    plain_rounds=100,
    floor=8,
)
CNN = StudyGrid(
    "cnn",
    "CNN 32-64-64 on 3x32x32, 1,000 clients x 50, 50 a round, 10,000 test samples every round, 4 cells",
    {
        "dataset": {"name": "cifar10"},
        "model": {"name": "cnn-32-64-64"},
        "partition": {"name": "iid"},
        "clients": 1000,
        "cohort": 50,
        "strategy": {"name": "fedavg"},
        "rounds": 6,
        "local": local_training(1, 10, {"name": "sgd", "lr": [0.02, 0.05], "momentum": [0.0, 0.9]}),
        "seeds": 2,
    },
    {"dataset": made_dataset((3, 32, 32), 10, 50_000, 10_000)},
    plain_rounds=3,
    floor=1.5,
)
GRIDS = {grid.name: grid for grid in (HAR, LR, CNN)}
QUICK_GRIDS = {
    "har": HAR.with_changes(1, hybrid={"method": "share-disjoint", "ratio": [0.0, 0.5, 1.0]}, rounds=2, seeds=1),
    "lr": LR.with_changes(5, local=local_training(1, 10, {"name": "sgd", "lr": [0.01, 0.1]}), rounds=10, seeds=1),
    "cnn": CNN.with_changes(
        1, dataset=made_dataset((3, 32, 32), 10, 2_000, 500), clients=40, cohort=4, rounds=2, seeds=1
    ),
}
