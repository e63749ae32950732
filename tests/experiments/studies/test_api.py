from typing import Any

import pytest
from django.test import Client

from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Run, RunState, Study, User

Block = dict[str, Any]
JSON = "application/json"


def logged_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def launch(client: Client, block: Block, **more: Any) -> Any:
    return client.post("/api/v1/studies", {"name": "Mine", "blocks": [block], **more}, content_type=JSON)


def test_it_launches_and_tells_what_it_launched(mine: Client, block: Block) -> None:
    answer = launch(mine, block, tags=["x"], priority=3)
    assert answer.status_code == 201
    body = answer.json()
    assert body["id"] == Study.objects.get().pk
    assert body["blocks"] == [block]
    assert body["counts"] == {"queued": 4, "running": 0, "done": 0, "failed": 0, "cancelled": 0}
    fields = {key: body[key] for key in ("name", "owner", "state", "runs", "rounds_done", "rounds_total", "priority")}
    assert fields == {
        "name": "Mine",
        "owner": "owner",
        "state": "queued",
        "runs": 4,
        "rounds_done": 0,
        "rounds_total": 12,
        "priority": 3,
    }


def test_a_dry_run_stores_nothing(mine: Client, block: Block) -> None:
    answer = mine.post("/api/v1/studies?dry_run=true", {"name": "Mine", "blocks": [block]}, content_type=JSON)
    body = answer.json()
    assert (answer.status_code, body["runs"], body["cells"], body["reused"]) == (200, 4, 2, 0)
    assert body["warnings"] == []
    assert not Study.objects.exists()


def test_problems_of_the_grid_come_with_their_paths(mine: Client, block: Block) -> None:
    answer = launch(mine, {**block, "strategy": {"name": "fedprox", "mu": -1}, "color": "red"})
    assert answer.status_code == 422
    unknown = answer.json()["errors"][0]["message"]
    assert unknown.startswith("Unknown field. Choose one of dataset, model, strategy, partition, ")
    assert answer.json() == {
        "detail": "The spec has 2 problems.",
        "errors": [
            {"path": "blocks.0.color", "message": unknown},
            {"path": "blocks.0.strategy.mu", "message": "Input should be greater than or equal to 0, got -1."},
        ],
    }


def test_problems_of_the_request_come_with_their_paths(mine: Client) -> None:
    answer = mine.post("/api/v1/studies", {"blocks": [1], "nam": "x"}, content_type=JSON)
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["errors"]] == ["name", "blocks.0", "nam"]


def nested(levels: int) -> str:
    return '{"name": "Deep", "blocks": [' + '{"a": ' * levels + "1" + "}" * levels + "]}"


@pytest.mark.parametrize("levels", [21, 300, 600])
def test_a_block_that_is_nested_too_deep_is_refused(mine: Client, levels: int) -> None:
    answer = mine.post("/api/v1/studies", nested(levels), content_type=JSON)
    assert (answer.status_code, answer.json()["errors"]) == (
        422,
        [{"path": "blocks.0", "message": "Nested more than 20 levels deep: no field of a spec is."}],
    )


@pytest.mark.parametrize("body", ["[" * 9000, nested(5000), '{"blocks": [' + "9" * 5000])
def test_a_body_that_no_reader_takes_is_not_json(mine: Client, body: str) -> None:
    answer = mine.post("/api/v1/studies", body, content_type=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (400, "The body is not JSON.")


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', '{"name": "\\ud800", "blocks": [{}]}'])
def test_a_body_that_makes_no_sense_is_refused(mine: Client, body: str) -> None:
    answer = mine.post("/api/v1/studies", body, content_type=JSON)
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


def test_a_viewer_may_not_launch(viewer: User, block: Block) -> None:
    answer = launch(logged_in(viewer), block)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "A viewer reads. Ask an admin for the role member to launch studies."


def test_the_list_comes_newest_first_a_page_at_a_time(mine: Client, block: Block) -> None:
    ids = [launch(mine, block).json()["id"] for _ in range(3)]
    first = mine.get("/api/v1/studies?limit=2").json()
    assert (first["count"], [each["id"] for each in first["items"]]) == (3, [ids[2], ids[1]])
    second = mine.get(f"/api/v1/studies?limit=2&cursor={first['next']}").json()
    assert ([each["id"] for each in second["items"]], second["next"]) == ([ids[0]], None)


def test_everyone_who_is_logged_in_reads(mine: Client, viewer: User, stranger: User, block: Block) -> None:
    study = launch(mine, block).json()["id"]
    for person in (viewer, stranger):
        assert logged_in(person).get(f"/api/v1/studies/{study}").json()["id"] == study


@pytest.mark.parametrize(("action", "state"), [("cancel", "cancelled"), ("pause", "paused"), ("resume", "queued")])
def test_the_owner_manages(mine: Client, block: Block, action: str, state: str) -> None:
    study = launch(mine, block).json()["id"]
    assert mine.post(f"/api/v1/studies/{study}/{action}").json()["state"] == state


def test_retry_tells_how_many(mine: Client, block: Block) -> None:
    study = launch(mine, block).json()["id"]
    mine.post(f"/api/v1/studies/{study}/cancel")
    assert mine.post(f"/api/v1/studies/{study}/retry").json() == {"runs": 4}


def test_a_study_is_changed_and_deleted(mine: Client, block: Block) -> None:
    study = launch(mine, block).json()["id"]
    changed = mine.patch(f"/api/v1/studies/{study}", {"name": "New", "tags": ["t"]}, content_type=JSON)
    assert (changed.json()["name"], changed.json()["tags"]) == ("New", ["t"])
    assert mine.delete(f"/api/v1/studies/{study}").status_code == 202
    jobs_carry_out()
    assert mine.get(f"/api/v1/studies/{study}").status_code == 404
    assert not Run.objects.exists()


@pytest.mark.parametrize("action", ["cancel", "pause", "resume", "retry"])
def test_strangers_and_viewers_are_refused(
    mine: Client, stranger: User, viewer: User, block: Block, action: str
) -> None:
    study = launch(mine, block).json()["id"]
    for person in (stranger, viewer):
        client = logged_in(person)
        assert client.post(f"/api/v1/studies/{study}/{action}").status_code == 403
        assert client.delete(f"/api/v1/studies/{study}").status_code == 403
        assert client.patch(f"/api/v1/studies/{study}", {"name": "x"}, content_type=JSON).status_code == 403
    assert Run.objects.filter(state=RunState.QUEUED).count() == 4


def test_an_admin_manages_everything(mine: Client, admin: User, block: Block) -> None:
    study = launch(mine, block).json()["id"]
    assert logged_in(admin).post(f"/api/v1/studies/{study}/cancel").status_code == 200


def test_a_write_without_a_csrf_token_is_refused(owner: User, block: Block) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    assert launch(client, block).status_code == 403
    assert not Study.objects.exists()
