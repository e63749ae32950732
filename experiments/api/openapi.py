"""What the OpenAPI document says beyond the types: how each route refuses, with examples, and what headers mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.api.errors import NOT_FOUND, NOT_LOGGED_IN
from experiments.api.schemas import STATUS_MEANINGS

Document = dict[str, Any]
TAGS = {
    "studies": "What a person launches: grids of runs, and what is done with them.",
    "runs": "One resolved spec with one seed each, with its numbers, clients and log.",
    "presets": "Published studies, and their numbers beside the measured ones.",
    "lab": "The catalog, the workers, the event stream and the audit log.",
    "data": "Data sets, and what the clients of a run hold.",
    "export": "Every number, as tidy rows.",
    "notes": "What people write down, pin and star.",
    "compare": "Comparisons: the numbers behind every chart, saved views, and links to give away.",
}
EXAMPLE_PROBLEM = {"path": "blocks.0.strategy.mu", "message": "Input should be greater than or equal to 0, got -1."}
EXAMPLE_DETAILS: dict[int, str] = {
    400: "The body is not JSON.",
    401: NOT_LOGGED_IN,
    403: "Only the study's owner or an admin may do this.",
    404: NOT_FOUND,
    409: "The run is done: only queued and running ones can be cancelled.",
    413: "The body is larger than 2.6 MB. Launch the grid in several studies.",
    422: "The spec has 1 problem.",
    429: "More than 1200 requests a minute. Wait 3 s, then go on.",
}
HEADERS: dict[int, Document] = {
    401: {"WWW-Authenticate": {"description": "Always `Bearer`.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}},
}
ETAG = {"ETag": {"description": "Send it as If-None-Match: 304 if nothing changed.", "schema": {"type": "string"}}}
IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "description": "The ETag of an answer you have: 304 without a body where it is still true.",
    "schema": {"type": "string", "examples": ['"0c7f1e5a9b3d2c48"']},
    "required": False,
}
ERROR_CONTENT = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}}
NOT_MODIFIED = {"description": "What you have is still true.", "headers": ETAG}


def explain_document(document: Document) -> Document:
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    for method, operation in each_operation(document):
        for parameter in operation["parameters"]:
            # A parameter's examples are a map in OpenAPI; those of its schema, a list, say the same.
            parameter.pop("examples", None)
        if "requestBody" in operation:
            operation["responses"] |= {400: {**ERROR_CONTENT}, 413: {**ERROR_CONTENT}}
        for status, response in operation["responses"].items():
            explain_response(int(status), response)
        if method == "get" and answers_json(operation):
            operation["parameters"].append(IF_NONE_MATCH)
            operation["responses"][200]["headers"] = ETAG
            operation["responses"][304] = NOT_MODIFIED
    return document


def each_operation(document: Document) -> Iterator[tuple[str, Document]]:
    for methods in document["paths"].values():
        yield from methods.items()


def explain_response(status: int, response: Document) -> None:
    if status not in STATUS_MEANINGS:
        return
    problems = [EXAMPLE_PROBLEM] if status == 422 else []
    response["description"] = STATUS_MEANINGS[status]
    example = {"detail": EXAMPLE_DETAILS[status], "errors": problems}
    response["content"] = {"application/json": {**response["content"]["application/json"], "example": example}}
    if status in HEADERS:
        response["headers"] = HEADERS[status]


def answers_json(operation: Document) -> bool:
    """And nothing else: what streams has no ETag."""
    return list(operation["responses"].get(200, {}).get("content", {})) == ["application/json"]
