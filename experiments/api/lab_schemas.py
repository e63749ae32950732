"""What belongs to no study, as REST answers with it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from experiments.api.schemas import Answer, described

COMPONENT: dict[str, Any] = {
    "name": "fedprox",
    "label": "FedProx",
    "summary": "FedAvg with a proximal term that keeps clients near the server's model.",
    "paper": "Li et al. 2020, Federated Optimization in Heterogeneous Networks",
    "version": 1,
    "plugin": "",
    "schema": {"type": "object", "properties": {"mu": {"type": "number", "minimum": 0}}},
}


class ComponentAnswer(Answer):
    model_config = described(**COMPONENT)

    name: str
    """What a spec calls it."""
    label: str
    """What people call it."""
    summary: str
    """What it does, in a sentence."""
    paper: str
    """Where it comes from."""
    version: int | str
    """Part of a run's identity: it changes when results may."""
    plugin: str
    """The file or entry point of a lab's own component; empty for a built-in one."""
    parameters: dict[str, Any] = Field(alias="schema")
    """The JSON schema of its parameters."""


class CatalogAnswer(Answer):
    model_config = described(dataset=[], model=[], partition=[], strategy=[COMPONENT], optimizer=[])

    dataset: list[ComponentAnswer]
    """Data sets."""
    model: list[ComponentAnswer]
    """Models."""
    partition: list[ComponentAnswer]
    """How the training set is divided among the clients."""
    strategy: list[ComponentAnswer]
    """Strategies."""
    optimizer: list[ComponentAnswer]
    """What clients train with."""


class WorkerAnswer(Answer):
    model_config = described(
        id=3,
        name="cpu-1@lab",
        host="lab",
        device="cpu",
        threads=4,
        alive=True,
        draining=False,
        run=71,
        rounds_per_second=12.5,
        started="2026-03-01T09:00:00Z",
        heartbeat="2026-03-01T12:00:08Z",
        facts={"cores": 8},
    )

    id: int
    """Its number."""
    name: str
    """Slot and machine."""
    host: str
    """The machine it is on."""
    device: str
    """cpu, or cuda:0, cuda:1, ..."""
    threads: int
    """CPU threads it computes with."""
    alive: bool
    """Whether it was heard of just now."""
    draining: bool
    """It was asked to leave and takes no further run."""
    run: int | None
    """What it is at."""
    rounds_per_second: float
    """Its present speed."""
    started: datetime
    """When it came."""
    heartbeat: datetime
    """When it was last heard of."""
    facts: dict[str, Any]
    """Its device, memory and versions, and what is wrong with its plugins."""


class DatasetAnswer(Answer):
    model_config = described(
        name="femnist",
        label="FEMNIST",
        parameters={"name": "femnist", "subset": "digits"},
        ready=False,
        what_to_do="FEMNIST is not here yet: fetch it on the page Data sets.",
        train=341_873,
        test=40_832,
        classes=10,
        shape=[1, 28, 28],
        natural_clients=3383,
        class_names=["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        bytes=None,
        checksum="",
        licence="CC0",
        paper="Caldas et al. 2018, LEAF",
    )

    name: str
    """What a spec calls it."""
    label: str
    """What people call it."""
    parameters: dict[str, Any]
    """What a spec's `dataset` says to get this one; defaults are left out."""
    ready: bool
    """Whether runs can use it now."""
    what_to_do: str | None
    """Where it is not ready."""
    train: int
    """Training samples."""
    test: int
    """Test samples; 0 where it has no test set of its own."""
    classes: int
    """How many labels there are."""
    shape: list[int]
    """Of one sample."""
    natural_clients: int | None
    """Clients that the data itself has: writers, people; null where it has none."""
    class_names: list[str]
    """In the order of the labels."""
    bytes: int | None
    """On disk; null where it is made when needed, or not here."""
    checksum: str
    """Of what is on disk: part of a run's identity."""
    licence: str
    """Under which it may be used."""
    paper: str
    """Where it comes from."""


class PartitionAnswer(Answer):
    model_config = described(
        run=71,
        dataset="digits",
        samples=1437,
        classes=["0", "1"],
        sizes=[700, 737],
        held=[2, 2],
        entropies=[1.0, 0.98],
        mean_entropy=0.99,
        distance=0.05,
        pairs=1,
        clients=[0, 1],
        counts=[[350, 350], [360, 377]],
        shared=None,
        pictured=[0, 1],
        warnings=["Labels are spread evenly: this partition is IID in its labels."],
    )

    run: int
    """Whose clients these are."""
    dataset: str
    """What they hold parts of."""
    samples: int
    """How many samples there are to hold."""
    classes: list[str]
    """Names of the labels, in their order."""
    sizes: list[int]
    """Samples of every client that takes part."""
    held: list[int]
    """Classes each of them holds."""
    entropies: list[float]
    """Of each one's labels, in bits."""
    mean_entropy: float
    """Over the clients."""
    distance: float | None
    """Mean Jensen-Shannon distance between clients: 0 is alike, 1 nothing in common."""
    pairs: int
    """Pairs of clients that `distance` is the mean of."""
    clients: list[int]
    """Whom `counts` has a row for: all, or some of very many; -1 is the shared client of hybrid sharing."""
    counts: list[list[int]]
    """Samples of each class."""
    shared: int | None
    """Samples that hybrid sharing gave to the shared client."""
    pictured: list[int]
    """Clients that the pages show samples of."""
    warnings: list[str]
    """What may surprise about it."""


class AuditAnswer(Answer):
    model_config = described(
        id=5,
        at="2026-03-01T12:00:00Z",
        actor="mira",
        action="study.launch",
        subject="study 12",
        detail={"name": "FedProx against FedAvg", "runs": 12},
    )

    id: int
    """Its number."""
    at: datetime
    """When it was done."""
    actor: str
    """Who did it; empty where the lab itself did."""
    action: str
    """What was done, such as study.launch, study.delete or token.revoke."""
    subject: str
    """To what."""
    detail: dict[str, Any]
    """What else is worth keeping."""
