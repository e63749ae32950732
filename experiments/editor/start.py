"""What a new study starts with: something that can be launched, another study, or one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.charts.labels import COMPONENTS
from experiments.editor.fits import put, read
from experiments.editor.order import in_spec_order
from experiments.editor.source import yaml_from_study
from experiments.models import Run, Study
from workers.catalog import load_catalog
from workers.errors import TributaryError
from workers.spec import parse_run

NAME_LENGTH = 200


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
    study = first_study()
    return Start(study, yaml_from_study(study))


def start_from_study(study: Study) -> Start:
    blocks = in_spec_order(study.blocks)
    found = {
        "name": f"{study.name} again"[:NAME_LENGTH],
        "description": study.description,
        "tags": study.tags,
        "blocks": blocks,
        **({"priority": study.priority} if study.priority else {}),
        **({"requires": study.requires} if study.requires != "cpu" else {}),
    }
    return Start(
        found, study.source or yaml_from_study(found), study, study.name, f"/studies/{study.pk}", {"from": study.pk}
    )


def start_from_run(run: Run) -> Start:
    parent = run.studies.order_by("pk").first()
    found = {
        "name": f"Like run {run.pk}",
        "description": "",
        "tags": parent.tags if parent else [],
        "blocks": [block_of(run.spec)],
    }
    return Start(found, yaml_from_study(found), parent, f"run {run.pk}", f"/runs/{run.pk}", {"run": run.pk})


def block_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A run's spec as a person would write it: without what is so by default."""
    try:
        parsed = parse_run(spec)
    except TributaryError:
        block = {key: value for key, value in spec.items() if value is not None and key != "seed"}
    else:
        block = parsed.model_dump(mode="json", exclude_defaults=True, exclude={"seed", "engine"})
        for path in COMPONENTS:
            block = put(block, path, {"name": read(spec, f"{path}.name"), **(read(block, path) or {})})
    ordered: dict[str, Any] = in_spec_order({**block, "seeds": [spec["seed"]]})
    return ordered


def first_study() -> dict[str, Any]:
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
        "clients": 10,
        "rounds": 20,
        "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
        "seeds": 3,
    }
    return {"name": "", "description": "", "tags": [], "blocks": [block]}
