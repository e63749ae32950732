"""Lists: pages, order, filters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.test import Client

from experiments.models import Run, RunState, Study, User
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    """fedavg with seeds 0 to 2 ends at 0.5, 0.9 and NaN; of fedprox, one at work at 0.7 and two in the queue."""
    launched_study = lab.launched(owner)
    runs = lab.runs_in_order(launched_study)
    for run, last in zip(runs[:3], (0.5, 0.9, math.nan), strict=True):
        lab.record(run, {"accuracy": [0.1, 0.2, last]})
    lab.record(runs[3], {"accuracy": [0.1, 0.7]}, RunState.RUNNING)
    return launched_study


def walk(client: Client, address: str) -> list[Any]:
    """Every item, a page of two at a time."""
    items: list[Any] = []
    page = client.get(f"{address}&limit=2").json()
    items += page["items"]
    while page["next"]:
        page = client.get(f"{address}&limit=2&cursor={page['next']}").json()
        items += page["items"]
    assert page["count"] == len(items)
    return items


def places(study: Study, items: list[Any]) -> list[int]:
    order = [run.pk for run in lab.runs_in_order(study)]
    return [order.index(each["id"]) for each in items]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("id", [0, 1, 2, 3, 4, 5]),
        ("-id", [5, 4, 3, 2, 1, 0]),
        ("seed", [0, 3, 1, 4, 2, 5]),
        ("-rounds_done", [2, 1, 0, 3, 5, 4]),
        ("finished", [0, 1, 2, 3, 4, 5]),
        ("-finished", [2, 1, 0, 5, 4, 3]),
        ("metric.accuracy", [0, 3, 1, 2, 4, 5]),
        ("-metric.accuracy", [1, 3, 0, 5, 4, 2]),
        ("metric.of.nobody", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_runs_are_sorted_and_those_without_the_value_come_last(
    mine: Client, study: Study, sort: str, expected: list[int]
) -> None:
    assert places(study, walk(mine, f"/api/v1/runs?sort={sort}")) == expected


def test_runs_are_filtered_by_any_field_of_their_spec(mine: Client, study: Study) -> None:
    assert places(study, walk(mine, "/api/v1/runs?strategy=fedprox")) == [3, 4, 5]
    assert places(study, walk(mine, "/api/v1/runs?strategy.mu=0.10&seed=0&seed=2&sort=-id")) == [5, 3]
    assert places(study, walk(mine, f"/api/v1/runs?study={study.pk}&state=done&state=running&partition=iid")) == [
        *(0, 1, 2, 3)
    ]


def test_an_unknown_filter_is_refused_with_its_name(mine: Client) -> None:
    answer = mine.get("/api/v1/runs?strategy.muu=0.1&colour=red")
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["colour", "strategy.muu"])


def test_new_rows_shift_no_page(mine: Client, owner: User, study: Study) -> None:
    first = mine.get("/api/v1/studies?sort=-created&limit=1").json()
    assert first["next"] is None
    other = lab.launched(owner, "Other", rounds=3)
    first = mine.get("/api/v1/studies?sort=-created&limit=1").json()
    lab.launched(owner, "Newest", rounds=4)
    second = mine.get(f"/api/v1/studies?sort=-created&limit=1&cursor={first['next']}").json()
    assert [first["items"][0]["id"], second["items"][0]["id"]] == [other.pk, study.pk]


def test_studies_are_filtered_and_sorted(mine: Client, owner: User, study: Study) -> None:
    other = lab.launched(owner, "A study of its own", rounds=3)
    Study.objects.filter(pk=other.pk).update(tags=["paper"], origin="tour", priority=5)
    mine.patch(f"/api/v1/studies/{study.pk}", {"archived": True}, content_type="application/json")

    def items(query: str) -> list[int]:
        return [each["id"] for each in walk(mine, f"/api/v1/studies?{query}")]

    assert items("sort=name") == [other.pk, study.pk]
    assert items("sort=-priority") == [other.pk, study.pk]
    assert items("tag=paper&tag=x") == items("origin=tour") == items("archived=false") == [other.pk]
    assert items("archived=true") == [study.pk]
    assert (items("owner=owner"), items("owner=nobody")) == ([other.pk, study.pk], [])
    assert items("search=a+study") == [other.pk]


@pytest.mark.parametrize(
    "cursor", ["x", "bnVsbA==", "WyJpZCIsMSwxXQ==", "WyItaWQiLCJ4Il0=", "WyItaWQiLDFlOTldCg==", "é"]
)
def test_a_cursor_of_another_list_is_refused(mine: Client, cursor: str) -> None:
    answer = mine.get("/api/v1/studies", {"cursor": cursor})
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, ["cursor"])


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "sort=colour", "archived=maybe"])
def test_odd_wishes_are_refused_with_their_path(mine: Client, query: str) -> None:
    answer = mine.get(f"/api/v1/studies?{query}")
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, [query.split("=")[0]])


def test_a_list_costs_the_same_queries_however_long_it_is(
    mine: Client, owner: User, study: Study, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(8):
        assert mine.get("/api/v1/runs").json()["count"] == Run.objects.count()
