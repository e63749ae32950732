"""What malicious clients train on, and how far they get; without torch, since pages look at federations too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workers.attacks.attack import Attack
from workers.attacks.data_attacks import Backdoor, LabelFlip
from workers.engine.clients import ClientData, Clients
from workers.spec import RunSpec
from workers.streams import stream

SUCCESS = "attack.success"


def malicious_clients(spec: RunSpec, clients: Clients) -> frozenset[int]:
    if spec.attack is None:
        return frozenset()
    return frozenset(spec.attack.malicious_clients(spec.seed, clients.own_numbers).tolist())


def poison_samples(spec: RunSpec, x: np.ndarray, y: np.ndarray, clients: Clients) -> tuple[np.ndarray, np.ndarray]:
    """With what malicious clients train on poisoned; the arrays that are given stay as they are."""
    attack, malicious = spec.attack, malicious_clients(spec, clients)
    if attack is None or not attack.poisons_data or not malicious:
        return x, y
    x, y = x.copy() if isinstance(attack, Backdoor) else x, y.copy()
    for number in sorted(malicious):
        client = clients[clients.row(number)]
        x[client.train], y[client.train] = poison_client(spec, attack, client, x[client.train], y[client.train])
    return x, y


def poison_client(
    spec: RunSpec, attack: Attack, client: ClientData, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return attack.poison(x, y, stream(spec.seed, "attack", client=client.key), spec.dataset_facts.classes)


def flip_success(attack: LabelFlip, confusion: np.ndarray) -> dict[str, float]:
    """The share of samples of flipped classes that were taken for what they were flipped to."""
    names = attack.flipped(len(confusion))
    flipped = np.flatnonzero(names != np.arange(len(confusion)))
    total = int(confusion[flipped].sum())
    return {SUCCESS: float(confusion[flipped, names[flipped]].sum() / total)} if total else {}


def with_trigger(attack: Backdoor, x: np.ndarray, y: np.ndarray) -> Mapping[str, np.ndarray]:
    """The test samples of other classes than the target, each with the trigger."""
    others = x[y != attack.target].copy()
    attack.put_trigger(others, slice(None))
    return {"x": others, "y": np.full(len(others), attack.target)}
