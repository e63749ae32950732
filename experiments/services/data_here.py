"""Launching needs data: what a grid asks for and the lab does not have yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workers.catalog import load_catalog
from workers.errors import Problem
from workers.spec import Grid


def missing_data(blocks: Sequence[Mapping[str, Any]], grid: Grid) -> Iterator[Problem]:
    """One problem for each block and data set that is not here; specs stay valid anywhere, launches do not."""
    datasets = load_catalog().datasets
    wanted = {run.spec.dataset for run in grid.runs}
    missing = {params.name for params in wanted if datasets[params.name].available(params)}
    for index, block in enumerate(blocks):
        for name in sorted(missing & set(names_in(block.get("dataset")))):
            yield Problem(f"blocks.{index}.dataset", not_here(name))


def not_here(name: str) -> str:
    return f"{name} is not here yet: fetch or import it on the Data sets page."


def names_in(value: Any) -> Iterator[str]:
    """The names of a data set field, which may be one mapping, an axis of them, or have an axis of names."""
    if isinstance(value, Mapping):
        yield from names_in(value.get("name"))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from names_in(each)
    elif isinstance(value, str):
        yield value
