"""The queue and workers pages: what they show, and what their buttons do."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import RunState, Study, Worker
from experiments.queue.services.workers import worker_enlist
from tests.experiments import lab


def page_after(client: Client, address: str, **data: object) -> str:
    return client.post(address, {"next": "/queue", **data}, follow=True).content.decode()


def test_it_shows_what_runs_and_what_waits_in_the_chosen_scope(as_owner: Client, study: Study) -> None:
    page = as_owner.get("/queue").content.decode()
    assert "1 running · 1 queued" in page
    assert "failed 1" in page
    failed = as_owner.get("/queue", {"state": "failed", "person": "owner", "study": study.pk}).content.decode()
    assert "Out of memory." in failed
    assert "Retry ticked runs" in failed
    assert "No running or queued run fits this choice" in as_owner.get("/queue", {"person": "boss"}).content.decode()


def test_the_runs_of_a_cell_are_one_line_that_unfolds(as_owner: Client, study: Study) -> None:
    first, *_, last = lab.runs_in_order(study)
    lab.moved(first, RunState.QUEUED)
    page = as_owner.get("/queue").content.decode()
    cells = page.split('<details class="queue-cell"')[1:]
    assert [cell.count('<tr id="run-') for cell in cells] == [2, 1]
    assert '<span class="chip running">1 running</span> <span class="chip queued">1 queued</span>' in cells[0]
    assert f'id="run-{last.pk}"' in cells[0]
    assert [cell.partition(">")[0].endswith(" open") for cell in cells] == [False, True]


@pytest.mark.parametrize(
    "odd", ["state=exploded", "person=nobody", "study=x", "page=0", "page=99999999999", "study=9999"]
)
def test_whatever_stands_in_the_address_it_answers(as_owner: Client, study: Study, odd: str) -> None:
    assert as_owner.get(f"/queue?{odd}").status_code == 200


def test_ticked_runs_are_cancelled_and_the_refused_ones_told(as_owner: Client, study: Study) -> None:
    runs = lab.runs_in_order(study)
    page = page_after(as_owner, "/queue/runs/cancel", run=[runs[3].pk, runs[5].pk, runs[0].pk])
    assert "2 runs cancelled; those at work stop within seconds." in page
    assert "Not done to 1 run: 1 already ended." in page


def test_all_that_the_filter_names_are_retried_at_once(as_owner: Client, study: Study) -> None:
    page = page_after(as_owner, "/queue/runs/retry", all="1", state="failed", person="owner")
    assert "1 run queued again, each from its last checkpoint." in page
    assert lab.runs_in_order(study)[4].state == RunState.QUEUED


def test_nothing_ticked_changes_nothing(as_owner: Client, study: Study) -> None:
    assert "Nothing was ticked" in page_after(as_owner, "/queue/runs/cancel")
    assert "Nothing was ticked" in page_after(as_owner, "/queue/studies/pause")


@pytest.mark.parametrize(("who", "allowed"), [("owner", True), ("admin", True), ("stranger", False)])
def test_the_owner_and_admins_set_a_priority(
    browsers: dict[str, Client], study: Study, who: str, allowed: bool
) -> None:
    page = page_after(browsers[who], "/queue/studies/priority", id=study.pk, priority="7")
    study.refresh_from_db()
    assert study.priority == (7 if allowed else 0)
    assert ("1 study given the new priority." in page) is allowed
    assert ("Not done to 1 study" in page) is not allowed


def test_a_priority_that_is_no_number_is_told(as_owner: Client, study: Study) -> None:
    assert "a whole number from -100 to 100" in page_after(
        as_owner, "/queue/studies/priority", id=study.pk, priority="soon"
    )


def test_a_viewer_is_offered_nothing_and_refused_everything(browsers: dict[str, Client], study: Study) -> None:
    assert "Cancel" not in browsers["viewer"].get("/queue").content.decode()
    assert "A viewer reads." in page_after(browsers["viewer"], "/queue/runs/cancel", run=lab.runs_in_order(study)[5].pk)


@pytest.mark.parametrize("address", ["/queue/runs/explode", "/queue/studies/explode", "/workers/1/explode"])
def test_other_actions_do_not_exist(as_owner: Client, address: str) -> None:
    assert as_owner.post(address).status_code == 404
    assert as_owner.get(address).status_code == 405


def test_only_an_admin_drains_a_worker_and_lets_it_work_again(browsers: dict[str, Client], worker: Worker) -> None:
    assert "Only an admin may do this." in page_after(browsers["owner"], f"/workers/{worker.pk}/drain")
    assert "Pause worker" not in browsers["owner"].get("/workers").content.decode()
    assert "worker-1@lab takes no further run" in page_after(browsers["admin"], f"/workers/{worker.pk}/drain")
    assert "drained" in browsers["owner"].get("/workers").content.decode()
    assert "worker-1@lab takes runs again." in page_after(browsers["admin"], f"/workers/{worker.pk}/resume")


def test_a_workers_problems_are_shown_once_with_all_who_have_them(as_owner: Client, worker: Worker) -> None:
    Worker.objects.update(facts={"problems": ["own.py: It is no valid Python."]})
    Worker.objects.create(
        name="second@lab",
        host="lab",
        device="cpu",
        started=worker.started,
        heartbeat=worker.heartbeat,
        facts={"problems": ["own.py: It is no valid Python."]},
    )
    page = as_owner.get("/workers").content.decode()
    assert page.count("own.py: It is no valid Python.") == 1
    assert "(second@lab, worker-1@lab)" in page


def test_the_workers_page_shows_the_jobs_of_a_cluster(browsers: dict[str, Client]) -> None:
    worker_enlist(name="slurm-41-1@node", host="node", device="cpu", threads=1, facts={"slurm_job": "41"})
    worker_enlist(name="worker-1@lab", host="lab", device="cpu", threads=1)
    text = browsers["viewer"].get("/workers").content.decode()
    assert text.count("Slurm job") == 1
    assert "host node · Slurm job 41 · up " in text
