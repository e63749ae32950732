"""How much work a run is, predicted from its spec alone: no data is loaded, nothing is drawn."""

from __future__ import annotations

import math

from workers.catalog import load_catalog
from workers.spec.runspec import RunSpec

BYTES_PER_VALUE = {"float32": 4, "float64": 8}


def client_steps(spec: RunSpec) -> float:
    """Local steps of all clients in one round, as if every client held the same number of samples."""
    own, shared = samples_per_client(spec)
    steps = spec.cohort_size * steps_for_samples(own, spec) * (1 - spec.client_dropout) * (1 - spec.stragglers / 2)
    return steps + steps_for_samples(shared, spec)


def steps_for_samples(samples: float, spec: RunSpec) -> int:
    if spec.local.steps is not None:
        return spec.local.steps if samples > 0 else 0
    return spec.local.epochs * math.ceil(samples / spec.local.batch_size)


def samples_per_client(spec: RunSpec) -> tuple[float, float]:
    """What one client trains on, and what the shared client of hybrid sharing does."""
    facts = spec.dataset_facts
    samples = float(facts.train)
    if spec.partition.name == "natural" and facts.natural_clients:
        samples = samples * spec.client_count / facts.natural_clients
    per_client = samples / max(1, spec.client_count)
    own_share = float(spec.candidates > 0) if spec.hybrid.method == "unify" else 1 - spec.hybrid.ratio
    shared = samples - per_client * own_share * spec.candidates
    return per_client * own_share * train_share(spec), shared * (1 - spec.evaluation.validation)


def train_share(spec: RunSpec) -> float:
    """What is left of a client's own data to train on, after validation and held-out parts."""
    holds_out = spec.evaluation.on != "server" or not spec.dataset_facts.test
    return 1 - spec.evaluation.validation - (spec.evaluation.held_out if holds_out else 0.0)


def parameter_count(spec: RunSpec) -> int:
    facts = spec.dataset_facts
    return load_catalog().models[spec.model.name].parameter_count(facts.shape, facts.classes, spec.model)


def round_bytes(spec: RunSpec) -> int:
    """The model down to each client of the cohort and up again; what a strategy sends besides is not foreseen."""
    cohort = min(spec.cohort_size, spec.candidates) + (spec.hybrid.ratio > 0)
    return 2 * cohort * parameter_count(spec) * BYTES_PER_VALUE[spec.precision]
