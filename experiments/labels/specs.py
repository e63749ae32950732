"""A run's spec for readers: in words without what is off or as always, and as YAML in the order people write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel

from experiments.labels.axes import COMPONENTS, value_text
from workers.catalog import load_catalog
from workers.errors import TributaryError
from workers.spec import RunSpec, parse_run
from workers.spec.yaml import SpecLoader

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
    return " · ".join(f"{key.replace('_', ' ')} {value_text(value)}" for key, value in part.items() if key != "name")


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
        yield Fact(
            "Feature noise", f"sigma {value_text(spec['feature_noise'])}", "variance grows from client to client"
        )


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


def field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from field_names(field.annotation)


@cache
def places() -> dict[str, int]:
    names = dict.fromkeys(["name", "description", "tags", "blocks", *field_names(RunSpec)])
    return {name: place for place, name in enumerate(names)}


def place_of(key: str) -> int:
    return places().get(key, len(places()))


def in_spec_order(value: Any) -> Any:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (place_of(item[0]), item[0]))
        return {key: in_spec_order(each) for key, each in ordered}
    return [in_spec_order(each) for each in value] if isinstance(value, list) else value


class SpecDumper(yaml.SafeDumper):
    """Text that YAML 1.1 or our own rules would read as something else, such as `on` and `1e3`, is quoted."""

    yaml_implicit_resolvers = {
        start: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(start, []),
            *SpecLoader.yaml_implicit_resolvers.get(start, []),
        ]
        for start in {*yaml.SafeDumper.yaml_implicit_resolvers, *SpecLoader.yaml_implicit_resolvers}
    }


def spec_yaml(value: Any) -> str:
    return yaml.dump(
        in_spec_order(value),
        Dumper=SpecDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


@dataclass(frozen=True)
class Fact:
    name: str
    value: str
    note: str = ""
