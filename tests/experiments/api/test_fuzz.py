"""Whatever is sent, REST answers as its own document says: schemathesis makes the requests, a real server answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from config.home import Home
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker
from schemathesis import checks

from experiments.access.services.tokens import token_create
from experiments.api.urls import api
from experiments.models import Study, User
from tests.experiments import lab
from tests.live import LivePlatform

DOCUMENT = schemathesis.openapi.from_dict(dict(api.get_openapi_schema(path_prefix="/api/v1/")))
OPERATIONS = {each.ok().label: each.ok() for each in DOCUMENT.get_all_operations()}
ENDLESS = "GET /api/v1/events"
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
PATIENCE_SECONDS = 60
BOUNDED = settings(
    max_examples=settings().max_examples // 10,  # 10, and 4 in `make check`
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Web:
    """`ids` are of things that are there: half of the requests are about them."""

    url: str
    secret: str
    ids: dict[str, int]
    session: requests.Session


@pytest.fixture(scope="module")
def web(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Web]:
    platform = LivePlatform(Home(tmp_path_factory.mktemp("web")))
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, requests.Session() as session:
        patch.setenv("TRIBUTARY_RATE_READS", "0")
        patch.setenv("TRIBUTARY_RATE_WRITES", "0")
        try:
            platform.start_web()
            yield web_with_a_study(platform.base_url, session)
        finally:
            platform.stop()
            connection.close()
            call_command("flush", verbosity=0, interactive=False)
            connection.close()


def web_with_a_study(url: str, session: requests.Session) -> Web:
    admin = User.objects.create(username="boss", role="admin")
    _, secret = token_create(owner=admin, name="fuzz", scope="write")
    study = lab.launched(admin)
    run = lab.record(lab.runs_in_order(study)[0], {"accuracy": [0.1, float("nan")], "loss": [1.0, float("inf")]})
    return Web(url, secret, {"study": study.pk, "run": run.pk}, session)


def cases(label: str, ids: dict[str, int]) -> st.SearchStrategy[Any]:
    def about_what_is_there(case: Any, there: bool) -> Any:
        if there and case.path_parameters:
            case.path_parameters |= {name: ids[name] for name in case.path_parameters if name in ids}
        return case

    any_case = st.sampled_from(MODES).flatmap(lambda mode: OPERATIONS[label].as_strategy(mode))
    return st.builds(about_what_is_there, any_case, st.booleans())


def send(web: Web, case: Any, **headers: str) -> Any:
    return case.call(base_url=web.url, session=web.session, headers=headers, timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("label", [label for label in OPERATIONS if label != ENDLESS])
def test_it_answers_a_program_as_documented(web: Web, label: str) -> None:
    @BOUNDED
    @given(cases(label, web.ids))
    def probe(case: Any) -> None:
        answer = send(web, case, Authorization=f"Bearer {web.secret}")
        case.validate_response(answer, checks=CHECKS)

    probe()


@pytest.mark.parametrize("label", OPERATIONS)
def test_it_refuses_a_stranger_whatever_is_sent(web: Web, label: str) -> None:
    """An address that is too long is refused before anybody is asked who they are."""

    @settings(BOUNDED, max_examples=4)
    @given(cases(label, web.ids))
    def probe(case: Any) -> None:
        answer = send(web, case, Authorization="Bearer trib_wrong")
        assert answer.status_code in (401, 404, 405, 414)
        if answer.status_code == 401:
            case.validate_response(answer, checks=CHECKS)

    probe()


def test_nothing_was_launched_by_chance(web: Web, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        assert Study.objects.exclude(origin="logged").count() <= 1
