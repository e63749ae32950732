"""Every field of a block as plain data, derived from specs, catalog and apps: what the form is drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from experiments.flower_apps.selectors import ConfigField, config_fields, usable_apps
from experiments.labels.names import COMPONENT_KINDS, parameter_title
from workers.catalog import describe_component, load_catalog
from workers.catalog.component import Dataset
from workers.catalog.part import PartOption, part_options
from workers.spec import AppSpec, RunSpec
from workers.spec.appspec import kind_name

FIELD_TITLES = {
    "dataset": "Data set",
    "app.name": "App",
    "app.clients": "Clients",
    "app.metrics": "Metrics by our names",
    "local.optimizer": "Optimizer",
    "local.epochs": "Local epochs",
    "local.batch_size": "Batch size",
    "cohort": "Clients per round",
    "evaluation.on": "Evaluate on",
    "evaluation.every": "Evaluate every",
    "evaluation.clients": "Clients that evaluate",
    "stop.target_accuracy": "Stop at accuracy",
    "stop.patience": "Stop after no gain in",
}
BOUNDS = {
    "minimum": "{:g} or more",
    "exclusiveMinimum": "above {:g}",
    "maximum": "at most {:,.10g}",
    "exclusiveMaximum": "below {:g}",
}
FIELD_KINDS = {
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
    "null": "reserved",
}
MAIN_FIELDS = ("rounds", "clients", "cohort", "local.epochs", "local.batch_size", "app.clients")
APP_CONFIG = "app.config"
USUAL_FIRST = {
    "strategy": ("fedavg", "fedprox", "scaffold", "fednova", "fedadam", "fedyogi"),
    "partition": ("iid", "label-dirichlet"),
    "optimizer": ("sgd",),
}
"""What most studies begin with; the rest follows as the catalog has it."""


def editor_fields() -> list[dict[str, Any]]:
    """Components first, then the numbers that every study sets, then the rest as RunSpec orders them."""
    return [*(component_field(path) for path in COMPONENT_KINDS), *plain_fields()]


@cache
def plain_fields() -> list[dict[str, Any]]:
    schema = RunSpec.model_json_schema()
    plain = [field for field in schema_fields(schema, schema, "") if field["kind"] != "reserved"]
    main = sorted((each for each in plain if each["main"]), key=lambda each: MAIN_FIELDS.index(each["path"]))
    return [*main, *(each for each in plain if not each["main"])]


def app_options() -> list[dict[str, Any]]:
    """Every app that a block can be about, with its own fields: the keys of its config first."""
    return [
        {
            "name": package.name,
            "about": " · ".join(filter(None, [package.version, package.description])),
            "fields": [*(config_field(each) for each in config_fields(package) if not each.is_seed), *app_fields()],
        }
        for package in usable_apps()
    ]


@cache
def app_fields() -> list[dict[str, Any]]:
    """What every app has besides its config."""
    schema = AppSpec.model_json_schema()
    return [field for field in schema_fields(schema, schema, "") if field["path"] not in ("app.name", APP_CONFIG)]


def config_field(field: ConfigField) -> dict[str, Any]:
    """As the app spells it; its type is that of its default."""
    return {
        "path": f"{APP_CONFIG}.{field.key}",
        "title": field.key,
        "description": f"{kind_name(field.default)}, {field.default_text} by default.",
        "kind": field.kind,
        "main": True,
        "nullable": False,
        "default": field.default,
        "options": [],
        "suggestions": [],
        "range": "",
    }


def component_field(path: str) -> dict[str, Any]:
    """The usual ones first, and of data sets those that are here. The hint is asked for each time: a data set may have
    come meanwhile."""
    kind = COMPONENT_KINDS[path]
    known = [{**component_option(each), **component_state(each)} for each in load_catalog().components[kind].values()]
    usual = USUAL_FIRST.get(kind, ())
    place = {name: number for number, name in enumerate(usual)}
    options = sorted(known, key=lambda each: (not each.get("ready", True), place.get(each["name"], len(usual))))
    return {"path": path, "title": field_title(path), "kind": "component", "of": kind, "main": True, "options": options}


@cache
def component_option(component: Any) -> dict[str, Any]:
    description = describe_component(component)
    schema = description.pop("schema")
    properties = {name: each for name, each in schema["properties"].items() if name != "name"}
    return {
        **description,
        "short_label": component.short_label,
        "named_by": component.named_by,
        "parameters": parameter_fields(properties, schema),
    }


def parameter_fields(properties: Mapping[str, dict[str, Any]], root: dict[str, Any]) -> list[dict[str, Any]]:
    """With the symbol that stands for each beside a component's name."""
    return [{**schema_field(each, root, name), "symbol": parameter_title(name)} for name, each in properties.items()]


def component_state(component: Any) -> dict[str, Any]:
    """What else to know before it is chosen; of a data set, whether it is here."""
    if not isinstance(component, Dataset):
        return {"hint": ""}
    defaults = component.Params(name=component.name)
    facts = component.facts(defaults)
    missing = component.available(defaults)
    sizes = f"{facts.train:,} train · {facts.test:,} test · {facts.classes} classes"
    return {"hint": missing or sizes, "ready": missing is None}


def schema_fields(schema: dict[str, Any], root: dict[str, Any], prefix: str) -> Iterator[dict[str, Any]]:
    for name, inner in schema["properties"].items():
        path = f"{prefix}{name}"
        if path in COMPONENT_KINDS or path == "seed":
            continue
        target = resolve_reference(inner, root)
        if "properties" in target:
            yield from schema_fields(target, root, f"{path}.")
        else:
            yield schema_field(target, root, path)


def resolve_reference(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        definition: dict[str, Any] = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return definition
    return schema


def schema_field(schema: dict[str, Any], root: dict[str, Any], path: str) -> dict[str, Any]:
    """One value: a number, a choice, a switch, a mapping, text, or a part with parameters of its own. `nullable` fields
    may be left empty, `suggestions` are only some of what may be written."""
    kinds = schema.get("anyOf", [schema])
    inner = next((each for each in kinds if each.get("type") != "null"), {"type": "null"})
    parts = [part_field(option, root) for option in part_options(schema, root)]
    return {
        "path": path,
        "title": field_title(path),
        "description": schema.get("description", ""),
        "kind": "part" if parts else field_kind(inner),
        "main": path in MAIN_FIELDS,
        "nullable": len(kinds) > 1,
        "default": schema.get("default"),
        "options": parts or inner.get("enum", []),
        "suggestions": schema.get("examples", []),
        "range": range_text(inner),
    }


def part_field(option: PartOption, root: dict[str, Any]) -> dict[str, Any]:
    """As a component's option is drawn."""
    return {
        "name": option.name,
        "label": option.label,
        "summary": option.summary,
        "paper": option.paper,
        "hint": "",
        "parameters": parameter_fields(option.properties, root),
    }


def field_kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "choice"
    return FIELD_KINDS.get(schema.get("type", ""), "text")


def range_text(schema: dict[str, Any]) -> str:
    """The bounds in words, so that nobody has to guess them."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 2**31:
        return f"{low:g} to {high:,.10g}"
    return ", ".join(text.format(schema[bound]) for bound, text in BOUNDS.items() if schema.get(bound, 2**31) < 2**31)


def field_title(path: str) -> str:
    if path.startswith(f"{APP_CONFIG}."):
        return path.removeprefix(f"{APP_CONFIG}.")
    return FIELD_TITLES.get(path, path.replace(".", " ").replace("_", " ").capitalize())
