"""A study while it is written: as data or as YAML, with every problem, and what it would launch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from experiments.editor.order import spec_yaml
from experiments.models import User
from experiments.services.definition import StudyDefinition, parse_definition
from experiments.services.studies import study_plan
from workers.catalog import load_catalog
from workers.errors import Problem, SpecError, TributaryError
from workers.spec.yaml import load_yaml

MAX_TEXT = 200_000


@dataclass(frozen=True)
class Draft:
    study: dict[str, Any]
    yaml: str
    plan: dict[str, Any] | None = None
    errors: list[dict[str, str]] = field(default_factory=list)


def study_from_yaml(text: str) -> dict[str, Any]:
    if len(text) > MAX_TEXT:
        raise SpecError([Problem("yaml", f"More than {MAX_TEXT:,} characters: launch it over REST instead.")])
    found = load_yaml(text)
    refuse_aliases(text)
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        raise SpecError([Problem("yaml", "Only text, finite numbers, lists and mappings have a place here.")]) from None
    if not isinstance(found, Mapping):
        raise SpecError([Problem("yaml", "A study is a mapping with a name and blocks.")])
    return dict(found)


def refuse_aliases(text: str) -> None:
    """A short text with aliases can stand for gigabytes once it is written out."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
        raise SpecError([Problem("yaml", "Write values out instead of using aliases.")])


def yaml_from_study(study: Mapping[str, Any]) -> str:
    order = [key for key in StudyDefinition.model_fields if study.get(key) not in (None, "", [])]
    return spec_yaml({key: study[key] for key in order})


def draft(*, owner: User, study: Mapping[str, Any] | None = None, text: str | None = None) -> Draft:
    """From either form. Errors are part of the answer, because a draft is allowed to be wrong, or nameless."""
    found, written = dict(study or {}), text
    try:
        found = study_from_yaml(text) if text is not None else found
        written = text if text is not None else yaml_from_study(found)
        definition = parse_definition({"name": "", **found})
        plan = study_plan(owner=owner, blocks=definition.blocks, reuse=definition.reuse)
    except TributaryError as error:
        return Draft(found, written or "", errors=listed(error))
    return Draft(found, written, plan=asdict(plan))


def listed(error: TributaryError) -> list[dict[str, str]]:
    return [asdict(problem) for problem in error.errors] or [{"path": "", "message": error.detail}]


def first_study() -> dict[str, Any]:
    """What a new study starts with: the first data set that is there, and the first model that takes it."""
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
        "clients": 10,
        "rounds": 20,
        "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
        "seeds": [0, 1, 2],
    }
    return {"name": "", "description": "", "tags": [], "blocks": [block]}
