"""A chart goes on with what it is told, asks for nothing, and shows what the server would have drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from experiments.models import Study, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record, run_finish
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services.launch import study_launch
from tests.e2e.waiting import wait_until
from tests.experiments import lab
from tests.live import LivePlatform
from workers.engine.records import RoundRecord

ACCURACY = [[0.125, 0.5, 0.75, 0.875], [0.25, 0.75, 0.8, 0.96875], [0.375, 0.625, 0.875, 1.0]]
DRAWN = """() => {
  const bytes = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer;
  const values = (list) => (list.bdata ? [...new Float64Array(bytes(list.bdata))] : [...list]);
  const round = (list) => values(list).map((each) => (each === null ? null : Number(each.toFixed(9))));
  return document.querySelector(".plot").data.map(
    ({ name, x, y, customdata, mode }) => ({ name, x: round(x), y: round(y), customdata, mode }),
  );
}"""
LAST_LINE = "document.querySelector('.plot').data.at(-1)"
THREE_SEEDS = f"{LAST_LINE}.x.length === 3 && {LAST_LINE}.customdata.every((each) => each.endsWith('n=3'))"


@pytest.fixture
def study(member: User, live_platform: LivePlatform, django_db_blocker: DjangoDbBlocker) -> Iterator[Study]:
    """Its runs are this test's."""
    live_platform.stop("worker-1", "scheduler")
    with django_db_blocker.unblock():
        yield study_launch(owner=member, name="Growing", blocks=[{**lab.BLOCK, "rounds": 3}])
        Worker.objects.filter(name="test@lab").delete()


def tell(claim: Claim, numbers: list[float], first: int) -> None:
    records = [RoundRecord(first + at, {"accuracy": each, "loss": 1 - each}) for at, each in enumerate(numbers)]
    rounds_record(claim=claim, records=records)


def chart_traces(page: Page) -> Any:
    return page.evaluate(DRAWN)


def test_curves_grow_without_a_request_and_equal_what_the_server_draws(page: Page, study: Study) -> None:
    worker = worker_enlist(name="test@lab", host="lab", device="cpu", threads=1)
    claims = [claim for _ in range(3) if (claim := run_claim(worker=worker))]
    tell(claims[0], ACCURACY[0][:1], 0)
    page.goto(f"/studies/{study.pk}")
    with page.expect_request(lambda request: "curves=accuracy" in request.url):
        pass
    wait_until(page, "document.querySelector('.plot').data?.length === 1")
    page.wait_for_timeout(1500)

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/figure" in request.url else None)
    tell(claims[0], ACCURACY[0][1:3], 1)
    for claim, numbers in zip(claims[1:], ACCURACY[1:], strict=True):
        tell(claim, numbers[:2], 0)
        tell(claim, numbers[2:3], 2)
    wait_until(page, THREE_SEEDS)
    grown = chart_traces(page)
    assert grown[1]["y"] == [25.0, 62.5, 80.833333333]
    assert grown[1]["customdata"] == ["25.00 ± 12.50 · n=3", "62.50 ± 12.50 · n=3", "80.83 ± 6.29 · n=3"]
    expect(page.locator("#study-runs progress[value='2']")).to_have_count(3)
    assert asked == []

    page.reload()
    wait_until(page, "document.querySelector('.plot').data?.length === 2")
    assert chart_traces(page) == grown

    tell(claims[0], ACCURACY[0][3:], 3)
    run_finish(claim=claims[0], provenance={})
    wait_until(page, f"{LAST_LINE}.x.length === 4")
    assert chart_traces(page)[1]["customdata"][3] == "87.50 · n=1"
