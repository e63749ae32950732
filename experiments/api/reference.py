"""The page of the API in the lab's own look: every route, what it takes and answers, and how a terminal asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase

METHODS = ("get", "post", "put", "patch", "delete")
DEEPEST = 3
"""Fields of fields are told so far down; the OpenAPI document has the rest."""


@dataclass(frozen=True)
class Field:
    name: str
    where: str
    kind: str
    required: bool
    text: str
    default: str = ""


@dataclass(frozen=True)
class Answer:
    code: str
    text: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    name: str
    summary: str
    text: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answers: tuple[Answer, ...]
    command: str


@dataclass(frozen=True)
class RouteGroup:
    name: str
    text: str
    routes: tuple[Route, ...]


class Reference(DocsBase):
    def render_page(self, request: HttpRequest, api: NinjaAPI, **options: Any) -> HttpResponse:
        document = api.get_openapi_schema()
        context = {
            "groups": route_groups(document, request.build_absolute_uri("/").rstrip("/")),
            "openapi": reverse("api:openapi-json"),
        }
        return render(request, "pages/api.html", context)


def route_groups(document: Mapping[str, Any], base: str) -> list[RouteGroup]:
    """In the order of the document's own list of groups, those that it does not list after them."""
    texts = {tag["name"]: tag.get("description", "") for tag in document.get("tags", ())}
    routes: dict[str, list[Route]] = {name: [] for name in texts}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                group = (operation.get("tags") or ["more"])[0]
                routes.setdefault(group, []).append(route_of(document, base, path, method, operation))
    return [RouteGroup(name, texts.get(name, ""), tuple(each)) for name, each in routes.items() if each]


def route_of(document: Mapping[str, Any], base: str, path: str, method: str, operation: Mapping[str, Any]) -> Route:
    body = json_schema(operation.get("requestBody", {}))
    answers = tuple(
        Answer(code, answer.get("description", ""), tuple(fields_of(document, json_schema(answer), "answer")))
        for code, answer in operation["responses"].items()
    )
    return Route(
        method.upper(),
        path,
        operation["operationId"],
        operation.get("summary", ""),
        operation.get("description", ""),
        tuple(parameter_field(document, each) for each in operation.get("parameters", ())),
        tuple(fields_of(document, body, "body")),
        answers,
        curl_command(base, path, method, example_body(document, operation)),
    )


def json_schema(content: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = content.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def parameter_field(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Field:
    schema = resolve(document, parameter["schema"])
    text = parameter.get("description") or schema.get("description", "")
    return Field(
        *(parameter["name"], parameter["in"], kind_text(document, schema), parameter.get("required", False), text),
        default=default_text(schema),
    )


def fields_of(document: Mapping[str, Any], schema: Mapping[str, Any], where: str, prefix: str = "") -> Iterator[Field]:
    """Of an object, or of the objects in a list; fields of fields with a dot."""
    schema = plain_schema(document, schema)
    if prefix.count(".") >= DEEPEST:
        return
    for name, inner in schema.get("properties", {}).items():
        resolved = resolve(document, inner)
        text = inner.get("description") or resolved.get("description", "")
        required = name in schema.get("required", ())
        yield Field(f"{prefix}{name}", where, kind_text(document, inner), required, text, default_text(inner))
        if plain_schema(document, inner).get("properties"):
            yield from fields_of(document, inner, where, f"{prefix}{name}.")


def plain_schema(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference, a list or a choice with null is of."""
    schema = resolve(document, schema)
    if schema.get("type") == "array":
        return plain_schema(document, schema.get("items", {}))
    options = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return plain_schema(document, options[0]) if len(options) == 1 else schema


def resolve(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return document["components"]["schemas"][reference.rsplit("/", 1)[1]] if reference else schema


def kind_text(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """As "integer, 1 to 1000", "list of text", "one of done, failed"."""
    schema = resolve(document, schema)
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_text(document, each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {kind_text(document, schema.get('items', {}))}"
    kind = {"string": "text", "object": "object", "null": "nothing"}.get(
        schema.get("type", ""), schema.get("type", "any")
    )
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = f"{low} to {high}" if low is not None and high is not None else f"from {low}" if low is not None else ""
    return f"{kind}, {bounds}" if bounds else str(kind)


def default_text(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, "", [], {}) else json.dumps(default)


def example_body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Any:
    """The document's own example; None where the route takes no body."""
    schema = resolve(document, json_schema(operation.get("requestBody", {})))
    examples = schema.get("examples") or [schema.get("example")]
    return examples[0] if examples[0] is not None else ({} if schema else None)


def curl_command(base: str, path: str, method: str, body: Any) -> str:
    verb = "" if method == "get" else f" -X {method.upper()}"
    data = "" if body is None else f" \\\n  -H 'Content-Type: application/json' -d '{json.dumps(body)}'"
    return f"curl{verb} -H \"Authorization: Bearer $LAB_TOKEN\" '{base}{path}'{data}"
