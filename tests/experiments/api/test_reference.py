"""The page of the API: each route of the document, with what it takes, in the lab's own look."""

from __future__ import annotations

import html

from django.test import Client

from experiments.api.reference import Answer, Field, Route, route_groups
from experiments.models import User

DOCUMENT = {
    "tags": [{"name": "studies", "description": "Grids."}],
    "paths": {
        "/api/v1/studies": {
            "post": {
                "operationId": "studies_launch",
                "summary": "Launch a study",
                "tags": ["studies"],
                "parameters": [
                    {
                        "in": "query",
                        "name": "limit",
                        "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 5},
                    }
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Launch"}}}},
                "responses": {"201": {"description": "Created"}},
            }
        }
    },
    "components": {
        "schemas": {
            "Launch": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "What it is called."},
                    "blocks": {"type": "array", "items": {"$ref": "#/components/schemas/Block"}},
                },
                "examples": [{"name": "x"}],
            },
            "Block": {
                "type": "object",
                "properties": {"state": {"anyOf": [{"enum": ["done", "failed"]}, {"type": "null"}]}},
            },
        }
    },
}


def test_a_route_says_what_it_takes_and_how_a_terminal_asks_it() -> None:
    (group,) = route_groups(DOCUMENT, "http://lab")
    assert (group.name, group.text) == ("studies", "Grids.")
    assert group.routes == (
        Route(
            method="POST",
            path="/api/v1/studies",
            name="studies_launch",
            summary="Launch a study",
            text="",
            parameters=(Field("limit", "query", "integer, 1 to 9", False, "", "5"),),
            body=(
                Field("name", "body", "text", True, "What it is called."),
                Field("blocks", "body", "list of object", False, ""),
                Field("blocks.state", "body", "one of done, failed or nothing", False, ""),
            ),
            answers=(Answer("201", "Created", ()),),
            command=(
                "curl -X POST -H \"Authorization: Bearer $LAB_TOKEN\" 'http://lab/api/v1/studies' \\\n"
                "  -H 'Content-Type: application/json' -d '{\"name\": \"x\"}'"
            ),
        ),
    )


def test_every_route_of_the_document_is_on_the_page(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    page = html.unescape(client.get("/api/v1/docs").content.decode())
    document = client.get("/api/v1/openapi.json").json()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert len(operations) > 50
    for operation in operations:
        assert f'id="{operation["operationId"]}"' in page
        assert operation["summary"] in page
