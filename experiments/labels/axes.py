"""Words for specs: which axes a set of cells has, and what tells one cell from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from workers.catalog import load_catalog
from workers.catalog.component import Kind
from workers.spec import flatten, is_app
from workers.spec.grid import count_variants
from workers.spec.paths import varying_flat_paths

COMPONENT_KINDS: dict[str, Kind] = {
    "dataset": "dataset",
    "model": "model",
    "partition": "partition",
    "strategy": "strategy",
    "local.optimizer": "optimizer",
}
MAIN_AXES = ("strategy", "app", "dataset", "model", "partition", "feature_noise")
"""What people name a cell by, even where it follows from something else."""
MAIN_PARTS = ("app", "strategy", "model", "dataset", "partition")
"""What a run is made of, in the order in which people say it; one of an app has nothing but the app."""
APP_AXIS = "app."
"""Each key of an app's config is an axis of its own."""
Axes = Mapping[str, Mapping[str, str]]
"""Each axis that varies, with its value in words for every cell."""
Sources = Mapping[str, str]
"""Where each cell comes from, such as its study."""
SOURCE_AXIS = "study"
SHORT_TITLES = {"local.optimizer": "optimizer", "local.epochs": "epochs", "local.batch_size": "batch size"}
PLURALS = {"strategy": "strategies"}
SHARED_FIELDS = ("seed", "engine")
"""Those that runs of an app have, too."""
NOT_THERE = "–"
"""In the place of a field that a cell of another kind has: a run of an app has no partition."""


def axis_of(path: str) -> str:
    """A component and its parameters are one axis; every other field is an axis of its own."""
    return next((each for each in COMPONENT_KINDS if path == each or path.startswith(f"{each}.")), path)


def axis_title(axis: str) -> str:
    """Keys of an app's config as the app spells them."""
    if axis.startswith(APP_AXIS):
        return axis.removeprefix(APP_AXIS)
    return SHORT_TITLES.get(axis, axis.replace(".", " ").replace("_", " "))


def method_name(spec: Mapping[str, Any]) -> str:
    """Of a spec, be it flat or not: its strategy, or the app that brings its own."""
    method = spec["strategy"] if "strategy" in spec else spec["app"]
    return str(method["name"] if isinstance(method, Mapping) else method)


def main_parts(flat: Mapping[str, Any]) -> dict[str, str]:
    """What a run is made of, by its parts' names."""
    return {part: str(flat[part]) for part in MAIN_PARTS if part in flat}


def axis_values(specs: Mapping[str, Mapping[str, Any]], sources: Sources | None = None) -> dict[str, dict[str, str]]:
    """Each axis that varies, the strategy first, with its value in words for every cell.

    `sources` names where each cell comes from. All that varies only between sources is then one axis, called by them:
    two studies that differ in ten fixed fields are told apart by their names.
    """
    return flat_axis_values({cell: flatten(spec) for cell, spec in specs.items()}, sources)


def flat_axis_values(
    flat: Mapping[str, Mapping[str, Any]], sources: Sources | None = None
) -> dict[str, dict[str, str]]:
    """The same for specs that are flat already."""
    axes = dict.fromkeys(axis_of(path) for path in varying_flat_paths(list(flat.values())))
    labels_by_axis = {axis: axis_labels(axis, flat) for axis in sorted(axes, key=lambda axis: axis != "strategy")}
    if sources is None or len(set(sources.values())) < 2:
        return labels_by_axis
    within = {
        axis: words for axis, words in labels_by_axis.items() if axis == "strategy" or not follows_from(words, sources)
    }
    # Two versions of an app, or of a plugin, may have one spec.
    told_apart = len({tuple(words[cell] for words in within.values()) for cell in flat}) == len(flat)
    if told_apart and len(within) == len(labels_by_axis):
        return within
    return {**within, SOURCE_AXIS: dict(sources)}


