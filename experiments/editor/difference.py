""" "Same but ...": what tells a study from the one it started as, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from experiments.charts.labels import COMPONENTS, shown
from experiments.editor.fields import plain_fields, title

OPTIONS = {"priority": 0, "requires": "cpu", "reuse": True, "shuffle": False}
DEFAULT_COMPONENTS = {"partition": {"name": "iid"}, "local.optimizer": {"name": "sgd"}}


@dataclass(frozen=True)
class Change:
    """`path` as it is written; `before` and `after` are the values that only one of the two has, in words."""

    path: str
    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    blocks = list(block_changes(blocks_of(before), blocks_of(after)))
    options = [
        Change(key, title(key), (shown(old),), (shown(new),))
        for key, default in OPTIONS.items()
        if (old := before.get(key, default)) != (new := after.get(key, default))
    ]
    return [*blocks, *options]


def blocks_of(study: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks = study.get("blocks")
    return [each for each in blocks if isinstance(each, Mapping)] if isinstance(blocks, list) else []


def block_changes(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    many = max(len(before), len(after)) > 1
    for index in range(max(len(before), len(after))):
        if index >= len(after):
            yield Change(f"blocks.{index}", f"Block {index + 1}", ("removed",), ())
        elif index >= len(before):
            yield Change(f"blocks.{index}", f"Block {index + 1}", (), ("added",))
        else:
            yield from field_changes(before[index], after[index], index, many)


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any], index: int, many: bool) -> Iterator[Change]:
    old, new = dict(fields_of(before)), dict(fields_of(after))
    for path in dict.fromkeys([*old, *new]):
        was, becomes = old.get(path, defaults().get(path, [])), new.get(path, defaults().get(path, []))
        gone, come = only_in(was, becomes), only_in(becomes, was)
        if gone or come:
            name = f"Block {index + 1}: {title(path)}" if many else title(path)
            yield Change(f"blocks.{index}.{path}", name, gone, come)


@cache
def defaults() -> dict[str, list[Any]]:
    """What a field that is not given stands for."""
    plain = {field["path"]: [field["default"]] for field in plain_fields()}
    return {**plain, **{path: [value] for path, value in DEFAULT_COMPONENTS.items()}, "seeds": [0]}


def only_in(values: list[Any], others: list[Any]) -> tuple[str, ...]:
    """Numbers count by their value: 1 and 1.0 are the same run."""
    known = {compared(each) for each in others}
    return tuple(worded(each) for each in values if compared(each) not in known)


def compared(value: Any) -> str:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return json.dumps(whole, sort_keys=True)


def fields_of(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Each field with its values; a component with its parameters is one value."""
    for key, value in block.items():
        path = f"{prefix}{key}"
        if path == "seeds" and type(value) is int:
            yield path, list(range(value))
        elif isinstance(value, Mapping) and path not in COMPONENTS:
            yield from fields_of(value, f"{path}.")
        else:
            yield ("seeds" if path == "seed" else path), value if isinstance(value, list) else [value]


def worded(value: Any) -> str:
    if isinstance(value, Mapping):
        parameters = [f"{key.replace('_', ' ')} {worded(each)}" for key, each in value.items() if key != "name"]
        return " · ".join([str(value.get("name", "?")), *parameters])
    return ", ".join(map(worded, value)) if isinstance(value, list) else shown(value)
