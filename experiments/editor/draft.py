"""A study while it is written: as data or as YAML, with every problem, and what it would launch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from experiments.models import User
from experiments.services.studies import study_plan
from workers.catalog import load_catalog
from workers.errors import Problem, SpecError, TributaryError

MAX_TEXT = 200_000
KNOWN = ("name", "description", "tags", "priority", "requires", "shuffle", "blocks")


@dataclass(frozen=True)
class Draft:
    study: dict[str, Any]
    yaml: str
    plan: dict[str, Any] | None = None
    errors: list[dict[str, str]] = field(default_factory=list)


class PlainLoader(yaml.SafeLoader):
    """Safe YAML without aliases (a short text could stand for gigabytes) and without dates (specs have none)."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("write values out instead of using aliases")
        return super().compose_node(parent, index)


class PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def study_from_yaml(text: str) -> dict[str, Any]:
    if len(text) > MAX_TEXT:
        raise SpecError([Problem("yaml", f"More than {MAX_TEXT:,} characters: launch it over REST instead.")])
    try:
        found = yaml.load(text, PlainLoader)
        json.dumps(found, allow_nan=False)
    except yaml.YAMLError as error:
        raise SpecError([Problem("yaml", f"This is not YAML: {yaml_complaint(error)}.")]) from None
    except (TypeError, ValueError) as error:
        raise SpecError([Problem("yaml", f"Only text, numbers, lists and mappings are allowed: {error}.")]) from None
    return known_fields(found)


def yaml_complaint(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or error}{place}"


def known_fields(found: Any) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise SpecError([Problem("yaml", "A study is a mapping with a name and blocks.")])
    if unknown := [str(key) for key in found if key not in KNOWN]:
        raise SpecError(Problem(key, f"Unknown field. A study has {', '.join(KNOWN)}.") for key in unknown)
    return dict(found)


def yaml_from_study(study: Mapping[str, Any]) -> str:
    kept = {key: study[key] for key in KNOWN if study.get(key) not in (None, "", [])}
    return yaml.dump(kept, Dumper=PlainDumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


def draft(*, owner: User, study: Mapping[str, Any] | None = None, text: str | None = None) -> Draft:
    """From either form; errors are part of the answer, because a draft is allowed to be wrong."""
    try:
        found = study_from_yaml(text) if text is not None else known_fields(study)
    except SpecError as error:
        return Draft({}, text or "", errors=listed(error))
    written = text if text is not None else yaml_from_study(found)
    try:
        plan = study_plan(owner=owner, blocks=found.get("blocks", []))
    except TributaryError as error:
        return Draft(found, written, errors=listed(error))
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
