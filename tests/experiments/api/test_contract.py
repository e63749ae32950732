"""Every route, for everybody: a route without a row here fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client

from experiments.api.urls import api
from experiments.models import Baseline, Job, Note, Run, SavedView, ShareLink, Study, User
from tests.experiments import lab

PEOPLE = ("nobody", "viewer", "stranger", "owner", "admin", "read token", "write token")
"""The tokens are the owner's. What a visitor with a share link and the tokens of others get follows from theirs."""
READS = ("GET", "HEAD")


@dataclass(frozen=True)
class Row:
    """What each of them gets, in the order of PEOPLE."""

    statuses: tuple[int, ...]
    body: Any = None
    query: str = ""


def read(query: str = "") -> Row:
    return Row((401, 200, 200, 200, 200, 200, 200), query=query)


def launch(status: int, body: dict[str, Any]) -> Row:
    return Row((401, 403, status, status, status, 403, status), body)


def manage(status: int, body: Any = None) -> Row:
    return Row((401, 403, 403, status, status, 403, status), body)


NOT_THERE = 999_999
STUDY = {"name": "Mine", "blocks": [{**lab.BLOCK, "rounds": 1}]}
IMPORT = {"kind": "csv", "runs": [{"study": "Old", "name": "a", "rounds": [{"round": 1, "metrics": {"loss": 1.0}}]}]}
ROUTES: dict[tuple[str, str], Row] = {
    ("GET", "/catalog"): read(),
    ("GET", "/datasets"): read(),
    ("POST", "/datasets/own/import"): launch(422, {"path": "/not/there"}),  # outside of the folders for imports
    ("GET", "/datasets/jobs/{job}"): read(),
    ("GET", "/apps"): read(),
    ("POST", "/apps"): Row((401, 403, 403, 403, 422, 403, 403)),  # what is sent is no archive
    ("DELETE", "/apps/{app}"): Row((401, 403, 403, 403, 409, 403, 403)),  # it comes from a folder
    ("POST", "/studies/read"): launch(200, {"text": "rounds: 5"}),
    ("POST", "/logged-runs"): launch(201, {"study": "My own loop", "config": {"lr": 0.1}}),
    ("POST", "/logged-runs/{run}/rounds"): Row((401, 403, 403, 409, 409, 403, 409), []),  # it is computed here
    ("POST", "/logged-runs/{run}/finish"): Row((401, 403, 403, 409, 409, 403, 409), {}),
    ("POST", "/imports"): launch(200, IMPORT),
    ("DELETE", "/imports/{study}"): Row((401, 403, 403, 409, 409, 403, 409)),  # it is computed here
    ("GET", "/workers"): read(),
    ("GET", "/audit"): Row((401, 403, 403, 403, 200, 403, 403)),
    ("GET", "/events"): read(),
    ("GET", "/metrics"): read("?study={study}"),
    ("GET", "/export/clients"): read("?study={study}"),
    ("GET", "/export/summaries"): read("?study={study}"),
    ("GET", "/export/specs"): read("?study={study}"),
    ("GET", "/export/partitions"): read("?study={study}"),
    ("GET", "/studies"): read(),
    ("POST", "/studies"): launch(201, STUDY),
    ("GET", "/studies/{study}"): read(),
    ("PATCH", "/studies/{study}"): manage(200, {"name": "Renamed", "archived": True}),
    ("DELETE", "/studies/{study}"): manage(202),
    ("POST", "/studies/{study}/cancel"): manage(200),
    ("POST", "/studies/{study}/pause"): manage(200),
    ("POST", "/studies/{study}/resume"): manage(200),
    ("POST", "/studies/{study}/retry"): manage(200),
    ("GET", "/studies/{study}/summary"): read(),
    ("GET", "/studies/{study}/archive"): read(),
    ("GET", "/runs"): read(),
    ("GET", "/runs/{run}"): read(),
    ("GET", "/runs/{run}/metrics"): read(),
    ("GET", "/runs/{run}/clients"): read(),
    ("GET", "/runs/{run}/partition"): read(),
    ("GET", "/runs/{run}/log"): read(),
    ("GET", "/presets"): read(),
    ("GET", "/presets/{name}"): read(),
    ("GET", "/presets/{name}/comparison"): read("?study={study}"),
    ("POST", "/presets/{name}/launch"): launch(422, {"scale": "quick"}),  # its data are not in a test's home
    ("GET", "/compare/verdicts"): read("?study={study}"),
    ("GET", "/compare/{chart}"): read("?study={study}"),
    ("GET", "/export/notes"): read("?study={study}"),
    ("GET", "/studies/{study}/notes"): read(),
    ("POST", "/studies/{study}/notes"): launch(201, {"text": "It *works*."}),
    ("GET", "/runs/{run}/notes"): read(),
    ("POST", "/runs/{run}/notes"): launch(201, {"text": "It *works*."}),
    ("PATCH", "/notes/{note}"): manage(200, {"text": "Changed", "version": 1}),
    ("DELETE", "/notes/{note}"): manage(204),
    ("GET", "/pins"): read(),
    ("PUT", "/studies/{study}/pin"): Row((401, 200, 200, 200, 200, 403, 200)),
    ("DELETE", "/studies/{study}/pin"): Row((401, 204, 204, 204, 204, 403, 204)),
    ("GET", "/baselines"): read(),
    ("PUT", "/studies/{study}/baselines/{cell}"): manage(200),
    ("DELETE", "/studies/{study}/baselines/{cell}"): manage(204),
    ("GET", "/leaderboard"): read("?dataset=digits"),
    ("GET", "/compare/tables/{table}.{kind}"): read("?study={study}"),
    ("GET", "/views"): read(),
    ("POST", "/views"): Row((401, 403, 201, 201, 201, 403, 201), {"name": "Ours", "query": "study=1"}),
    ("DELETE", "/views/{view}"): manage(204),
    ("GET", "/share-links"): read(),
    ("POST", "/share-links"): launch(201, {"query": "study={study}", "days": 3}),
    ("DELETE", "/share-links/{link}"): manage(204),
    ("POST", "/runs/{run}/cancel"): manage(200),
    ("POST", "/runs/{run}/retry"): manage(409),
}
STREAMED = [key for key in ROUTES if key[1].startswith(("/metrics", "/export/", "/studies/{study}/archive"))]
"""Each from a transaction of its own, which cannot begin within a test's."""


