"""Words for specs: which axes a set of cells has, and what tells one cell from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from experiments.labels.names import (
    APP_AXIS,
    COMPONENT_KINDS,
    axis_title,
    component_name,
    component_words,
    field_name,
    field_value,
    method_slug,
    unusual_parameters,
    value_text,
)
from workers.spec import flatten, is_app
from workers.spec.grid import count_variants
from workers.spec.paths import varying_flat_paths

MAIN_AXES = ("dataset", "model", "partition", "app", "strategy", "feature_noise")
"""What people name a cell by, even where it follows from something else; first of all the data set."""
MAIN_PARTS = ("app", "strategy", "model", "dataset", "partition")
"""What a run is made of, in the order in which people say it; one of an app has nothing but the app."""
Axes = Mapping[str, Mapping[str, str]]
"""Each axis that varies, with its value in words for every cell."""
Wording = Literal["name", "column", "slug"]
"""Names for people, the same below a title that names the axis, and slugs, which outlive renamed labels."""
Sources = Mapping[str, str]
"""Where each cell comes from, such as its study."""
SOURCE_AXIS = "study"
PLURALS = {"strategy": "strategies"}
SHARED_FIELDS = ("seed", "engine")
"""Those that runs of an app have, too."""
NOT_THERE = "–"
"""In the place of a field that a cell of another kind has: a run of an app has no partition."""


def axis_of(path: str) -> str:
    """A component and its parameters are one axis; every other field is an axis of its own."""
    return next((each for each in COMPONENT_KINDS if path == each or path.startswith(f"{each}.")), path)


def axis_order(axis: str) -> int:
    return MAIN_AXES.index(axis) if axis in MAIN_AXES else len(MAIN_AXES)


def main_parts(flat: Mapping[str, Any]) -> dict[str, str]:
    """What a run is made of, by its parts' names."""
    parts = {part: str(flat[part]) for part in MAIN_PARTS if part in flat}
    return {part: name if part == "app" else component_name(part, name) for part, name in parts.items()}


def axis_values(
    specs: Mapping[str, Mapping[str, Any]], sources: Sources | None = None, wording: Wording = "name"
) -> dict[str, dict[str, str]]:
    """Each axis that varies, the data set first, with its value in words for every cell.

    `sources` names where each cell comes from: an axis of its own where nothing else tells two cells apart.
    """
    return flat_axis_values({cell: flatten(spec) for cell, spec in specs.items()}, sources, wording)


def flat_axis_values(
    flat: Mapping[str, Mapping[str, Any]], sources: Sources | None = None, wording: Wording = "name"
) -> dict[str, dict[str, str]]:
    """The same for specs that are flat already."""
    axes = dict.fromkeys(axis_of(path) for path in varying_flat_paths(list(flat.values())))
    labels_by_axis = {axis: axis_labels(axis, flat, wording) for axis in sorted(axes, key=axis_order)}
    if sources is None or len(set(sources.values())) < 2:
        return labels_by_axis
    # Two versions of an app, or of a plugin, may have one spec.
    told_apart = len({tuple(words[cell] for words in labels_by_axis.values()) for cell in flat}) == len(flat)
    return labels_by_axis if told_apart else {**labels_by_axis, SOURCE_AXIS: dict(sources)}


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


