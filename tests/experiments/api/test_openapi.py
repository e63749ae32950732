"""The document says what every field means, with examples that are true to the types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel

from experiments.api.urls import api
from experiments.results.selectors.run_filters import models_in

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    return dict(api.get_openapi_schema(path_prefix="/api/v1/"))


def operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_it_is_openapi_3_1_with_both_ways_in(document: Document) -> None:
    assert document["openapi"] == "3.1.0"
    schemes = document["components"]["securitySchemes"]
    assert {name: (each["type"], each.get("scheme") or each["in"]) for name, each in schemes.items()} == {
        "BearerToken": ("http", "bearer"),
        "BrowserSession": ("apiKey", "cookie"),
    }


def test_every_operation_has_a_summary_a_description_and_a_name_of_its_own(document: Document) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(names) == len(set(names))
    assert "studies_launch" in names
    bare = [name for name, each in operations(document) if not each.get("summary") or not each.get("description")]
    assert bare == []


def test_no_two_types_share_a_name() -> None:
    """In the document the second would silently stand for both."""
    names: dict[str, set[type]] = {}
    for operation in all_operations():
        for model in (*operation.models, *filter(None, operation.response_models.values())):
            for each in types_in(model):
                names.setdefault(each.__name__, set()).add(each)
    assert [name for name, types in names.items() if len(types) > 1] == []


def all_operations() -> Iterator[Any]:
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            yield from view.operations


def types_in(model: Any) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for found in models_in(field.annotation):
            yield found
            yield from types_in(found)


def test_every_field_has_a_description_and_an_example(document: Document) -> None:
    bare = []
    for name, schema in document["components"]["schemas"].items():
        for field, about in schema.get("properties", {}).items():
            example = about.get("examples") or [each[field] for each in schema.get("examples", []) if field in each]
            if not about.get("description") or not (example or name.startswith("Page_")):
                bare.append(f"{name}.{field}")
    assert bare == []


def test_every_parameter_has_a_description_and_an_example(document: Document) -> None:
    bare = [
        f"{name} {each['name']}"
        for name, operation in operations(document)
        for each in operation["parameters"]
        if each["in"] != "path" and not (each.get("description") and each["schema"].get("examples"))
    ]
    assert bare == []


def test_every_example_is_true_to_its_schema(document: Document) -> None:
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        check = jsonschema_rs.validator_for({**schema, "components": {"schemas": schemas}})
        for example in schema.get("examples", []):
            check.validate(example)
            assert set(example) <= set(schema["properties"]), name


def test_every_refusal_is_explained_with_an_example(document: Document) -> None:
    for name, operation in operations(document):
        refusals = {status: each for status, each in operation["responses"].items() if int(status) >= 400}
        assert {401, 422, 429} <= set(refusals), name
        for each in refusals.values():
            example = each["content"]["application/json"]["example"]
            assert example["detail"]
            assert each["description"]
        assert refusals[429]["headers"]["Retry-After"]["description"] == "Seconds to wait."


def test_reads_tell_of_their_etag(document: Document) -> None:
    read = document["paths"]["/api/v1/studies/{study}"]["get"]
    assert "ETag" in read["responses"][200]["headers"]
    assert 304 in read["responses"]