FAR = 1_000_000
"""What a study's view and link are numbered above it: no sequence comes there."""


@pytest.fixture
def study(owner: User, apps: Path) -> Study:
    """With a saved view and a share link, so that one number addresses all three."""
    launched_study = lab.launched(owner)
    SavedView.objects.create(pk=launched_study.pk + FAR, owner=owner, name="A view", query="study=1")
    ShareLink.objects.create(
        pk=launched_study.pk + FAR, owner=owner, query="study=1", digest="d", expires=datetime(2099, 1, 1, tzinfo=UTC)
    )
    Note.objects.create(pk=launched_study.pk + FAR, author=owner, study=launched_study, text="Look")
    Job.objects.create(pk=launched_study.pk + FAR, kind="verify", subject="mnist", state="done")
    Baseline.objects.create(study=launched_study, cell=lab.runs_in_order(launched_study)[0].cell, starred_by=owner)
    with connection.cursor() as cursor:  # numbers that were given by hand are not given again
        for table in ("savedview", "sharelink", "note"):
            cursor.execute(f"SELECT setval('experiments_{table}_id_seq', %s)", [launched_study.pk + 2_000_000])
    return launched_study


def send_request(client: Client, method: str, path: str, row: Row, study: int, run: int) -> Any:
    there = study != NOT_THERE
    names = {"name": "niid-bench", "chart": "curves", "table": "values", "kind": "tex", "app": "numpy-least-squares"}
    names["cell"] = Run.objects.get(pk=run).cell if there else ""
    names = names if there else dict.fromkeys(names, "nothing")
    address = (path + row.query).format(
        study=study, run=run, view=study + FAR, link=study + FAR, note=study + FAR, job=study + FAR, **names
    )
    if (method, path) == ("POST", "/apps"):
        return client.post(f"/api/v1{address}", {"file": SimpleUploadedFile("app.zip", b"PK")})
    body = as_json(row.body).replace("{study}", str(study))
    return client.generic(method, f"/api/v1{address}", data=body, content_type="application/json")


def as_json(body: Any) -> str:
    return json.dumps(body) if body is not None else ""


def test_every_route_has_a_row() -> None:
    paths = api.get_openapi_schema()["paths"]
    known = {(method.upper(), path.removeprefix("/api/v1")) for path, methods in paths.items() for method in methods}
    assert known == set(ROUTES)


