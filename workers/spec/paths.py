"""Specs as flat tables: `{"strategy": "fedprox", "strategy.mu": 0.1}`, and which columns vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A component's name stands at the component's own path: strategy.name becomes strategy."""
    flat: dict[str, Any] = {}
    for key, value in spec.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            flat |= flatten(value, path)
        elif key == "name" and prefix:
            flat[prefix] = value
        else:
            flat[path] = value
    return flat


def varying_paths(specs: Iterable[Mapping[str, Any]], ignore: Iterable[str] = ("seed", "engine")) -> list[str]:
    """Paths that do not have one and the same value in all specs, in the order of first appearance."""
    return varying_in([flatten(spec) for spec in specs], ignore)


def varying_in(rows: Sequence[Mapping[str, Any]], ignore: Iterable[str] = ("seed", "engine")) -> list[str]:
    """The same for specs that are flat already: a lab compares hundreds at a time."""
    paths = dict.fromkeys(path for row in rows for path in row)
    ignored = set(ignore)
    return [path for path in paths if path not in ignored and differs(row.get(path) for row in rows)]


def differs(values: Iterable[Any]) -> bool:
    iterator = iter(values)
    first = next(iterator, None)
    return any(value != first or type(value) is not type(first) for value in iterator)
