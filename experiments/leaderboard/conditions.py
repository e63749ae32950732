"""What makes two numbers comparable: the same task, judged in the same way, after the same number of rounds.

- The task: data set (its name, its version, which samples of it), partition, clients and how many of them take part in
  a round, shared data, noise on features, clients that fail, attacks and privacy.
- The evaluation: on the test set, on what clients hold out, or both, and how much they hold out. A held-out part is not
  trained on, so that `both` is not the same as `server` even where the test set is.
- The budget: rounds, and what may end a run before.

Everything else is a setting of a method, and the best of its settings counts: the model, local epochs and batches, the
optimizer, normalisation, a strategy's own parameters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from string import hexdigits
from typing import Any

from experiments.labels.names import component_label, component_name, field_name, value_text
from experiments.labels.specs import (
    Spec,
    clients_fact,
    component_fact,
    evaluation_fact,
    fault_facts,
    rounds_fact,
    sharing_facts,
    training_fact,
    try_parse_run,
    unusual_parameters,
)
from workers.spec import flatten

PREPROCESSING = "normalise"
DATA_LETTERS = 12
"""Of a checksum; a version with a name is told whole."""
KEY_LETTERS = 10


@dataclass(frozen=True)
class Conditions:
    """`values` has one JSON text for each condition; equal conditions have equal keys."""

    values: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.values).encode()).hexdigest()[:KEY_LETTERS]

    def differing(self, other: Conditions) -> list[str]:
        """The names of the conditions in which they differ."""
        return [name for (name, mine), (_, theirs) in zip(self.values, other.values, strict=True) if mine != theirs]


def conditions_of(spec: Spec, data_version: str) -> Conditions:
    """`data_version` is the checksum of the data that the run was launched with."""
    dataset = {key: value for key, value in spec["dataset"].items() if key != PREPROCESSING}
    hybrid, noise = spec["hybrid"], spec["feature_noise"]
    values = {
        "data": [dataset, data_version],
        "partition": spec["partition"],
        "clients": [spec["clients"], spec["cohort"], None if spec["cohort"] else spec["fraction"]],
        "sharing": hybrid if hybrid["ratio"] else None,
        "noise": [noise, spec.get("feature_noise_kind")] if noise else None,
        "faults": [spec["client_dropout"], spec["stragglers"]],
        "threats": [spec.get("attack"), spec.get("privacy")],
        "evaluation": evaluation_values(spec),
        "rounds": [spec["rounds"], spec["stop"]],
    }
    return Conditions(tuple((name, json.dumps(value, sort_keys=True)) for name, value in values.items()))


def evaluation_values(spec: Spec) -> list[Any]:
    """What clients hold out matters where it is evaluated on: there, or on the server without a test set."""
    evaluation = spec["evaluation"]
    if evaluation["on"] == "server" and has_test_set(json.dumps(spec["dataset"]), json.dumps(spec["model"])):
        return ["server"]
    return [evaluation["on"], evaluation["held_out"], evaluation["clients"]]


@cache
def has_test_set(dataset: str, model: str) -> bool:
    """Unknown data are taken to have none: then more has to be equal."""
    run = try_parse_run({"dataset": json.loads(dataset), "model": json.loads(model), "strategy": {"name": "fedavg"}})
    return bool(run and run.dataset_facts.test)


def condition_words(spec: Spec, data_version: str) -> dict[str, str]:
    """Each condition for readers, without those that are off."""
    data = component_fact(spec, "dataset", "")
    samples = unusual_parameters({"dataset": {**spec["dataset"], PREPROCESSING: "default"}}, "dataset")
    clients, evaluation, rounds = clients_fact(spec), evaluation_fact(spec), rounds_fact(spec)
    sharing = {fact.name: f"{fact.value} ({fact.note})" for fact in sharing_facts(spec)}
    held_out = f" ({spec['evaluation']['held_out']:.0%} of each)" if spec["evaluation"]["on"] != "server" else ""
    words = {
        "data": " · ".join(filter(None, [data.value, samples, f"version {version_text(data_version)}"])),
        "partition": component_label("partition", flatten(spec)),
        "clients": f"{field_name('clients', spec['clients'])}, {clients.note}",
        "sharing": sharing.get("Hybrid", "none"),
        "noise": sharing.get("Feature noise", "none"),
        "faults": " · ".join(f"{fact.name} {fact.value}" for fact in fault_facts(spec)) or "none",
        "threats": threats_text(spec),
        "evaluation": f"{evaluation.value}{held_out}",
        "rounds": " · ".join(filter(None, [f"{rounds.value} rounds", rounds.note])),
    }
    return {name: text for name, text in words.items() if text}


def version_text(version: str) -> str:
    return version[:DATA_LETTERS] if set(version) <= set(hexdigits) else version


def threats_text(spec: Spec) -> str:
    named = {name: spec.get(name) for name in ("attack", "privacy")}
    return " · ".join(f"{name}: {value_text(value)}" for name, value in named.items() if value) or "none"


def partition_key(partition: Mapping[str, Any]) -> str:
    """As an address names it: `iid`, or `label-dirichlet,alpha=0.3`."""
    parameters = [f"{key}={value_text(value)}" for key, value in sorted(partition.items()) if key != "name"]
    return ",".join([str(partition["name"]), *parameters])


def settings_text(spec: Spec) -> str:
    """What the best of a method's settings are, without the strategy's own, which its label has."""
    model, local = component_fact(spec, "model", "", unusual_parameters(spec, "model")), spec["local"]
    optimizer = {key: value for key, value in local["optimizer"].items() if key != "lr"}
    optimizer_name = component_name("local.optimizer", optimizer["name"])
    normalise = spec["dataset"].get(PREPROCESSING, "default")
    parts = [
        " ".join(filter(None, [model.value, model.note])),
        training_fact(spec).value,
        f"{optimizer_name}, learning rate {value_text(local['optimizer'].get('lr'))}",
        unusual_parameters({"local.optimizer": optimizer}, "local.optimizer"),
        f"normalised: {normalise}" if normalise != "default" else "",
    ]
    return " · ".join(filter(None, parts))
