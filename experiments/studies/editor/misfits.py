"""What goes together in a block: why a choice is refused, and what data sets and models come to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import ValidationError

from experiments.labels.axes import COMPONENTS
from workers.catalog import load_catalog
from workers.catalog.component import DatasetFacts, Kind
from workers.errors import Problem, SpecError
from workers.spec import parse_run
from workers.spec.grid import variants

VALUES_TRIED = 200
"""Of each other component: a grid with more has the same neighbours again."""
REMEMBERED = 60
Misfits = dict[str, dict[str, str]]


def misfits(block: Any) -> Misfits:
    """For each component field the names that cannot be taken, with the reason."""
    if not isinstance(block, Mapping):
        return {}
    fields = {key: value for key, value in block.items() if key not in ("seed", "seeds", "rounds", "stop")}
    try:
        return judged(json.dumps(fields, sort_keys=True), int(time.time() // REMEMBERED))
    except TypeError:
        return {}


@lru_cache(maxsize=256)
def judged(text: str, moment: int) -> Misfits:
    """`moment` is part of what is remembered, since data sets come and go."""
    block = json.loads(text)
    base = next(variants(block, "", ""), None)
    if base is None:
        return {}
    spec = without_wrong_fields(base.value)
    return {path: refused(path, neighbours(spec, block, path)) for path in COMPONENTS}


def problems_of(spec: Mapping[str, Any]) -> frozenset[Problem]:
    try:
        parse_run(spec)
    except SpecError as error:
        return frozenset(error.errors)
    return frozenset()


def without_wrong_fields(spec: dict[str, Any]) -> dict[str, Any]:
    """A wrong number elsewhere must not hide what goes together: such fields count as not given."""
    wrong = {problem.path.split(".")[0] for problem in problems_of(spec)} - {path.split(".")[0] for path in COMPONENTS}
    return {key: value for key, value in spec.items() if key not in wrong}


def neighbours(spec: Mapping[str, Any], block: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """The block's first run, and those in which one other component has another of its values."""
    found = [dict(spec)]
    for other in COMPONENTS:
        if other != path and (written := read(block, other)) is not None:
            found.extend(put(spec, other, value) for value in list(by_name(written).values())[1:])
    return found


def by_name(written: Any) -> dict[str, Any]:
    """One value of each component: its parameters seldom decide what it goes together with."""
    found: dict[str, Any] = {}
    for variant in islice(variants(written, "", ""), VALUES_TRIED):
        name = variant.value.get("name") if isinstance(variant.value, Mapping) else variant.value
        found.setdefault(str(name), variant.value)
    return found


def refused(path: str, specs: list[dict[str, Any]]) -> dict[str, str]:
    known = [(spec, problems_of(spec)) for spec in specs]
    reasons = {
        name: next(reasons_against(path, name, known), "") for name in load_catalog().components[COMPONENTS[path]]
    }
    return {name: reason for name, reason in reasons.items() if reason}


def reasons_against(path: str, name: str, known: list[tuple[dict[str, Any], frozenset[Problem]]]) -> Iterator[str]:
    """Problems at the component itself, and those it makes elsewhere."""
    for spec, before in known:
        for problem in sorted(problems_of(put(spec, path, {"name": name}))):
            own = problem.path == path or problem.path.startswith(f"{path}.")
            if own or problem not in before:
                yield problem.message


def read(block: Mapping[str, Any], path: str) -> Any:
    value: Any = block
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def put(spec: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    key, _, rest = path.partition(".")
    inner = spec.get(key)
    return {**spec, key: put(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}


LOOKED_AT = 20


def notes(block: Any) -> dict[str, str]:
    if not isinstance(block, Mapping):
        return {}
    catalog = load_catalog()
    facts = [catalog.datasets[each.name].facts(each) for each in valid("dataset", block.get("dataset"))]
    sizes = [
        catalog.models[model.name].parameter_count(each.shape, each.classes, model)
        for each in facts
        for model in valid("model", block.get("model"))
        if catalog.models[model.name].fits(each.shape, each.classes, model)
    ]
    found = {"dataset": facts_text(facts), "model": sizes_text(sizes)}
    return {path: text for path, text in found.items() if text}


def valid(kind: Kind, value: Any) -> Iterator[Any]:
    """The parameters of each component written there; what is wrong is told elsewhere."""
    known = load_catalog().components[kind]
    for variant in islice(variants(value, "", ""), LOOKED_AT):
        component = known.get(str(variant.value.get("name"))) if isinstance(variant.value, Mapping) else None
        if component is not None:
            try:
                yield component.Params.model_validate(variant.value)
            except ValidationError:
                continue


def facts_text(facts: list[DatasetFacts]) -> str:
    if len(facts) != 1:
        return ""
    only = facts[0]
    natural = f"{only.natural_clients:,} natural clients" if only.natural_clients else "no natural clients"
    return f"{only.train:,} train · {only.test:,} test · {only.classes} classes · {natural}"


def sizes_text(sizes: list[int]) -> str:
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    return f"{low:,} parameters" if low == high else f"{low:,} to {high:,} parameters"
