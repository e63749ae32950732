"""What people call things: FedProx (μ = 0.1), 5 epochs, hybrid 20 % (share-disjoint).

Slugs such as `label-dirichlet` are for YAML, REST and columns of exports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from workers.catalog import load_catalog
from workers.catalog.component import Component, Kind
from workers.spec import flatten, is_app

COMPONENT_KINDS: dict[str, Kind] = {
    "dataset": "dataset",
    "model": "model",
    "partition": "partition",
    "strategy": "strategy",
    "local.optimizer": "optimizer",
}
APP_AXIS = "app."
"""Each key of an app's config is an axis of its own."""
SHORT_TITLES = {
    "dataset": "data set",
    "local.optimizer": "optimizer",
    "local.optimizer.lr": "learning rate",
    "local.epochs": "epochs",
    "local.batch_size": "batch size",
    "local.class_weights": "class weights",
    "partition.alpha": "Dirichlet α",
    "strategy.mu": "μ",
}
SYMBOLS = {
    "alpha": "α",
    "beta": "β",
    "beta1": "β₁",
    "beta_1": "β₁",
    "beta2": "β₂",
    "beta_2": "β₂",
    "delta": "δ",
    "eps": "ε",
    "epsilon": "ε",
    "eta": "η",
    "gamma": "γ",
    "mu": "μ",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
}
HOSTED_CLASS = "class"
"""The parameter that says which of Flower's strategies it is."""


def axis_title(axis: str) -> str:
    """Keys of an app's config as the app spells them."""
    if axis.startswith(APP_AXIS):
        return axis.removeprefix(APP_AXIS)
    return SHORT_TITLES.get(axis, axis.replace(".", " ").replace("_", " "))


def value_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(each)}" for key, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def percent_text(share: float) -> str:
    return f"{100 * share:g} %"


def component_of(axis: str, name: str) -> Component | None:
    return load_catalog().components[COMPONENT_KINDS[axis]].get(name)


def component_name(axis: str, name: str) -> str:
    """One whose plugin is gone goes by its slug."""
    component = component_of(axis, name)
    return component.short_label if component else name


def method_slug(spec: Mapping[str, Any]) -> str:
    """Of a spec, be it flat or not: its strategy, or the app that brings its own."""
    method = spec["strategy"] if "strategy" in spec else spec["app"]
    return str(method["name"] if isinstance(method, Mapping) else method)


def method_name(spec: Mapping[str, Any]) -> str:
    """The same as people say it."""
    return component_name("strategy", method_slug(spec)) if "strategy" in spec else method_slug(spec)


def component_words(axis: str, row: Mapping[str, Any], paths: Sequence[str]) -> str:
    """With the parameters at these paths of the flat spec: FedProx (μ = 0.1)."""
    name = component_name(axis, str(row[axis]))
    if hosted := row.get(f"{axis}.{HOSTED_CLASS}"):
        name = f"Flower {str(hosted).rpartition('.')[2]}"
    parameters = [
        parameter_words(path.removeprefix(f"{axis}."), row[path])
        for path in paths
        if path in row and path != f"{axis}.{HOSTED_CLASS}"
    ]
    return f"{name} ({', '.join(parameters)})" if parameters else name


def parameter_words(name: str, value: Any) -> str:
    """An argument of a constructor, or a parameter of a part, by its own name."""
    title = parameter_title(name.rpartition(".")[2])
    if isinstance(value, bool):
        return title if value else f"not {title}"
    return f"{title} = {value_text(value)}"


def parameter_title(name: str) -> str:
    return SYMBOLS.get(name, name.replace("_", " "))


def count_words(one: str, many: str) -> Callable[[Any], str]:
    return lambda value: f"{value:,} {one if value == 1 else many}"


