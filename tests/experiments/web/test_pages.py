"""Every page, for everybody who may or may not see it."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Study
from tests.experiments import lab

PAGES = ["/", "/studies", "/leaderboard", "/queue", "/compare", "/data-sets", "/workers", "/pulse"]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("who", ["owner", "stranger", "viewer", "admin"])
def test_it_shows_every_page_to_everyone_who_is_logged_in(
    browsers: dict[str, Client], study: Study, page: str, who: str
) -> None:
    assert browsers[who].get(page).status_code == 200


@pytest.mark.parametrize("page", [*PAGES, "/studies/new", "/studies/1", "/runs/1", "/studies/1/figure"])
def test_it_sends_strangers_to_the_log_in_page(browsers: dict[str, Client], page: str) -> None:
    answer = browsers["nobody"].get(page)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/log-in?next={page}"


@pytest.mark.parametrize("who", ["owner", "stranger", "viewer", "admin"])
def test_it_shows_a_study_and_its_runs_to_everyone(browsers: dict[str, Client], study: Study, who: str) -> None:
    run = lab.runs_in_order(study)[0]
    client = browsers[who]
    for page in (f"/studies/{study.pk}", f"/studies/{study.pk}/figure", f"/runs/{run.pk}", f"/runs/{run.pk}/figure"):
        assert client.get(page).status_code == 200, page


def test_it_lists_a_study_with_axes_state_progress_and_best_value(as_owner: Client, study: Study) -> None:
    page = as_owner.get("/studies").content.decode()
    assert "2 strategies · 3 seeds" in page
    assert "3 / 6 runs" in page
    assert "90.0 ± 10.0" in page
    assert "1 study · 6 runs · 1 queued, 1 running, 3 done, 1 failed" in page


def test_it_searches_in_names_and_blocks(as_owner: Client, study: Study) -> None:
    lab.launched(study.owner, "Something else", strategy={"name": "fedavg"})
    html = as_owner.get("/studies", {"q": "fedprox"}, headers={"HX-Request": "true"}).content.decode()
    assert "Two strategies" in html
    assert "Something else" not in html
    assert "<html" not in html


def test_it_says_what_to_do_when_nothing_matches(as_owner: Client, study: Study) -> None:
    assert "No study matches “xyzzy”" in as_owner.get("/studies", {"q": "xyzzy"}).content.decode()


def test_it_invites_to_a_first_study(as_owner: Client) -> None:
    page = as_owner.get("/").content.decode()
    assert "No studies yet" in page
    assert "/studies/new" in page


def test_it_offers_a_viewer_nothing_to_launch(browsers: dict[str, Client], study: Study) -> None:
    page = browsers["viewer"].get("/").content.decode()
    assert "New study" not in page
    answer = browsers["viewer"].get("/studies/new")
    assert answer.status_code == 403
    assert "Ask an admin" in answer.content.decode()


def test_it_shows_the_finals_of_a_study_by_cell(as_owner: Client, study: Study) -> None:
    page = as_owner.get(f"/studies/{study.pk}").content.decode()
    assert "90.00 ± 10.00" in page
    assert "FedProx (μ = 0.1)" in page
    assert "Out of memory." in page


def test_it_shows_a_run_with_its_provenance(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[0]
    page = as_owner.get(f"/runs/{run.pk}").content.decode()
    assert run.hash in page
    assert "2 / 2 rounds" in page


@pytest.mark.parametrize("page", ["/studies/99999", "/runs/99999", "/nowhere"])
def test_it_answers_with_a_helpful_404(as_owner: Client, page: str) -> None:
    answer = as_owner.get(page)
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()


@pytest.mark.parametrize(
    ("page", "most"),
    [
        ("/", 22),
        ("/studies", 17),
        ("/leaderboard", 12),
        ("/queue", 17),
        ("/workers", 8),
        ("/data-sets", 12),
        ("/compare", 10),
    ],
)
def test_it_asks_the_database_a_bounded_number_of_times(
    as_owner: Client, study: Study, django_assert_max_num_queries: object, page: str, most: int
) -> None:
    for number in range(5):
        lab.launched(study.owner, f"Study {number}", rounds=3 + number)
    with django_assert_max_num_queries(most):  # type: ignore[operator]
        as_owner.get(page)
