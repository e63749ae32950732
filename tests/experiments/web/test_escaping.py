"""Text from people, workers and strategies that would be a script, through every page that shows some of it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.test import Client

from experiments.access.services.audit import audit_record
from experiments.access.services.share_links import link_create
from experiments.access.services.tokens import token_create
from experiments.compare.chart_builders import CHART_BUILDERS
from experiments.models import Job, Run, SavedView, Study, User, Worker
from experiments.results.services.curves import values_write
from tests.experiments import lab
from workers.home import log_file

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
PAGES = [
    "/", "/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/queue", "/workers", "/data-sets", "/me", "/people", "/audit",
    "/studies/{study}", "/studies/{study}/deletion", "/studies/{study}/displays", "/studies/new?from={study}",
    "/runs/{run}", "/runs/{failed}", "/runs/{run}/log", "/runs/{run}/clients", "/compare?study={study}",
    "/compare?study={study}&tab=table", "/compare?study={study}&tab=specs", "/compare?study={study}&metric={evil}",
    "/shared/{secret}",
]  # fmt: skip


@pytest.fixture
def names(study: Study, owner: User, admin: User, worker: Worker) -> dict[str, object]:
    """A lab in which every word that somebody may choose is a script."""
    Study.objects.filter(pk=study.pk).update(name=EVIL, description=EVIL, tags=[EVIL[:40]], source=EVIL, origin=EVIL)
    done, failed = lab.runs_in_order(study)[0], lab.runs_in_order(study)[4]
    Run.objects.filter(pk=failed.pk).update(reason=f"{EVIL}\n{EVIL}")
    Run.objects.filter(pk=done.pk).update(findings={EVIL: {EVIL: EVIL}}, provenance={"host": EVIL, EVIL: EVIL})
    values_write([(done.pk, 1, EVIL[:90], 1.0)])
    Worker.objects.filter(pk=worker.pk).update(name=EVIL, host=EVIL, facts={"device": EVIL, "problems": [EVIL]})
    Job.objects.create(subject="mnist", kind="import", state="failed", path=EVIL, text=EVIL)
    SavedView.objects.create(owner=owner, name=EVIL, query=f"study={study.pk}", shared=True)
    token_create(owner=admin, name=EVIL)
    audit_record(actor=owner, action=EVIL[:40], subject=EVIL, detail=EVIL)
    User.objects.filter(pk=owner.pk).update(username=EVIL)
    log_file(done.pk).parent.mkdir(parents=True, exist_ok=True)
    log_file(done.pk).write_text(EVIL)
    _, secret = link_create(owner=owner, query=f"study={study.pk}", title=EVIL)
    return {"study": study.pk, "run": done.pk, "failed": failed.pk, "secret": secret, "evil": "%3Cscript%3Ealert(1)"}


def test_no_page_holds_a_script_that_somebody_wrote(browsers: dict[str, Client], names: dict[str, object]) -> None:
    for page in PAGES:
        answer = browsers["admin"].get(page.format(**names), follow=True)
        html = answer.content.decode()
        assert answer.status_code == 200, page
        if answer.headers["Content-Type"] == "application/json":
            continue  # is no page: scripts put what they need of it into one as text
        assert "<script>alert" not in html, page
        assert "<img src=x" not in html, page


@pytest.mark.parametrize("page", ["/log-in?next=%22%3E%3Cscript%3Ealert(1)", "/%3Cscript%3Ealert(1)%3C/script%3E"])
def test_no_address_becomes_a_script(client: Client, db: None, page: str) -> None:
    assert "<script>alert" not in client.get(page, follow=True).content.decode()


LINK = '<a href="https://evil.example">mine</a>'


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings_in(each) if name != "legendgroup" else ()


def test_no_name_becomes_a_link_in_a_chart(as_owner: Client, study: Study, owner: User) -> None:
    """Plotly makes one of it wherever it draws a text; the words beside a chart are put into the page as text."""
    other = lab.launched(owner, "Other", rounds=5)
    for run in lab.runs_in_order(other):
        lab.record(run, {"accuracy": [0.1, 0.5, 0.9], LINK: [0.1, 0.2, 0.3]})
    Study.objects.filter(pk=study.pk).update(name=LINK, tags=[LINK])
    for name in CHART_BUILDERS:
        for query in ("", "&colour=study&against=study", f"&metric={quote(LINK)}"):
            answer = as_owner.get(f"/compare/charts/{name}?study={study.pk}&study={other.pk}{query}")
            figure = {key: answer.json()[key] for key in ("data", "layout")}
            drawn = (text for text in strings_in(figure) if "<a" in text)
            assert list(drawn) == [], name
