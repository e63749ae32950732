"""A grid as a person gives it (a mapping, a YAML file, keywords, `path=value`) as the lab takes it."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tributary.connection import Connection, LabError

Definition = Mapping[str, Any] | str | os.PathLike[str]
STUDY_FIELDS = ("name", "description", "tags", "priority", "requires", "reuse", "shuffle")
COMPONENTS = ("dataset", "model", "partition", "strategy")


def read_definition(lab: Connection, definition: Definition, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping that is no study is one block of it. The lab reads YAML, so that it means the same everywhere."""
    if isinstance(definition, Mapping):
        study = copy.deepcopy(dict(definition))
    else:
        text = Path(definition).read_text(encoding="utf-8")
        study = lab.post("/studies/read", {"text": text})
    if "blocks" not in study:
        fields = {key: value for key, value in study.items() if key in STUDY_FIELDS}
        study = {**fields, "blocks": [{key: value for key, value in study.items() if key not in STUDY_FIELDS}]}
    for path, value in changes.items():
        set_value(study, path, value)
    study.setdefault("name", "From Python")
    return study


def set_value(study: dict[str, Any], path: str, value: Any) -> None:
    """A field of the study, or of every block: `strategy`, `strategy.mu`, `local.optimizer.lr`, `seeds`."""
    if path in STUDY_FIELDS:
        study[path] = value
        return
    first, *rest = path.split(".")
    for block in study["blocks"]:
        if not rest:
            block[first] = with_names(first, value)
        else:
            set_in_component(block, [first, *rest], value)


def with_names(field: str, value: Any) -> Any:
    """`fedavg` means `{name: fedavg}` where a component is wanted."""
    if field not in COMPONENTS:
        return value
    if isinstance(value, str):
        return {"name": value}
    return [with_names(field, each) for each in value] if isinstance(value, Sequence) else value


def set_in_component(block: dict[str, Any], path: list[str], value: Any) -> None:
    *parents, last = path
    place: Any = block
    for parent in parents:
        place = place.setdefault(parent, {})
        if isinstance(place, list):
            raise LabError(0, f"{'.'.join(path)}: {parent} has several values in the grid; give it as a whole.")
        if not isinstance(place, dict):
            raise LabError(0, f"{'.'.join(path)}: {parent} is a value and has no {last}.")
    place[last] = value


def parse_assignment(text: str) -> tuple[str, Any]:
    """`strategy.mu=0.01,0.1` is a list of two numbers; `strategy=fedavg,fedprox` one of two words."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise LabError(0, f"{text}: write FIELD=VALUE, as in strategy.mu=0.01,0.1.")
    values = [parse_value(each) for each in split_values(value)]
    return path.strip(), values[0] if len(values) == 1 else values


def split_values(text: str) -> list[str]:
    """At commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()