@pytest.mark.parametrize(("method", "path"), [key for key in ROUTES if key not in STREAMED])
def test_everyone_gets_what_they_may(everyone: dict[str, Client], study: Study, method: str, path: str) -> None:
    row, run = ROUTES[method, path], lab.runs_in_order(study)[0].pk
    got = {who: undone(everyone[who], method, path, row, study.pk, run) for who in everyone}
    assert got == expected_statuses(method, row)


def test_people_of_a_provider_get_what_their_role_may(
    signed_on: dict[str, User], study: Study, program: Callable[..., Client]
) -> None:
    """They own nothing here: a member of them is a stranger to the study."""
    run = lab.runs_in_order(study)[0].pk
    clients = {role: Client() for role in signed_on}
    for role, person in signed_on.items():
        clients[role].force_login(person)
    clients |= {f"{role}'s token": program(person, "write") for role, person in signed_on.items()}
    columns = {"viewer": "viewer", "member": "stranger", "admin": "admin"}
    for key, row in ROUTES.items():
        if key in STREAMED:
            continue
        known = dict(zip(PEOPLE, row.statuses, strict=True))
        got = {who: undone(client, *key, row, study.pk, run) for who, client in clients.items()}
        assert got == {who: known[columns[who.partition("'")[0]]] for who in clients}, key


LOGGED_ROUTES = {
    ("POST", "/logged-runs/{run}/rounds"): manage(200, [{"round": 2, "metrics": {"loss": 1.0}}]),
    ("POST", "/logged-runs/{run}/finish"): manage(200, {}),
    ("GET", "/runs/{run}"): read(),
    ("GET", "/runs/{run}/metrics"): read(),
    ("GET", "/runs/{run}/clients"): read(),
    ("POST", "/runs/{run}/cancel"): manage(200),
    ("POST", "/runs/{run}/retry"): manage(409),  # its script is started again
    ("POST", "/studies/{study}/cancel"): manage(200),
    ("DELETE", "/imports/{study}"): manage(409),  # its script logged it here
    ("DELETE", "/studies/{study}"): manage(202),
}
IMPORTED_ROUTES = {
    ("POST", "/logged-runs/{run}/rounds"): manage(409, [{"round": 2, "metrics": {"loss": 1.0}}]),  # it is done
    ("POST", "/logged-runs/{run}/finish"): manage(200, {}),  # as before
    ("GET", "/runs/{run}"): read(),
    ("GET", "/studies/{study}/summary"): read(),
    ("POST", "/runs/{run}/retry"): manage(409),
    ("DELETE", "/imports/{study}"): manage(202),
}


@pytest.mark.parametrize(("made", "routes"), [(lab.logged, LOGGED_ROUTES), (lab.imported, IMPORTED_ROUTES)])
def test_logged_and_imported_runs_are_their_owners(
    everyone: dict[str, Client], owner: User, made: Callable[[User], Study], routes: dict[tuple[str, str], Row]
) -> None:
    study = made(owner)
    run = study.runs.get().pk
    for key, row in routes.items():
        got = {who: undone(everyone[who], *key, row, study.pk, run) for who in everyone}
        assert got == expected_statuses(key[0], row), key


def expected_statuses(method: str, row: Row) -> dict[str, int]:
    """A token may what its owner may, one that reads may no more than that, and a share link opens nothing here."""
    known = dict(zip(PEOPLE, row.statuses, strict=True))
    return known | {
        "visitor": known["nobody"],
        "viewer's write token": known["viewer"],
        "stranger's write token": known["stranger"],
        "admin's write token": known["admin"],
        "admin's read token": known["admin"] if method in READS else 403,
    }


@pytest.mark.django_db(transaction=True)
def test_everyone_reads_what_streams_from_a_snapshot(everyone: dict[str, Client], study: Study, redis_url: str) -> None:
    run = lab.runs_in_order(study)[0].pk
    for method, path in STREAMED:
        row = ROUTES[method, path]
        read = async_to_sync(read_to_its_end)
        got = {who: read(send_request(everyone[who], method, path, row, study.pk, run)) for who in everyone}
        assert got == expected_statuses(method, row), path


async def read_to_its_end(answer: Any) -> int:
    if answer.streaming:
        assert [part async for part in answer.streaming_content]
    return int(answer.status_code)


