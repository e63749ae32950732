"""What a new study starts with (another study, one run, something launchable), and how it differs from that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from experiments.flower_apps.selectors import usable_apps
from experiments.labels.names import COMPONENT_KINDS, component_name, parameter_title, value_text
from experiments.labels.specs import in_spec_order
from experiments.models import Run, Study
from experiments.studies.editor.fields import field_title, plain_fields
from experiments.studies.editor.misfits import read_path, with_value
from experiments.studies.editor.source import yaml_from_study
from experiments.studies.services.launch import HIGHEST_OF_MEMBERS
from workers.catalog import load_catalog
from workers.errors import TributaryError
from workers.spec import is_app, parse_run

NAME_LENGTH = 200
DEFAULT_CLIENTS = 10


@dataclass(frozen=True)
class Start:
    """`text` is the study as somebody wrote it; `words` and `parent` name what it varies."""

    study: dict[str, Any]
    text: str
    parent: Study | None = None
    words: str = ""
    link: str = ""
    like: dict[str, int] = field(default_factory=dict)


def empty_start() -> Start:
    study = default_study()
    return Start(study, yaml_from_study(study))


def start_from_app(name: str) -> Start | None:
    """A study of that app, as it is by default; None where there is no such app to be used."""
    if name not in [package.name for package in usable_apps()]:
        return None
    block = {"app": {"name": name, "clients": DEFAULT_CLIENTS}, "seeds": 3}
    study = {"name": "", "description": "", "tags": [], "blocks": [block]}
    return Start(study, yaml_from_study(study))


def start_from_study(study: Study) -> Start:
    blocks = in_spec_order(study.blocks)
    definition = {
        "name": f"{study.name} again"[:NAME_LENGTH],
        "description": study.description,
        "tags": study.tags,
        "blocks": blocks,
        **({"priority": min(study.priority, HIGHEST_OF_MEMBERS)} if study.priority else {}),
        **({"requires": study.requires} if study.requires != "cpu" else {}),
    }
    return Start(
        definition,
        study.source or yaml_from_study(definition),
        study,
        study.name,
        f"/studies/{study.pk}",
        {"from": study.pk},
    )


def start_from_run(run: Run) -> Start:
    parent = run.studies.order_by("pk").first()
    definition = {
        "name": f"Like run {run.pk}",
        "description": "",
        "tags": parent.tags if parent else [],
        "blocks": [block_from_spec(run.spec)],
    }
    return Start(definition, yaml_from_study(definition), parent, f"run {run.pk}", f"/runs/{run.pk}", {"run": run.pk})


def block_from_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A run's spec as a person would write it: without what is so by default."""
    if is_app(spec):
        return app_block_from_spec(spec)
    try:
        parsed = parse_run(spec)
    except TributaryError:
        block = {key: value for key, value in spec.items() if value is not None and key != "seed"}
    else:
        block = parsed.model_dump(mode="json", exclude_defaults=True, exclude={"seed", "engine"})
        for path in COMPONENT_KINDS:
            block = with_value(block, path, {"name": read_path(spec, f"{path}.name"), **(read_path(block, path) or {})})
    ordered: dict[str, Any] = in_spec_order({**block, "seeds": [spec["seed"]]})
    return ordered


def app_block_from_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """With the config whole: the app's defaults may have changed since."""
    app = {key: value for key, value in spec["app"].items() if value not in ({}, None)}
    ordered: dict[str, Any] = in_spec_order({"app": app, "seeds": [spec["seed"]]})
    return ordered


def default_study() -> dict[str, Any]:
    """The first data set that is there, and the first model that takes it."""
    catalog = load_catalog()
    ready = [each for each in catalog.datasets.values() if each.available(each.Params(name=each.name)) is None]
    dataset = next(iter(sorted(ready, key=lambda each: each.name != "digits")), next(iter(catalog.datasets.values())))
    facts = dataset.facts(dataset.Params(name=dataset.name))
    models = [name for name, model in catalog.models.items() if model.fits(facts.shape, facts.classes)]
    block = {
        "dataset": {"name": dataset.name},
        "model": {"name": "mlp-50" if "mlp-50" in models else models[0]},
        "partition": {"name": "iid"},
        "strategy": {"name": "fedavg"},
        "clients": DEFAULT_CLIENTS,
        "rounds": 20,
        "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
        "seeds": 3,
    }
    return {"name": "", "description": "", "tags": [], "blocks": [block]}


