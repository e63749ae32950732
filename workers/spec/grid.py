"""Grids: lists at any depth are axes, a block is their product, equal runs of several blocks are merged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.catalog import load_catalog
from workers.errors import Problem, SpecError
from workers.spec.appspec import AnySpec, parse_spec
from workers.spec.identity import CellIdentity, cell_identity

DEFAULT_LIMIT = 10_000
MOST_WORDED = 20_000
"""Problems of all variants together, most of them the same: whoever asks waits for no more than these."""
VALID_SEEDS = range(2**31)


@dataclass(frozen=True)
class PlannedRun:
    """`sources` is what it is to be computed from besides its spec (`identity.run_sources`)."""

    spec: AnySpec
    hash: str
    cell: str
    sources: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """The runs of a study in the order written, each once."""

    runs: tuple[PlannedRun, ...]

    @property
    def cells(self) -> int:
        return len({run.cell for run in self.runs})


@dataclass(frozen=True)
class Variant:
    """One value of a field, and for each resolved path in it the path at which it was written."""

    value: Any
    written_paths: dict[str, str] = field(default_factory=dict)


def expand(blocks: Sequence[Mapping[str, Any]], *, limit: int = DEFAULT_LIMIT) -> Grid:
    """All runs of the blocks, or a `SpecError` with every problem of every block."""
    if not isinstance(blocks, list | tuple) or not blocks:
        raise SpecError([Problem("blocks", "A study needs at least one block.")])
    problems = [problem for index, block in enumerate(blocks) for problem in block_problems(block, f"blocks.{index}")]
    if problems:
        raise SpecError(problems)
    if (total := sum(count_runs(block) for block in blocks)) > limit:
        raise SpecError([Problem("blocks", f"The grid has {total:,} runs; the limit is {limit:,}. Narrow an axis.")])
    return plan_runs(blocks)


def plan_runs(blocks: Sequence[Mapping[str, Any]]) -> Grid:
    runs: dict[str, PlannedRun] = {}
    problems: set[Problem] = set()
    parser, worded = CellParser(), 0
    for index, block in enumerate(blocks):
        for variant in value_variants(with_seeds(block), "", f"blocks.{index}"):
            try:
                run = parser.plan(variant.value)
            except SpecError as error:
                problems |= {problem_as_written(problem, variant, index, block) for problem in error.errors}
                worded += len(error.errors)
                if worded > MOST_WORDED:
                    raise SpecError(problems) from None
                continue
            runs.setdefault(run.hash, run)
    if problems:
        raise SpecError(problems)
    return Grid(tuple(runs.values()))


class CellParser:
    """Runs that differ only in seed are checked and hashed as one: most of a grid is seeds."""

    def __init__(self) -> None:
        load_catalog().refresh()
        self.cells: dict[str, tuple[AnySpec, CellIdentity]] = {}

    def plan(self, data: Mapping[str, Any]) -> PlannedRun:
        seed, cell = data.get("seed", 0), repr({key: value for key, value in data.items() if key != "seed"})
        if cell in self.cells and type(seed) is int and seed in VALID_SEEDS:
            first, identity = self.cells[cell]
            spec = first.model_copy(update={"seed": seed})
        else:
            spec = parse_spec(data)
            identity = cell_identity(spec)
            self.cells[cell] = spec, identity
        return PlannedRun(spec, identity.run_hash(spec.seed), identity.cell, identity.sources)


def problem_as_written(problem: Problem, variant: Variant, index: int, block: Mapping[str, Any]) -> Problem:
    """The problem at the path where the person wrote the value; a missing field at its parent's path."""
    parts = problem.path.split(".")
    if parts == ["seed"] and "seeds" in block:
        place = variant.written_paths["seed"].removeprefix(f"blocks.{index}.seed")
        return Problem(f"blocks.{index}.seeds{place}", problem.message)
    for length in range(len(parts), 0, -1):
        if written := variant.written_paths.get(".".join(parts[:length])):
            return Problem(".".join([written, *parts[length:]]), problem.message)
    return problem.below(f"blocks.{index}")


def count_runs(block: Mapping[str, Any]) -> int:
    """The size of a block's product, without expanding it."""
    return count_variants(with_seeds(block))


def count_variants(value: Any) -> int:
    if isinstance(value, Mapping):
        return math.prod(count_variants(each) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(1 if isinstance(each, list | tuple) else count_variants(each) for each in value)
    return 1


def with_seeds(block: Mapping[str, Any]) -> dict[str, Any]:
    """`seeds: 5` is seeds 0 to 4; `seeds: [0, 7]` is as given."""
    fields = dict(block)
    seeds = fields.pop("seeds", None)
    if seeds is not None:
        fields["seed"] = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    return fields


def value_variants(value: Any, path: str, written: str) -> Iterator[Variant]:
    """A list inside a list is a value that is itself a list, so it is not an axis."""
    if isinstance(value, Mapping):
        keys = list(value)
        axes = [list(value_variants(value[key], join_path(path, key), f"{written}.{key}")) for key in keys]
        for combination in itertools.product(*axes):
            places = {path: written} if path else {}
            for each in combination:
                places |= each.written_paths
            yield Variant(dict(zip(keys, (each.value for each in combination), strict=True)), places)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            place = f"{written}.{index}"
            if isinstance(each, list | tuple):
                yield Variant(each, {path: place})
            else:
                yield from value_variants(each, path, place)
    else:
        yield Variant(value, {path: written})


def join_path(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def block_problems(block: Any, path: str) -> Iterator[Problem]:
    if not isinstance(block, Mapping):
        yield Problem(path, "A block is a mapping of fields.")
        return
    yield from seed_problems(block, path)
    yield from axis_problems({key: value for key, value in block.items() if key != "seeds"}, path)


def seed_problems(block: Mapping[str, Any], path: str) -> Iterator[Problem]:
    seeds = block.get("seeds")
    if "seeds" in block and "seed" in block:
        yield Problem(f"{path}.seeds", "Give either seed or seeds, not both.")
    if seeds is None:
        return
    if isinstance(seeds, bool) or not isinstance(seeds, int | list | tuple):
        yield Problem(f"{path}.seeds", "A number of seeds, or a list of them.")
    elif not seeds or (isinstance(seeds, int) and not 1 <= seeds <= DEFAULT_LIMIT):
        yield Problem(f"{path}.seeds", f"Between 1 and {DEFAULT_LIMIT:,} seeds are needed.")


def axis_problems(value: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                yield Problem(f"{path}.{key}", "Field names are text.")
            yield from axis_problems(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        if not value:
            yield Problem(path, "This axis has no values.")
        for index, each in enumerate(value):
            if not isinstance(each, list | tuple):
                yield from axis_problems(each, f"{path}.{index}")
