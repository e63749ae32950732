"""A part of a page is made once for all who would see the same, and again after every change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiments.access.selectors.credentials import Credential
from experiments.bookmarks.services import baseline_star
from experiments.models import Role, Study, User
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record
from experiments.queue.services.workers import worker_enlist
from experiments.results.live.changes import LAB, Changes
from experiments.results.live.events import EventScope
from experiments.results.live.listener import Wish, listener
from experiments.results.live.parts import TOKEN, Parts
from experiments.studies.services.launch import study_launch
from tests.experiments import lab
from tests.live import eventually
from workers.engine.records import RoundRecord

pytestmark = pytest.mark.django_db(transaction=True)
PART = {"HX-Request": "true"}
Ask = Callable[..., HttpResponse]


@contextmanager
def open_stream(person: User) -> Iterator[None]:
    """Somebody has a page open, so that this process listens."""
    subscribed, ended = Event(), Event()

    async def listen() -> None:
        subscriber = await listener.subscribe(Wish(EventScope()), Credential(person.pk, person.role))
        subscribed.set()
        await asyncio.to_thread(ended.wait)
        listener.unsubscribe(subscriber)

    thread = Thread(target=lambda: asyncio.run(listen()))
    thread.start()
    assert subscribed.wait(20)
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def study(owner: User) -> Study:
    return study_launch(owner=owner, name="Watched", blocks=[{**lab.BLOCK, "rounds": 9}])


@pytest.fixture
def claim(study: Study) -> Claim:
    claim = run_claim(worker=worker_enlist(name="test@lab", host="lab", device="cpu", threads=1))
    assert claim
    return claim


def browser_of(person: User) -> Client:
    client = Client(headers=PART)
    client.force_login(person)
    return client


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


def commit_round(claim: Claim, number: int) -> None:
    """Until this process has been told of it."""
    before = listener.version(EventScope(run=claim.run))
    rounds_record(claim=claim, records=[RoundRecord(number, {"accuracy": number / 10})])
    eventually(lambda: listener.version(EventScope(run=claim.run)) != before, 20)


def test_viewers_of_a_study_cause_one_set_of_queries_for_each_change(study: Study, claim: Claim) -> None:
    """A viewer whose part another has made asks for their session, themselves, the study and their pin of it."""
    viewers = [browser_of(User.objects.create(username=f"v{number}", role=Role.VIEWER)) for number in range(6)]
    page, figure = f"/studies/{study.pk}", f"/studies/{study.pk}/figure?metric=accuracy"
    reader = User.objects.create(username="reader", role=Role.VIEWER)
    for viewer in viewers:
        viewer.get(page)
    with open_stream(reader):
        for number in (0, 1):
            commit_round(claim, number)
            parts = [queries_of(viewer, page) for viewer in viewers]
            figures = [queries_of(viewer, figure) for viewer in viewers]
            assert parts[0] > 10
            assert parts[1:] == [4] * 5
            assert figures[0] > 5
            assert figures[1:] == [2] * 5
        assert f"{claim.run}</a>" in viewers[3].get(page).content.decode()


def test_home_and_queue_are_made_once_for_those_who_may_do_the_same(study: Study, claim: Claim, owner: User) -> None:
    people = [User.objects.create(username=f"m{number}", role=Role.MEMBER) for number in range(3)]
    members, launcher = [browser_of(each) for each in people], browser_of(owner)
    with open_stream(people[0]):
        commit_round(claim, 0)
        for path in ("/", "/queue"):
            counts = [queries_of(each, path) for each in members]
            assert counts[0] > 10
            assert set(counts[1:]) <= {3, 4}
            others, own = members[1].get(path).content.decode(), launcher.get(path).content.decode()
            assert others != own
        assert "Cancel<" in own
        assert "Cancel<" not in others.partition('id="runs"')[2].partition("<table")[2]


def test_each_reader_has_tokens_of_their_own_in_a_shared_part(study: Study, claim: Claim) -> None:
    admins = [browser_of(User.objects.create(username=name, role=Role.ADMIN)) for name in ("one", "two")]
    with open_stream(User.objects.get(username="one")):
        texts = [each.get(f"/studies/{study.pk}").content.decode() for each in admins]
    marks = [text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0] for text in texts]
    assert [len(mark) for mark in marks] == [64, 64]
    assert marks[0] != marks[1]
    assert texts[0].replace(marks[0], "") == texts[1].replace(marks[1], "")


def test_a_whole_page_has_its_readers_own_tokens_in_the_part_that_it_shares(study: Study) -> None:
    admin = User.objects.create(username="one", role=Role.ADMIN)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin)
    text = browser.get(f"/studies/{study.pk}").content.decode()
    assert TOKEN not in text
    part = text.partition('id="study-live"')[2]
    token = part.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    assert browser.post(f"/studies/{study.pk}/pause", {"csrfmiddlewaretoken": "x" * 64}).status_code == 403
    assert browser.post(f"/studies/{study.pk}/pause", {"csrfmiddlewaretoken": token}).status_code == 302
    study.refresh_from_db()
    assert study.paused


def test_a_star_is_seen_at_once(study: Study, claim: Claim, owner: User) -> None:
    browser = browser_of(owner)
    with open_stream(owner):
        assert "★" not in browser.get(f"/studies/{study.pk}").content.decode()
        before = listener.version(EventScope(study=study.pk))
        baseline_star(study=study, cell=study.runs.first().cell, actor=owner)
        eventually(lambda: listener.version(EventScope(study=study.pk)) != before, 20)
        assert "★" in browser.get(f"/studies/{study.pk}").content.decode()


def test_what_a_page_was_told_by_another_process_is_in_what_it_is_given(study: Study, claim: Claim) -> None:
    """An event that this process has not heard of: nothing that was made before is taken."""
    browser = browser_of(User.objects.create(username="v", role=Role.VIEWER))
    page = f"/studies/{study.pk}"
    with open_stream(User.objects.get(username="v")):
        first, again = queries_of(browser, page), queries_of(browser, page)
        assert first > again == 4
        with CaptureQueriesContext(connection) as queries:
            browser.get(page, headers={**PART, "X-Live-Seen": "1763258507.25"})
        assert len(queries) > 10


def test_without_anybody_who_listens_every_part_is_made_anew(study: Study) -> None:
    browser = browser_of(User.objects.create(username="v", role=Role.VIEWER))
    assert listener.version(EventScope(study=study.pk)) is None
    assert min(queries_of(browser, f"/studies/{study.pk}") for _ in range(2)) > 10


def test_a_page_is_told_to_ask_less_often_the_more_listen(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = browser_of(User.objects.create(username="v", role=Role.VIEWER))
    assert browser.get("/queue").headers["X-Live-Pace"] == "0"
    monkeypatch.setattr(listener, "subscribers", set(range(500)))
    assert listener.pace == 12.5


def test_nobody_waits_for_a_part_that_is_being_made_where_there_is_one_of_before() -> None:
    parts, begun, go_on = Parts(), Event(), Event()
    parts.text("a", (1, 1), lambda: "old")
    assert parts.before("a") is None

    def make() -> str:
        begun.set()
        assert go_on.wait(20)
        return "new"

    maker = Thread(target=parts.text, args=["a", (1, 2), make])
    maker.start()
    assert begun.wait(20)
    assert (parts.before("a"), parts.before("b")) == ("old", None)
    go_on.set()
    maker.join()
    assert (parts.before("a"), parts.find("a", (1, 2))) == (None, "new")


def test_changes_are_counted_for_lab_study_and_run() -> None:
    changes = Changes()
    changes.start_over()
    changes.add([{"at": 1.5, "run": 7, "studies": [1, 2]}, {"at": 2.5, "study": 2, "studies": [2]}])
    scopes = (LAB, EventScope(study=1), EventScope(study=2), EventScope(study=3), EventScope(run=7))
    assert [changes.version(scope) for scope in scopes] == [(1, 2), (1, 1), (1, 2), (1, 0), (1, 1)]
    assert [changes.has_seen(moment) for moment in (1.5, 2.0, 2.5)] == [True, False, True]
    changes.start_over()
    assert changes.version(LAB) == (2, 0)
    assert not changes.has_seen(1.5)


def test_parts_are_kept_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.results.live.parts.MOST_BYTES", 10)
    parts, made = Parts(), []

    def make(name: str) -> str:
        def text() -> str:
            made.append(name)
            return name * 4

        return parts.text(name, (1, 1), text)

    assert [make(name) for name in "aba"] == ["aaaa", "bbbb", "aaaa"]
    assert made == ["a", "b"]
    make("c")  # b was used longest ago
    make("a")
    make("b")
    assert made == ["a", "b", "c", "b"]
    assert parts.text("a", (1, 2), lambda: "new") == "new"
