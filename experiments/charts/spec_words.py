"""A run's spec in words: what a reader wants to know of it first, without what is off or as always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.charts.facts import Fact
from experiments.charts.labels import COMPONENTS, shown
from workers.catalog import load_catalog
from workers.errors import TributaryError
from workers.spec import RunSpec, parse_run

Spec = Mapping[str, Any]
FAULTS = {"client_dropout": "Dropout", "stragglers": "Stragglers"}


def spec_words(spec: Spec) -> list[Fact]:
    return [
        component(spec, "strategy", "Strategy"),
        component(spec, "model", "Model", note=parameters_of(spec)),
        component(spec, "dataset", "Data set", note=unusual(spec, "dataset")),
        component(spec, "partition", "Partition"),
        *sharing(spec),
        clients(spec),
        *faults(spec),
        training(spec),
        evaluation(spec),
        length(spec),
        Fact("Seed", str(spec["seed"])),
        Fact("Precision", str(spec["precision"])),
    ]


def component(spec: Spec, kind: str, title: str, note: str | None = None) -> Fact:
    """By its label in the catalog; one whose plugin is gone by its name."""
    known = load_catalog().components[COMPONENTS[kind]].get(spec[kind]["name"])
    return Fact(title, known.label if known else str(spec[kind]["name"]), own(spec[kind]) if note is None else note)


def unusual(spec: Spec, kind: str) -> str:
    """Its parameters without those that are as always."""
    known = load_catalog().components[COMPONENTS[kind]].get(spec[kind]["name"])
    usual = known.Params(name=known.name).model_dump(mode="json") if known else {}
    return own({key: value for key, value in spec[kind].items() if usual.get(key, ...) != value})


def own(part: Spec) -> str:
    return " · ".join(f"{key.replace('_', ' ')} {shown(value)}" for key, value in part.items() if key != "name")


def parameters_of(spec: Spec) -> str:
    found = parsed(spec)
    if found is None:
        return ""
    facts = found.dataset_facts
    count = load_catalog().models[found.model.name].parameter_count(facts.shape, facts.classes, found.model)
    return " · ".join(part for part in (f"{count:,} parameters", unusual(spec, "model")) if part)


def parsed(spec: Spec) -> RunSpec | None:
    """None where the catalog no longer takes it: a plugin or a data set has gone."""
    try:
        return parse_run(spec)
    except TributaryError:
        return None


def class_names(spec: Spec, count: int) -> tuple[str, ...]:
    found = parsed(spec)
    names = found.dataset_facts.class_names if found else ()
    return names if len(names) == count else tuple(map(str, range(count)))


def sharing(spec: Spec) -> Iterator[Fact]:
    hybrid = spec["hybrid"]
    if hybrid["ratio"]:
        yield Fact("Hybrid", f"{hybrid['ratio']:.0%} shared", str(hybrid["method"]))
    if spec["feature_noise"]:
        yield Fact("Feature noise", f"sigma {shown(spec['feature_noise'])}", "variance grows from client to client")


def clients(spec: Spec) -> Fact:
    everyone = "all natural ones" if spec["clients"] is None else f"{spec['clients']:,}"
    if spec["cohort"]:
        return Fact("Clients", everyone, f"{spec['cohort']:,} a round")
    return Fact(
        "Clients", everyone, "all in every round" if spec["fraction"] == 1 else f"{spec['fraction']:.0%} a round"
    )


def faults(spec: Spec) -> Iterator[Fact]:
    for field, title in FAULTS.items():
        if spec[field]:
            yield Fact(title, f"{spec[field]:.0%}", "of the cohort")


def training(spec: Spec) -> Fact:
    local, optimizer = spec["local"], spec["local"]["optimizer"]
    epochs = "1 epoch" if local["epochs"] == 1 else f"{local['epochs']:,} epochs"
    return Fact(
        "Local training", f"{epochs}, batches of {local['batch_size']:,}", f"{optimizer['name']} · {own(optimizer)}"
    )


def evaluation(spec: Spec) -> Fact:
    asked = spec["evaluation"]
    often = "every round" if asked["every"] == 1 else f"every {asked['every']} rounds and at the end"
    if asked["on"] == "server":
        return Fact("Evaluation", "on the test set", often)
    who = "all clients" if asked["clients"] == "all" else "the cohort"
    return Fact("Evaluation", f"on what {who} hold out", f"{asked['held_out']:.0%} of each · {often}")


def length(spec: Spec) -> Fact:
    stop = spec["stop"]
    target, patience = stop["target_accuracy"], stop["patience"]
    ends = [
        f"ends at {target:.0%} accuracy" if target else "",
        f"ends after {patience} evaluations without a better loss" if patience else "",
    ]
    return Fact("Rounds", f"{spec['rounds']:,}", " · ".join(filter(None, ends)))