FIELD_NAMES: dict[str, Callable[[Any], str]] = {
    "hybrid.ratio": lambda value: f"hybrid {percent_text(value)}",
    "hybrid.method": str,
    "feature_noise": lambda value: f"noise σ = {value_text(value)}" if value else "no noise",
    "feature_noise_kind": lambda value: f"noise by {value}",
    "clients": count_words("client", "clients"),
    "cohort": lambda value: f"{value:,} a round",
    "fraction": lambda value: f"{percent_text(value)} a round",
    "client_dropout": lambda value: f"dropout {percent_text(value)}",
    "stragglers": lambda value: f"stragglers {percent_text(value)}",
    "rounds": count_words("round", "rounds"),
    "local.epochs": count_words("epoch", "epochs"),
    "local.batch_size": lambda value: f"batch {value:,}",
}
SHARES = ("hybrid.ratio", "fraction", "client_dropout", "stragglers")
"""Fractions that people read in percent."""
OPTIONS = ("local.class_weights", "attack", "privacy", "compression")
"""What a run has or does without."""


def field_name(axis: str, value: Any) -> str:
    """A value that names its field: hybrid 20 %, 5 epochs, batch 32."""
    if axis == "clients" and value is None:
        return "all natural clients"
    if axis in FIELD_NAMES and isinstance(value, int | float | str):
        return FIELD_NAMES[axis](value)
    if value is None and axis in OPTIONS:
        return f"no {axis_title(axis)}"
    return f"{axis_title(axis)} {value_text(value)}"


def field_value(axis: str, value: Any) -> str:
    """The same below a title that names the field."""
    return percent_text(value) if axis in SHARES and value is not None else value_text(value)


def method_label(flat: Mapping[str, Any]) -> str:
    """Its strategy with the parameters that are not as always, or the app that brings its own."""
    return component_label("strategy", flat) if "strategy" in flat else method_slug(flat)


def component_label(axis: str, flat: Mapping[str, Any]) -> str:
    """Of one cell, beside no other."""
    return component_words(axis, flat, unusual_parameters(axis, flat))


CELL_PARTS = ("strategy", "model", "dataset", "partition")
"""What a run is made of, in the order in which people say it."""


def cell_name(spec: Mapping[str, Any]) -> str:
    """A cell by all that people name one by, whatever else there is: for run titles and the queue."""
    if is_app(spec):
        config = [f"{key} {value_text(value)}" for key, value in sorted(spec["app"]["config"].items())]
        return " · ".join([method_slug(spec), *config])
    flat = flatten(spec)
    parts = [component_label(axis, flat) for axis in CELL_PARTS if axis in flat]
    return " · ".join([*parts, *unusual_fields(flat)])


def unusual_parameters(axis: str, flat: Mapping[str, Any], *, named: bool = True) -> list[str]:
    """Paths of those that are not as always and, in names, of those that belong to the component's."""
    component = component_of(axis, str(flat[axis]))
    named_by = component.named_by if component and named else ()
    paths = [path for path in flat if path.startswith(f"{axis}.")]
    defaults = default_values(axis, component, flat) if component else {}
    return [path for path in paths if path.removeprefix(f"{axis}.") in named_by or flat[path] != defaults.get(path)]


def default_values(axis: str, component: Component, flat: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the catalog gives by default, flat; parameters of a part are those of the part that the spec has."""
    chosen = [(field, flat[f"{axis}.{field}"]) for field in part_names(component) if f"{axis}.{field}" in flat]
    return defaults_with_parts(component, axis, tuple(chosen))


@cache
def part_names(component: Component) -> tuple[str, ...]:
    """Its parameters that are parts, each with a name and parameters of its own."""
    defaults = component.Params(name=component.name).model_dump(mode="json")
    return tuple(field for field, value in defaults.items() if isinstance(value, Mapping) and "name" in value)


@cache
def defaults_with_parts(component: Component, axis: str, chosen: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    standard = flatten(component.Params(name=component.name).model_dump(mode="json"), axis)
    parts = {field: {"name": name} for field, name in chosen}
    with_parts = component.Params.model_validate({"name": component.name, **parts})
    names = {f"{axis}.{field}": standard[f"{axis}.{field}"] for field in parts}
    return {**flatten(with_parts.model_dump(mode="json"), axis), **names}


def unusual_fields(flat: Mapping[str, Any]) -> list[str]:
    """What else makes another cell of the same components, where it is not as always."""
    words = []
    if flat.get("hybrid.ratio"):
        words.append(f"{field_name('hybrid.ratio', flat['hybrid.ratio'])} ({flat['hybrid.method']})")
    if flat.get("feature_noise"):
        words.append(field_name("feature_noise", flat["feature_noise"]))
    return words
