"""What people read about a component: its explanation and its parameters in words, from its declaration alone."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workers.catalog.component import Component
from workers.catalog.part import part_options

LIMIT_WORDS = {
    "minimum": "{} or more",
    "exclusiveMinimum": "above {}",
    "maximum": "{} at most",
    "exclusiveMaximum": "below {}",
}
TYPE_WORDS = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "array": "list",
    "object": "mapping",
}


@dataclass(frozen=True)
class ParameterDoc:
    name: str
    default: str
    allowed: str
    meaning: str


def docstring_paragraphs(component: Component) -> list[str]:
    """The docstring's paragraphs, without the line breaks of the source."""
    text = inspect.cleandoc(type(component).__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


def parameter_docs(component: Component) -> list[ParameterDoc]:
    schema = component.Params.model_json_schema()
    fields = {name: field for name, field in schema["properties"].items() if name != "name"}
    return [doc for name, field in fields.items() for doc in field_docs(name, field, schema)]


def field_docs(name: str, field: dict[str, Any], root: dict[str, Any]) -> Iterator[ParameterDoc]:
    """A row for the field; where it is a choice of parts, one more for each part and each of a part's parameters."""
    options = part_options(field, root)
    if not options:
        allowed = "; ".join(allowed_values(field, root.get("$defs", {})))
        yield ParameterDoc(name, yaml_value(field.get("default")), allowed, parameter_meaning(field))
        return
    default = field.get("default")
    names = [*(["null"] if any(each.get("type") == "null" for each in field.get("anyOf", ())) else [])]
    names += [option.name for option in options]
    yield ParameterDoc(name, default["name"] if default else "null", ", ".join(names), parameter_meaning(field))
    for option in options:
        source = f" ({option.paper}.)" if option.paper else ""
        yield ParameterDoc(f"{name}: {option.name}", "", option.label, f"{option.summary}{source}")
        for inner, own in option.properties.items():
            yield from field_docs(f"{name}.{inner}", own, root)


def parameter_meaning(field: dict[str, Any]) -> str:
    return str(field.get("description", "")).replace("\n", " ")


def allowed_values(field: dict[str, Any], shared: dict[str, Any]) -> Iterator[str]:
    """What may be written, in words: choices, or a type with its limits."""
    if "$ref" in field:
        field = shared[field["$ref"].rpartition("/")[2]]
    for option in field.get("anyOf", ()):
        yield from ["null"] if option.get("type") == "null" else allowed_values(option, shared)
    if "enum" in field or "const" in field:
        yield ", ".join(yaml_value(choice) for choice in field.get("enum", [field.get("const")]))
    elif "type" in field:
        limits = [words.format(f"{field[name]:g}") for name, words in LIMIT_WORDS.items() if name in field]
        yield ", ".join([TYPE_WORDS.get(field["type"], field["type"]), *limits])


def yaml_value(value: Any) -> str:
    """As in a study's YAML."""
    if value is None:
        return "null"
    return value if isinstance(value, str) else json.dumps(value)