def drop_redundant_axes(axes: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Without plain fields that the data set decides: "batch 64 for SVHN, 128 for CIFAR-10" is told by the data set.

    Likewise without fields that follow from the app: each app has its own. Beside strategies it stands among them.
    """
    deciding = {axis: axes[axis] for axis in ("dataset", "app") if axis in axes}
    named = {*COMPONENT_KINDS, "dataset" if "strategy" in axes else "app"}
    return {
        axis: words
        for axis, words in axes.items()
        if axis in named or not any(follows_from(words, each) for each in deciding.values())
    }


def follows_from(words: Mapping[str, str], sources: Sources) -> bool:
    """Whether the source alone decides the value."""
    return len({(sources[cell], word) for cell, word in words.items()}) == len(set(sources.values()))


def axis_labels(axis: str, flat: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    if axis not in COMPONENT_KINDS:
        return {cell: field_words(axis, row) for cell, row in flat.items()}
    with_component = {cell: row for cell, row in flat.items() if axis in row}
    others = {cell: method_name(row) if axis == "strategy" else NOT_THERE for cell, row in flat.items()}
    return {**others, **component_labels(axis, with_component)}


def field_words(axis: str, row: Mapping[str, Any]) -> str:
    """A run of an app has nothing but the app's fields, and of those only its own app's."""
    if axis == "app":
        return str(row.get(axis, NOT_THERE))
    other_kind = is_app(row) != axis.startswith(APP_AXIS) and axis not in SHARED_FIELDS
    if other_kind or (axis.startswith(APP_AXIS) and axis not in row):
        return NOT_THERE
    return f"{axis_title(axis)} {value_text(row.get(axis))}"


def component_labels(axis: str, flat: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    rows_by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in flat.values():
        rows_by_name.setdefault(str(row[axis]), []).append(row)
    parameters = {name: distinguishing_parameters(axis, name, rows) for name, rows in rows_by_name.items()}
    if len(rows_by_name) == 1:
        # What all cells have in common tells none of them apart.
        varying = set(varying_flat_paths(list(flat.values())))
        parameters = {name: [path for path in paths if path in varying] for name, paths in parameters.items()}
    return {cell: component_text(axis, row, parameters[str(row[axis])]) for cell, row in flat.items()}


def distinguishing_parameters(axis: str, name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that differ between cells with the same component, or from what the catalog gives by default."""
    component = load_catalog().components[COMPONENT_KINDS[axis]].get(name)
    defaults = component.Params(name=name).model_dump(mode="json") if component else {}
    paths = [path for path in dict.fromkeys(chain.from_iterable(rows)) if path.startswith(f"{axis}.")]
    default = {path: defaults.get(path.rsplit(".", 1)[1]) for path in paths}
    return [path for path in paths if any(row.get(path, default[path]) != default[path] for row in rows)]


def component_text(axis: str, row: Mapping[str, Any], paths: Sequence[str]) -> str:
    parameters = [parameter_text(path.removeprefix(f"{axis}."), row[path]) for path in paths if path in row]
    return " · ".join([str(row[axis]), *parameters])


def parameter_text(name: str, value: Any) -> str:
    """A class goes by its own name, an argument of its constructor by the argument's."""
    *_, last = name.split(".")
    if last == "class":
        return str(value).rpartition(".")[2]
    title = last if name.startswith("arguments.") else name
    return f"{title.replace('_', ' ')} {value_text(value)}"


def value_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(each)}" for key, each in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def axes_text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """What a study varies, read from its blocks: its axes with their sizes, and its seeds."""
    if len(blocks) != 1:
        return f"{len(blocks)} blocks · {seeds_text(blocks)}"
    sizes = {axis: size for axis, size in axis_sizes(blocks[0]).items() if size > 1}
    ordered = sorted(sizes, key=lambda axis: axis != "strategy")
    axes = " × ".join(f"{sizes[axis]} {axis_plural(axis)}" for axis in ordered) or "1 cell"
    return " · ".join([*app_names(blocks), axes, seeds_text(blocks)])


def app_names(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The apps that blocks are about, each once; whatever else stands there is no name."""
    apps = [block.get("app") for block in blocks]
    names = [app.get("name") for app in apps if isinstance(app, Mapping)]
    flat = [each for name in names for each in (name if isinstance(name, list) else [name])]
    return list(dict.fromkeys(name for name in flat if isinstance(name, str)))


def axis_sizes(block: Mapping[str, Any], prefix: str = "") -> dict[str, int]:
    sizes: dict[str, int] = {}
    for key, value in block.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and path not in COMPONENT_KINDS:
            sizes |= axis_sizes(value, APP_AXIS if path == "app.config" else f"{path}.")
        elif path not in ("seed", "seeds"):
            sizes["app" if path == "app.name" else path] = count_variants(value)
    return sizes


def axis_plural(axis: str) -> str:
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