def sort_axes(axes: Axes, flat: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Each axis with its cells in the order of its values: numbers by size, other values as they first appear.

    `dict.fromkeys(words.values())` is then the order in which panels, columns and legends have them.
    """
    return {axis: dict(sorted(words.items(), key=cell_order(axis, words, flat))) for axis, words in axes.items()}


def cell_order(
    axis: str, words: Mapping[str, str], flat: Mapping[str, Mapping[str, Any]]
) -> Callable[[tuple[str, str]], Any]:
    paths = axis_paths(axis, [flat[cell] for cell in words])
    texts = {path: dict.fromkeys(value_text(flat[cell].get(path)) for cell in words) for path in paths}
    places = {path: {text: place for place, text in enumerate(texts[path])} for path in paths}
    return lambda item: [value_order(flat[item[0]].get(path), places[path]) for path in paths]


def axis_paths(axis: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The component's name and its parameters, or the field itself."""
    parameters = sorted(path for path in set(chain.from_iterable(rows)) if axis_of(path) == axis and path != axis)
    return [axis, *parameters]


def value_order(value: Any, places: Mapping[str, int]) -> tuple[int, float]:
    """What is not there comes last: no limit is the largest."""
    if value is None:
        return 2, 0.0
    return (0, float(value)) if isinstance(value, int | float) else (1, float(places[value_text(value)]))


def follows_from(words: Mapping[Any, str], sources: Mapping[Any, str]) -> bool:
    """Whether the source alone decides the value."""
    return len({(sources[cell], word) for cell, word in words.items()}) == len(set(sources.values()))


def axis_labels(axis: str, flat: Mapping[str, Mapping[str, Any]], wording: Wording) -> dict[str, str]:
    if axis not in COMPONENT_KINDS:
        return {cell: field_words(axis, row, wording) for cell, row in flat.items()}
    with_component = {cell: row for cell, row in flat.items() if axis in row}
    others = {cell: method_slug(row) if axis == "strategy" else NOT_THERE for cell, row in flat.items()}
    return {**others, **component_labels(axis, with_component, wording)}


def field_words(axis: str, row: Mapping[str, Any], wording: Wording) -> str:
    """A run of an app has nothing but the app's fields, and of those only its own app's."""
    if axis == "app":
        return str(row.get(axis, NOT_THERE))
    other_kind = is_app(row) != axis.startswith(APP_AXIS) and axis not in SHARED_FIELDS
    if other_kind or (axis.startswith(APP_AXIS) and axis not in row):
        return NOT_THERE
    if wording == "slug":
        return f"{slug_title(axis)} {value_text(row.get(axis))}"
    return (field_name if wording == "name" else field_value)(axis, row.get(axis))


def component_labels(axis: str, flat: Mapping[str, Mapping[str, Any]], wording: Wording) -> dict[str, str]:
    rows_by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in flat.values():
        rows_by_name.setdefault(str(row[axis]), []).append(row)
    parameters = {name: distinguishing_parameters(axis, name, rows, wording) for name, rows in rows_by_name.items()}
    if len(rows_by_name) == 1:
        # What all cells have in common tells none of them apart.
        varying = set(varying_flat_paths(list(flat.values())))
        parameters = {name: [path for path in paths if path in varying] for name, paths in parameters.items()}
    words = component_slugs if wording == "slug" else component_words
    return {cell: words(axis, row, parameters[str(row[axis])]) for cell, row in flat.items()}


def distinguishing_parameters(
    axis: str, name: str, rows: Sequence[Mapping[str, Any]], wording: Wording = "name"
) -> list[str]:
    """Those that differ between cells with the same component, or from what the catalog gives by default; in names also
    those that belong to the component's name."""
    unusual = {path for row in rows for path in unusual_parameters(axis, row, named=wording != "slug")}
    paths = [path for path in dict.fromkeys(chain.from_iterable(rows)) if path.startswith(f"{axis}.")]
    fields = [path.removeprefix(f"{axis}.").partition(".")[0] for path in paths]
    paths.sort(key=lambda path: fields.index(path.removeprefix(f"{axis}.").partition(".")[0]))
    return [path for path in paths if path in unusual]


SLUG_TITLES = {"local.optimizer": "optimizer", "local.epochs": "epochs", "local.batch_size": "batch size"}


def slug_title(axis: str) -> str:
    if axis.startswith(APP_AXIS):
        return axis.removeprefix(APP_AXIS)
    return SLUG_TITLES.get(axis, axis.replace(".", " ").replace("_", " "))


def component_slugs(axis: str, row: Mapping[str, Any], paths: Sequence[str]) -> str:
    parameters = [parameter_slug(path.removeprefix(f"{axis}."), row[path]) for path in paths if path in row]
    return " · ".join([str(row[axis]), *parameters])


def parameter_slug(name: str, value: Any) -> str:
    """A class goes by its own name; an argument of its constructor, or a parameter of a part, by its own."""
    *_, last = name.split(".")
    if last == "class":
        return str(value).rpartition(".")[2]
    return f"{last.replace('_', ' ')} {value_text(value)}"


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
    names = [name for app in apps if isinstance(app, Mapping) for name in as_list(app.get("name"))]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def dataset_names(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The data sets that blocks are about, each once; an app's are its own business."""
    parts = [part for block in blocks for part in as_list(block.get("dataset"))]
    names = [name for part in parts if isinstance(part, Mapping) for name in as_list(part.get("name"))]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


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