def undone(client: Client, *request: Any) -> int:
    """The status; what was done is taken back, so that the next one finds the lab as it was."""
    with transaction.atomic():
        answer = send_request(client, *request)
        transaction.set_rollback(True)
    return int(answer.status_code)


def test_no_browser_writes_without_its_csrf_token(admin: User, study: Study) -> None:
    browser, run = Client(enforce_csrf_checks=True), lab.runs_in_order(study)[0].pk
    browser.force_login(admin)
    writes = {key: row for key, row in ROUTES.items() if key[0] not in READS}
    got = {key: undone(browser, *key, row, study.pk, run) for key, row in writes.items()}
    assert got == dict.fromkeys(writes, 403)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_stranger_learns_nothing_about_what_exists(
    everyone: dict[str, Client], study: Study, method: str, path: str
) -> None:
    run = lab.runs_in_order(study)[0].pk
    here = send_request(everyone["nobody"], method, path, ROUTES[method, path], study.pk, run)
    gone = send_request(everyone["nobody"], method, path, ROUTES[method, path], NOT_THERE, NOT_THERE)
    assert (here.status_code, here.content) == (gone.status_code, gone.content)


@pytest.mark.parametrize(("method", "path"), [key for key in ROUTES if "{" in key[1]])
def test_what_is_not_there_is_not_found(everyone: dict[str, Client], method: str, path: str) -> None:
    answer = send_request(everyone["owner"], method, path, ROUTES[method, path], NOT_THERE, NOT_THERE)
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such thing.", "errors": []})


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v2/studies", "/api/v1/studies/1/explode"])
def test_unknown_addresses_answer_in_json(client: Client, db: None, path: str) -> None:
    answer = client.post(path)
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no such thing.")


@pytest.mark.parametrize("number", ["0", "-1", "x", "9223372036854775808", "1.5"])
def test_odd_ids_are_refused(everyone: dict[str, Client], number: str) -> None:
    answer = everyone["owner"].get(f"/api/v1/runs/{number}")
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["run"])


def test_a_method_that_is_not_there_is_told_in_json(everyone: dict[str, Client]) -> None:
    answer = everyone["owner"].put("/api/v1/studies")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, POST"
    assert answer.json()["detail"] == "This address takes GET, POST."


MANY = "&".join(["x=1"] * 1001)


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "GET"])
def test_more_parameters_than_anyone_needs_break_no_route(everyone: dict[str, Client], study: Study, path: str) -> None:
    """Whoever takes some says what is wrong, the others do not look at them; nobody learns which."""
    names = {"name": "niid-bench", "chart": "curves", "table": "values", "kind": "tex"}
    address = path.format(study=study.pk, job=study.pk + FAR, run=lab.runs_in_order(study)[0].pk, **names)
    for who in ("owner", "read token", "admin"):
        answer = everyone[who].get(f"/api/v1{address}?{MANY}")
        assert answer.status_code in (200, 422), who
        if answer.status_code == 422:
            assert answer.json()["detail"] == "The address has more than 1,000 parameters. Ask for fewer at a time."
    assert everyone["nobody"].get(f"/api/v1{address}?{MANY}").status_code == 401


@pytest.mark.parametrize(
    "path", ["/healthz", "/metrics", "/api/v1/openapi.json", "/api/v1/docs", "/api/v1/nothing", "/static/x.js"]
)
def test_beside_the_routes_too_many_parameters_break_nothing(
    everyone: dict[str, Client], path: str, redis_url: str
) -> None:
    assert everyone["owner"].get(f"{path}?{MANY}").status_code in (200, 404)


def test_a_write_of_nobody_is_unauthorised_and_says_with_what_to_come(study: Study) -> None:
    """With CSRF checked as in life: a program without a token has no cookie either."""
    stranger, run = Client(enforce_csrf_checks=True), lab.runs_in_order(study)[0].pk
    writes = {key: row for key, row in ROUTES.items() if key[0] not in READS}
    answers = {key: send_request(stranger, *key, row, study.pk, run) for key, row in writes.items()}
    assert {key: answer.status_code for key, answer in answers.items()} == dict.fromkeys(writes, 401)
    assert {answer.headers["WWW-Authenticate"] for answer in answers.values()} == {'Bearer realm="Tributary"'}
