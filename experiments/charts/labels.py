"""Words for specs: which axes a set of cells has, and what tells one cell from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workers.spec import flatten, varying_paths
from workers.spec.grid import count

SHORT = {"local.optimizer": "optimizer", "local.epochs": "epochs", "local.batch_size": "batch size"}
PLURALS = {"strategy": "strategies", "local.batch_size": "batch sizes", "hybrid.ratio": "hybrid ratios"}
COMPONENTS = ("dataset", "model", "partition", "strategy", "local.optimizer")


def axis_of(path: str) -> str:
    """A component and its parameters are one axis; every other field is an axis of its own."""
    return next((each for each in COMPONENTS if path == each or path.startswith(f"{each}.")), path)


def axis_title(axis: str) -> str:
    return SHORT.get(axis, axis.replace(".", " ").replace("_", " "))


def axes_of(specs: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Each varying axis with its varying paths; the strategy first, because it has the colours."""
    axes: dict[str, list[str]] = {}
    for path in varying_paths(specs):
        axes.setdefault(axis_of(path), []).append(path)
    return dict(sorted(axes.items(), key=lambda item: item[0] != "strategy"))


def shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def axis_value(spec: Mapping[str, Any], axis: str, paths: Sequence[str]) -> str:
    """The value of one axis: "fedprox · mu 0.1", "hybrid ratio 0.2"."""
    flat = flatten(spec)
    words = [str(flat[axis])] if axis in COMPONENTS else []
    for path in paths:
        if path != axis and flat.get(path) is not None:
            words.append(f"{path.removeprefix(f'{axis}.').replace('_', ' ')} {shown(flat[path])}")
        elif axis not in COMPONENTS:
            words.append(f"{axis_title(axis)} {shown(flat.get(path))}")
    return " · ".join(words)


def axes_text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """What a study varies, read from its blocks: its axes with their sizes, and its seeds."""
    if len(blocks) != 1:
        return f"{len(blocks)} blocks · {seeds_text(blocks)}"
    sizes = {axis: size for axis, size in axis_sizes(blocks[0]).items() if size > 1}
    axes = " × ".join(f"{size} {plural(axis)}" for axis, size in strategy_first(sizes)) or "1 cell"
    return f"{axes} · {seeds_text(blocks)}"


def strategy_first(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(sizes.items(), key=lambda item: item[0] != "strategy")


def axis_sizes(block: Mapping[str, Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for key, value in block.items():
        if key in ("seed", "seeds"):
            continue
        if isinstance(value, Mapping) and key not in COMPONENTS:
            sizes |= {f"{key}.{inner}": count(each) for inner, each in value.items()}
        else:
            sizes[key] = count(value)
    return sizes


def plural(axis: str) -> str:
    title = axis_title(axis)
    return PLURALS.get(axis, title if title.endswith("s") else f"{title}s")


def seeds_text(blocks: Sequence[Mapping[str, Any]]) -> str:
    counts = sorted({seed_count(block) for block in blocks})
    if len(counts) > 1:
        return f"{counts[0]}–{counts[-1]} seeds"
    return "1 seed" if counts == [1] else f"{counts[0]} seeds"


def seed_count(block: Mapping[str, Any]) -> int:
    seeds = block.get("seeds", block.get("seed", 0))
    if isinstance(seeds, list):
        return len(seeds)
    return int(seeds) if "seeds" in block else 1