OPTION_DEFAULTS = {"priority": 0, "requires": "cpu", "reuse": True, "shuffle": False}
DEFAULT_COMPONENTS = {"partition": {"name": "iid"}, "local.optimizer": {"name": "sgd"}}


@dataclass(frozen=True)
class Change:
    """`path` as it is written; `before` and `after` are the values that only one of the two has, in words."""

    path: str
    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def study_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    blocks = list(block_changes(blocks_of(before), blocks_of(after)))
    options = [
        Change(key, field_title(key), (value_text(old),), (value_text(new),))
        for key, default in OPTION_DEFAULTS.items()
        if (old := before.get(key, default)) != (new := after.get(key, default))
    ]
    return [*blocks, *options]


def blocks_of(study: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks = study.get("blocks")
    return [each for each in blocks if isinstance(each, Mapping)] if isinstance(blocks, list) else []


def block_changes(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    numbered = max(len(before), len(after)) > 1
    for index in range(max(len(before), len(after))):
        if index >= len(after):
            yield Change(f"blocks.{index}", f"Block {index + 1}", ("removed",), ())
        elif index >= len(before):
            yield Change(f"blocks.{index}", f"Block {index + 1}", (), ("added",))
        else:
            yield from field_changes(before[index], after[index], index, numbered)


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any], index: int, numbered: bool) -> Iterator[Change]:
    old, new = dict(block_fields(before)), dict(block_fields(after))
    for path in dict.fromkeys([*old, *new]):
        default = field_defaults().get(path, [])
        old_values, new_values = old.get(path, default), new.get(path, default)
        removed, added = values_only_in(path, old_values, new_values), values_only_in(path, new_values, old_values)
        if removed or added:
            name = f"Block {index + 1}: {field_title(path)}" if numbered else field_title(path)
            yield Change(f"blocks.{index}.{path}", name, removed, added)


@cache
def field_defaults() -> dict[str, list[Any]]:
    """What a field that is not given stands for."""
    plain = {field["path"]: [field["default"]] for field in plain_fields()}
    return {**plain, **{path: [value] for path, value in DEFAULT_COMPONENTS.items()}, "seeds": [0]}


def values_only_in(path: str, values: list[Any], others: list[Any]) -> tuple[str, ...]:
    """Numbers count by their value: 1 and 1.0 are the same run."""
    keys = {comparison_key(each) for each in others}
    return tuple(value_words(each, path) for each in values if comparison_key(each) not in keys)


def comparison_key(value: Any) -> str:
    return json.dumps(whole_numbers(value), sort_keys=True)


def whole_numbers(value: Any) -> Any:
    """At any depth 1 for 1.0: a browser writes both as 1."""
    if isinstance(value, Mapping):
        return {key: whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def block_fields(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Each field with its values; a component with its parameters is one value."""
    for key, value in block.items():
        path = f"{prefix}{key}"
        if path == "seeds" and type(value) is int:
            yield path, list(range(value))
        elif isinstance(value, Mapping) and path not in COMPONENT_KINDS:
            yield from block_fields(value, f"{path}.")
        else:
            yield ("seeds" if path == "seed" else path), value if isinstance(value, list) else [value]


def value_words(value: Any, path: str = "") -> str:
    """A component as the editor's chips have it: FedProx (μ = 0.1, 1)."""
    if isinstance(value, Mapping):
        slug = str(value.get("name", "?"))
        name = component_name(path, slug) if path in COMPONENT_KINDS else slug
        parameters = [f"{parameter_title(key)} = {value_words(each)}" for key, each in value.items() if key != "name"]
        return f"{name} ({'; '.join(parameters)})" if parameters else name
    return ", ".join(map(value_words, value)) if isinstance(value, list) else value_text(value)
