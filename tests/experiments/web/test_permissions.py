"""Every page and every button, for everybody: an address without a row here fails."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiments.access.services.share_links import link_create
from experiments.access.services.tokens import token_create
from experiments.access.views import people as people_views
from experiments.api.urls import urlpatterns as api_patterns
from experiments.bookmarks import views as bookmark_views
from experiments.datasets import views as dataset_views
from experiments.datasets.services.jobs import home_import_folder
from experiments.flower_apps import views as flower_apps_views
from experiments.models import Study, User, Worker
from experiments.notes import views as note_views
from experiments.notes.services import note_create
from experiments.queue.views import queue, workers
from experiments.studies.views import actions
from experiments.urls import urlpatterns
from tests.experiments import lab

PEOPLE = ("nobody", "visitor", "viewer", "stranger", "owner", "admin")
"""The visitor has opened a share link and has no account; the stranger is another member. Tokens open no page."""
# What is refused may be noted too.
WRITE = re.compile(r'^\s*(INSERT INTO|UPDATE|DELETE FROM) "?experiments_(?!auditentry)')


@dataclass(frozen=True)
class Row:
    """What each of PEOPLE gets: a status, or `login` for the way to that page; + where something of the lab changed."""

    answers: str
    path: str
    posted: dict[str, Any] = field(default_factory=dict)
    as_json: bool = False
    method: str = "GET"


def read(path: str) -> Row:
    return Row("login login 200 200 200 200", path)


def launch(path: str) -> Row:
    return Row("login login 403 200 200 200", path)


def post(answers: str, address: str, **posted: Any) -> Row:
    return Row(answers, address, posted, method="POST")


def send(answers: str, address: str, **posted: Any) -> Row:
    return Row(answers, address, posted, as_json=True, method="POST")


def manage(address: str, **posted: Any) -> Row:
    """The others are told why not, where they came from."""
    return post("login login 302 302 302+ 302+", address, **posted)


def admin(address: str, **posted: Any) -> Row:
    return post("login login 302 302 302 302+", address, **posted)


def member(address: str, **posted: Any) -> Row:
    return post("login login 302 302+ 302+ 302+", address, **posted)


DRAFT = "login login 403 200 200 200"
STUDY = {"name": "Mine", "blocks": [{**lab.BLOCK, "rounds": 1}]}
PAGES: dict[str, Row] = {
    "home": read("/"),
    "leaderboard": read("/leaderboard"),
    "documentation": read("/docs?q=cells"),
    "document": read("/docs/compare"),
    "document-picture": read("/docs/files/pictures/compare.png"),
    "studies": read("/studies"),
    "new-study": launch("/studies/new"),
    "study-draft": send(DRAFT, "/studies/draft", study=STUDY),
    "study-preview": send(DRAFT, "/studies/preview", study=STUDY),
    "study-launch": send("login login 403 201+ 201+ 201+", "/studies/launch", study=STUDY),
    "study-yaml": read("/studies/{study}/study.yaml"),
    "study": read("/studies/{study}"),
    "study-figure": read("/studies/{study}/figure"),
    "study-figure-file": read("/studies/{study}/figure.csv"),
    "study-runs": read("/studies/{study}/runs"),
    "draft-portrait": send(DRAFT, "/studies/portrait", blocks=STUDY["blocks"]),
    "study-portrait": read("/studies/{study}/portrait"),
    "displays": read("/studies/{study}/displays"),
    "display-chart": read("/studies/{study}/displays/charts/{display}"),
    "display-file": read("/studies/{study}/displays/charts/{display}.csv"),
    "display-table": Row("login login 404 404 404 404", "/studies/{study}/displays/tables/no-such-table.md"),
    "study-edit": manage("/studies/{study}/edit", name="Renamed", description="", tags=""),
    "study-deletion": Row("login login 403 403 200 200", "/studies/{study}/deletion"),
    "study-action cancel": manage("/studies/{study}/cancel"),
    "study-action pause": manage("/studies/{study}/pause"),
    "study-action resume": manage("/studies/{study}/resume"),
    "study-action archive": manage("/studies/{study}/archive"),
    "study-action restore": manage("/studies/{study}/restore"),
    "study-action retry": manage("/studies/{study}/retry"),
    "study-action delete": manage("/studies/{study}/delete"),
    "study-notes": member("/studies/{study}/notes", text="It *works*."),
    "study-pin pin": post("login login 302+ 302+ 302+ 302+", "/studies/{study}/pins/pin"),
    "study-pin unpin": post("login login 302+ 302+ 302+ 302+", "/studies/{study}/pins/unpin"),
    "study-pin pin-for-all": admin("/studies/{study}/pins/pin-for-all"),
    "study-pin unpin-for-all": admin("/studies/{study}/pins/unpin-for-all"),
    "study-baseline star": manage("/studies/{study}/baselines/star", cell="{cell}"),
    "study-baseline unstar": post("login login 302 302 302 302", "/studies/{study}/baselines/unstar", cell="{cell}"),
    "run-notes": member("/runs/{done}/notes", text="It *works*."),
    "note-action edit": manage("/notes/{note}/edit", text="Changed", version="1"),
    "note-action delete": manage("/notes/{note}/delete", version="1"),
    "run": read("/runs/{done}"),
    "run-figure": read("/runs/{done}/figure"),
    "run-figure-file": read("/runs/{done}/figure.csv"),
    "run-chart-file": read("/runs/{done}/costs/figure.csv"),
    "run-clients": read("/runs/{done}/clients"),
    "run-clients-figure": read("/runs/{done}/clients/figure"),
    "run-costs-figure": read("/runs/{done}/costs/figure"),
    "run-confusion-figure": Row("login login 404 404 404 404", "/runs/{done}/confusion/figure"),
    "run-log": read("/runs/{done}/log"),
    "run-file": read("/runs/{done}/files/spec.yaml"),
    "run-portrait": read("/runs/{done}/portrait"),
    "run-action cancel": manage("/runs/{queued}/cancel"),
    "run-action retry": manage("/runs/{failed}/retry"),
    "run-action restart": manage("/runs/{failed}/restart"),
    "imports": launch("/imports"),
    "import-parquet": post("login login 403 422 422 422", "/imports/parquet"),
    "import-undo": post("login login 302 302 302+ 302+", "/imports/{imported}/undo"),
    "queue": read("/queue"),
    "queue-runs cancel": manage("/queue/runs/cancel", run="{queued}"),
    "queue-runs retry": manage("/queue/runs/retry", run="{failed}"),
    "queue-studies pause": manage("/queue/studies/pause", id="{study}"),
    "queue-studies resume": manage("/queue/studies/resume", id="{study}"),
    "queue-studies cancel": manage("/queue/studies/cancel", id="{study}"),
    "queue-studies retry": manage("/queue/studies/retry", id="{study}"),
    "queue-studies priority": manage("/queue/studies/priority", id="{study}", priority="3"),
    "compare": read("/compare?study={study}"),
    "compare-chart": read("/compare/charts/curves?study={study}"),
    "compare-file": read("/compare/charts/curves.csv?study={study}"),
    "compare-table": read("/compare/tables/values.md?study={study}"),
    "compare-table-old": read("/compare/table.md?study={study}"),
    "shared": Row("200 200 200 200 200 200", "/shared/{secret}"),
    "shared-chart": Row("200 200 200 200 200 200", "/shared/{secret}/charts/curves"),
    "shared-file": Row("200 200 200 200 200 200", "/shared/{secret}/charts/curves.csv"),
    "shared-table": Row("200 200 200 200 200 200", "/shared/{secret}/tables/values.md"),
    "presets": read("/presets"),
    "preset": read("/presets/niid-bench"),
    "preset-launch": post("login login 302 302 302 302", "/presets/niid-bench/launch", scale="quick"),
    "catalog": read("/catalog"),
    "datasets": read("/data-sets"),
    "dataset-upload": admin("/data-sets/npz/upload", name="own"),
    "dataset-look": read("/data-sets/digits/look"),
    "dataset-action fetch": member("/data-sets/mnist/fetch"),
    "dataset-action import": member("/data-sets/mnist/import", path="{folder}"),
    "dataset-action verify": member("/data-sets/mnist/verify"),
    "apps": read("/apps"),
    "app-upload": post("login login 403 403 403 422", "/apps/upload"),
    "app-state": read("/apps/numpy-least-squares/state"),
    "app-action remove": post("login login 302 302 302 302", "/apps/numpy-least-squares/remove"),  # not from a folder
    "app-action install": post("login login 302 302 302 302", "/apps/numpy-least-squares/install"),  # has all
    "app-action check": post("login login 302 302 302 302", "/apps/numpy-least-squares/check"),
    "portrait-pictures": Row("login login 404 404 404 404", "/portraits/nothing.png"),
    "workers": read("/workers"),
    "worker-action drain": admin("/workers/{worker}/drain"),
    "worker-action resume": admin("/workers/{worker}/resume"),
    "pulse": read("/pulse"),
    "me": read("/me"),
    "token-new": post("login login 200+ 200+ 200+ 200+", "/me/tokens", name="Mine", scope="read", days="7"),
    "token-revoke": post("login login 404 404 302+ 404", "/me/tokens/{token}/revoke"),
    "people": Row("login login 403 403 403 200", "/people"),
    "change-password": read("/me/password"),
    "choose-password": Row("200 200 200 200 200 200", "/choose-password/MQ/nothing"),
    "person-new": post("login login 403 403 403 200+", "/people/new", name="nora", role="member", how="link"),
    "password-link": post("login login 403 403 403 200", "/people/{person}/password-link"),
    "person-action role": post("login login 403 403 403 302+", "/people/{person}/role", role="viewer"),
    "person-action disable": post("login login 403 403 403 302+", "/people/{person}/disable"),
    "person-action enable": post("login login 403 403 403 302", "/people/{person}/enable"),
    "audit": Row("login login 403 403 403 200", "/audit"),
    "login": Row("200 200 302 302 302 302", "/log-in"),
    "sign-on": Row("404 404 404 404 404 404", "/log-in/sign-on"),
    "sign-on-return": Row("404 404 404 404 404 404", "/log-in/sign-on/return"),
    "logout": post("login login 302 302 302 302", "/log-out"),
}
ACTIONS = {
    "study-pin": bookmark_views.PIN_ACTIONS,
    "study-baseline": bookmark_views.STAR_ACTIONS,
    "note-action": note_views.NOTE_ACTIONS,
    "study-action": actions.STUDY_ACTIONS,
    "run-action": actions.RUN_ACTIONS,
    "queue-runs": queue.RUN_ACTIONS,
    "queue-studies": queue.STUDY_WORDS,
    "worker-action": workers.WORKER_ACTIONS,
    "dataset-action": dataset_views.DATASET_KINDS,
    "app-action": flower_apps_views.APP_ACTIONS,
    "person-action": people_views.ACCOUNT_ACTIONS,
}


@pytest.fixture
def names(study: Study, worker: Worker, apps: Path) -> dict[str, Any]:
    runs = lab.runs_in_order(study)
    _, secret = link_create(owner=study.owner, query=f"study={study.pk}", title="For reviewers")
    token, _ = token_create(owner=study.owner, name="Script")
    numbers = {"done": runs[0].pk, "failed": runs[4].pk, "queued": runs[5].pk, "worker": worker.pk, "token": token.pk}
    numbers["person"] = study.owner.pk
    numbers["imported"] = lab.imported(study.owner).pk
    imports = home_import_folder()
    imports.mkdir(parents=True, exist_ok=True)
    numbers["note"] = note_create(author=study.owner, text="Look", study=study).pk
    return {
        "study": study.pk,
        "secret": secret,
        "display": "final-bars",
        "cell": runs[0].cell,
        "folder": imports,
        **numbers,
    }


@pytest.fixture
def everyone(browsers: dict[str, Client], names: dict[str, Any]) -> dict[str, Client]:
    visitor = Client()
    visitor.get(f"/shared/{names['secret']}")
    return {**browsers, "visitor": visitor}


def got(client: Client, row: Row, names: dict[str, Any]) -> str:
    """What was done is taken back, so that the next one finds the lab as it was."""
    path = row.path.format(**names)
    posted = {key: value.format(**names) if isinstance(value, str) else value for key, value in row.posted.items()}
    if path.endswith("/upload"):
        posted["file"] = SimpleUploadedFile("own.npz", b"PK\x03\x04")
    sent = json.dumps(posted) if row.as_json else posted
    kind = {"content_type": "application/json"} if row.as_json else {}
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        answer = client.post(path, sent, **kind) if row.method == "POST" else client.get(path)
        transaction.set_rollback(True)
    wrote = any(WRITE.match(each["sql"]) for each in queries.captured_queries)
    to_log_in = answer.status_code == 302 and answer.headers["Location"].startswith("/log-in?next=/")
    keeps_form = answer.status_code == 401 and b"You are logged out: log in." in answer.content
    return f"{'login' if to_log_in or keeps_form else answer.status_code}{'+' if wrote else ''}"


def test_every_address_has_a_row() -> None:
    """Here, or in `api/test_contract.py` where it is a route."""
    assert {str(pattern.pattern) for pattern in api_patterns} == {"healthz", "metrics", "api/v1/", "api/<path:rest>"}
    known = [pattern.name for pattern in urlpatterns]
    expected = {f"{name} {each}" for name in known for each in ACTIONS.get(name, ())}
    assert set(PAGES) == expected | {name for name in known if name not in ACTIONS}


def test_everyone_gets_what_they_may(everyone: dict[str, Client], names: dict[str, Any]) -> None:
    answers = {name: " ".join(got(everyone[who], row, names) for who in PEOPLE) for name, row in PAGES.items()}
    assert answers == {name: row.answers for name, row in PAGES.items()}


SIGN_ON_ONLY = {
    "login": Row("200 200 302 302 302 302", "/log-in"),
    "sign-on": Row("502 502 302 302 302 302", "/log-in/sign-on"),  # their provider is away
    "sign-on-return": Row("400 400 400 400 400 400", "/log-in/sign-on/return"),
    "change-password": Row("login login 404 404 404 404", "/me/password"),
    "password-link": post("login login 403 403 403 409", "/people/{person}/password-link"),
    "person-new": post("login login 403 403 403 422", "/people/new", name="nora", role="member", how="link"),
}


def test_people_of_a_provider_get_what_their_role_may(signed_on: dict[str, User], names: dict[str, Any]) -> None:
    """In a lab without passwords. They own nothing here: a member of them is a stranger to the study."""
    rows = PAGES | SIGN_ON_ONLY
    clients = {"nobody": Client(), **{role: Client() for role in signed_on}}
    for role, person in signed_on.items():
        clients[role].force_login(person)
    columns = {"nobody": 0, "viewer": 2, "member": 3, "admin": 5}
    for who, client in clients.items():
        answers = {name: got(client, row, names) for name, row in rows.items()}
        assert answers == {name: row.answers.split()[columns[who]] for name, row in rows.items()}, who


def test_the_pages_of_logged_and_imported_runs_are_as_those_of_others(
    everyone: dict[str, Client], names: dict[str, Any], owner: User
) -> None:
    """But that nobody has them computed again."""
    chosen = ["study", "study-runs", "displays", "study-edit", "study-deletion", "study-action cancel"]
    chosen += [
        "study-action delete",
        "study-notes",
        "run",
        "run-figure",
        "run-clients",
        "run-log",
        "run-notes",
        "compare",
    ]
    for made in (lab.logged, lab.imported):
        study = made(owner)
        own = names | {"study": study.pk, "done": study.runs.get().pk, "failed": study.runs.get().pk}
        answers = {name: " ".join(got(everyone[who], PAGES[name], own) for who in PEOPLE) for name in chosen}
        assert answers == {name: PAGES[name].answers for name in chosen}
        retry = " ".join(got(everyone[who], PAGES["run-action retry"], own) for who in PEOPLE)
        assert retry == "login login 302 302 302 302"


def test_a_token_opens_no_page_and_presses_no_button(names: dict[str, Any], admin: User) -> None:
    """Of an admin, with the scope write: it is for REST, which counts, limits and checks its requests."""
    _, secret = token_create(owner=admin, name="Script", scope="write")
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    answers = {name: got(program, row, names) for name, row in PAGES.items()}
    assert answers == {name: row.answers.split()[0] for name, row in PAGES.items()}


def test_no_button_works_from_another_site(names: dict[str, Any], admin: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin)
    buttons = {name: row for name, row in PAGES.items() if row.method == "POST"}
    assert {name: got(browser, row, names) for name, row in buttons.items()} == dict.fromkeys(buttons, "403")


def test_no_button_is_pressed_by_following_a_link(everyone: dict[str, Client], names: dict[str, Any]) -> None:
    links = {name: replace(row, method="GET") for name, row in PAGES.items() if row.method == "POST"}
    assert {name: got(everyone["admin"], row, names) for name, row in links.items()} == dict.fromkeys(links, "405")


@pytest.mark.parametrize(
    ("path", "answers"),
    [
        ("/healthz", "200 200 200 200 200 200"),
        ("/metrics", "401 401 200 200 200 200"),
        ("/api/v1/openapi.json", "401 401 200 200 200 200"),
        ("/api/v1/docs", "login login 200 200 200 200"),
        ("/api/v1/", "404 404 404 404 404 404"),
    ],
)
def test_what_is_beside_pages_and_routes_has_a_row_too(
    everyone: dict[str, Client], names: dict[str, Any], path: str, answers: str, redis_url: str
) -> None:
    assert " ".join(got(everyone[who], Row("", path), names) for who in PEOPLE) == answers


def test_a_password_is_never_in_a_page(everyone: dict[str, Client], names: dict[str, Any], owner: User) -> None:
    owner.set_password("correct horse")
    owner.save()
    for name in ("me", "home", "studies", "workers"):
        assert owner.password not in everyone["admin"].get(PAGES[name].path.format(**names)).content.decode()
