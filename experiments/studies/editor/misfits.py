"""What goes together in a block: why a choice is refused, and what data sets and models come to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import ValidationError

from experiments.labels.names import COMPONENT_KINDS
from workers.catalog import load_catalog
from workers.catalog.component import DatasetFacts, Kind
from workers.errors import Problem, SpecError
from workers.spec import is_app, parse_run
from workers.spec.grid import value_variants

VALUES_TRIED = 200
"""Of each other component: a grid with more has the same neighbours again."""
CACHE_SECONDS = 60
Misfits = dict[str, dict[str, str]]


def block_misfits(block: Any) -> Misfits:
    """For each component field the names that cannot be taken, with the reason."""
    if not isinstance(block, Mapping) or is_app(block):
        return {}
    fields = {key: value for key, value in block.items() if key not in ("seed", "seeds", "rounds", "stop")}
    try:
        return cached_misfits(json.dumps(fields, sort_keys=True), int(time.time() // CACHE_SECONDS))
    except TypeError:
        return {}


@lru_cache(maxsize=256)
def cached_misfits(text: str, moment: int) -> Misfits:
    """`moment` is part of what is remembered, since data sets come and go."""
    block = json.loads(text)
    base = next(value_variants(block, "", ""), None)
    if base is None:
        return {}
    spec = without_wrong_fields(base.value)
    return {path: refused_names(path, neighbours(spec, block, path)) for path in COMPONENT_KINDS}


def spec_problems(spec: Mapping[str, Any]) -> frozenset[Problem]:
    try:
        parse_run(spec)
    except SpecError as error:
        return frozenset(error.errors)
    return frozenset()


def without_wrong_fields(spec: dict[str, Any]) -> dict[str, Any]:
    """A wrong number elsewhere must not hide what goes together: such fields count as not given."""
    wrong = {problem.path.split(".")[0] for problem in spec_problems(spec)} - {
        path.split(".")[0] for path in COMPONENT_KINDS
    }
    return {key: value for key, value in spec.items() if key not in wrong}


def neighbours(spec: Mapping[str, Any], block: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """The block's first run, and those in which one other component has another of its values."""
    specs = [dict(spec)]
    for other in COMPONENT_KINDS:
        if other != path and (written := read_path(block, other)) is not None:
            specs.extend(with_value(spec, other, value) for value in list(variants_by_name(written).values())[1:])
    return specs


def variants_by_name(written: Any) -> dict[str, Any]:
    """One value of each component: its parameters seldom decide what it goes together with."""
    values: dict[str, Any] = {}
    for variant in islice(value_variants(written, "", ""), VALUES_TRIED):
        name = variant.value.get("name") if isinstance(variant.value, Mapping) else variant.value
        values.setdefault(str(name), variant.value)
    return values


def refused_names(path: str, specs: list[dict[str, Any]]) -> dict[str, str]:
    specs_with_problems = [(spec, spec_problems(spec)) for spec in specs]
    reasons = {
        name: next(reasons_against(path, name, specs_with_problems), "")
        for name in load_catalog().components[COMPONENT_KINDS[path]]
    }
    return {name: reason for name, reason in reasons.items() if reason}


def reasons_against(
    path: str, name: str, specs_with_problems: list[tuple[dict[str, Any], frozenset[Problem]]]
) -> Iterator[str]:
    """Problems at the component itself, and those it makes elsewhere."""
    for spec, before in specs_with_problems:
        for problem in sorted(spec_problems(with_value(spec, path, {"name": name}))):
            own = problem.path == path or problem.path.startswith(f"{path}.")
            if own or problem not in before:
                yield problem.message


def read_path(block: Mapping[str, Any], path: str) -> Any:
    value: Any = block
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def with_value(spec: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    key, _, rest = path.partition(".")
    inner = spec.get(key)
    return {**spec, key: with_value(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}


VALUES_DESCRIBED = 20


def block_notes(block: Any) -> dict[str, str]:
    if not isinstance(block, Mapping) or is_app(block):
        return {}
    catalog = load_catalog()
    facts = [catalog.datasets[each.name].facts(each) for each in valid_parameters("dataset", block.get("dataset"))]
    sizes = [
        catalog.models[model.name].parameter_count(each.shape, each.classes, model)
        for each in facts
        for model in valid_parameters("model", block.get("model"))
        if catalog.models[model.name].fits(each.shape, each.classes, model)
    ]
    texts = {"dataset": dataset_text(facts), "model": model_text(sizes)}
    return {path: text for path, text in texts.items() if text}


def valid_parameters(kind: Kind, value: Any) -> Iterator[Any]:
    """The parameters of each component written there; what is wrong is told elsewhere."""
    known = load_catalog().components[kind]
    for variant in islice(value_variants(value, "", ""), VALUES_DESCRIBED):
        component = known.get(str(variant.value.get("name"))) if isinstance(variant.value, Mapping) else None
        if component is not None:
            try:
                yield component.Params.model_validate(variant.value)
            except ValidationError:
                continue


def dataset_text(facts: list[DatasetFacts]) -> str:
    if len(facts) != 1:
        return ""
    only = facts[0]
    natural = f"{only.natural_clients:,} natural clients" if only.natural_clients else "no natural clients"
    return f"{only.train:,} train · {only.test:,} test · {only.classes} classes · {natural}"


def model_text(sizes: list[int]) -> str:
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    return f"{low:,} parameters" if low == high else f"{low:,} to {high:,} parameters"
