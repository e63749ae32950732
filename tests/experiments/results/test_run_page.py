from __future__ import annotations

import math
import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client

from experiments.models import Attempt, Round, Run, RunState, Study, User
from experiments.results.services.curves import values_write
from tests.experiments import lab
from workers.home import home, log_file


@pytest.fixture
def run(study: Study) -> Run:
    """Done, with clients, findings, costs and an attempt that was lost before."""
    run = lab.runs_in_order(study)[0]
    Round.objects.filter(run=run, round=2).update(
        cohort=[-1, 1], clients={"-1": {"samples": 9}, "1": {"samples": 4, "train_loss": 0.25}}
    )
    values_write([(run.pk, 1, "bytes_up", 2_500_000)])
    run.findings = {"confusion": [[0] * 10 for _ in range(10)], "athena": {"groups": [[0, 2], [1]]}}
    run.findings["confusion"][4][7] = 12
    run.provenance = {"device": "cpu", "device_name": "A CPU", "seconds": 2.0, "packages": {"torch": "2.13.0"}}
    run.engine = "cohort"
    run.save()
    for number, outcome, reason in ((1, "lost", "No heartbeat.\nfor 30 s"), (2, "done", "")):
        token = f"00000000-0000-0000-0000-{run.pk:010d}{number:02d}"
        Attempt.objects.create(
            run=run, number=number, token=token, worker="w@lab", started=lab.NOON, outcome=outcome, reason=reason
        )
    return run


def page(client: Client, run: Run) -> str:
    return client.get(f"/runs/{run.pk}").content.decode()


def test_it_tells_spec_provenance_attempts_and_cost(as_owner: Client, run: Run) -> None:
    said = page(as_owner, run)
    for words in ("Logistic regression", "650 parameters", "cpu: A CPU", "torch 2.13.0", "w@lab", "No heartbeat."):
        assert words in said
    assert '<td class="num">2.5 MB</td>' in said
    assert f"/studies/new?run={run.pk}" in said


def test_it_shows_the_confusion_matrix_and_what_the_strategy_found(as_owner: Client, run: Run) -> None:
    said = page(as_owner, run)
    assert "<td>4</td><td>7</td>" in said
    assert "What athena found" in said
    assert '<th scope="row">0</th><td>0, 2</td>' in said
    answer = as_owner.get(f"/runs/{run.pk}/confusion/figure").json()
    assert answer["data"][0]["customdata"][4][7] == 12
    assert "4 taken for 7 12 times" in answer["description"]


def test_a_run_without_findings_has_no_empty_panels(as_owner: Client, study: Study) -> None:
    queued = lab.runs_in_order(study)[5]
    assert "Confusion matrix" not in page(as_owner, queued)
    assert as_owner.get(f"/runs/{queued.pk}/confusion/figure").status_code == 404


def test_a_failure_is_told_with_all_of_its_reason(as_owner: Client, study: Study) -> None:
    said = page(as_owner, lab.runs_in_order(study)[4])
    assert "<strong>Out of memory.</strong>" in said
    assert "Traceback" in said
    assert "Smoothing" not in said


def test_clients_are_listed_with_the_shared_one_by_name(as_owner: Client, run: Run) -> None:
    said = as_owner.get(f"/runs/{run.pk}/clients", {"sort": "-samples"}).content.decode()
    shared, first = said.index("shared"), said.index("0.2500")
    assert shared < first
    assert "clients 1 to 3 of 3" in said
    assert as_owner.get(f"/runs/{run.pk}/clients", {"sort": "nonsense", "page": "9"}).status_code == 200


def test_clients_over_the_rounds_and_who_took_part(as_owner: Client, run: Run) -> None:
    losses = as_owner.get(f"/runs/{run.pk}/clients/figure", {"number": "train_loss"}).json()
    assert [(line["name"], line["y"]) for line in losses["data"]][2] == ("client 1", [0.25])
    part = as_owner.get(f"/runs/{run.pk}/clients/figure", {"number": "participation"}).json()
    # shared, 0 and 1 in rounds 1 and 2
    assert part["data"][0]["z"] == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]


def test_costs_are_cumulated(as_owner: Client, run: Run) -> None:
    answer = as_owner.get(f"/runs/{run.pk}/costs/figure", {"kind": "traffic"}).json()
    assert [(line["name"], line["x"], line["y"]) for line in answer["data"]] == [("Upload", [1], [2.5])]
    assert as_owner.get(f"/runs/{run.pk}/costs/figure", {"kind": "?"}).json()["title"] == "Traffic, cumulated"


def test_curves_are_smoothed_without_hiding_points(as_owner: Client, run: Run) -> None:
    answer = as_owner.get(f"/runs/{run.pk}/figure", {"metric": "loss", "smooth": "0.6", "x": "log"}).json()
    assert [trace["y"] for trace in answer["data"]][1] == [2.0, 1.0, 0.5]
    assert answer["layout"]["xaxis"]["type"] == "log"
    assert "1 point has no logarithm" in answer["notes"]


def test_the_log_is_read_from_a_byte_on(as_owner: Client, run: Run, study: Study) -> None:
    assert as_owner.get(f"/runs/{run.pk}/log").json() == {
        "text": "",
        "after": 0,
        "size": 0,
        "here": False,
        "active": False,
    }
    log_file(run.pk).parent.mkdir(parents=True, exist_ok=True)
    log_file(run.pk).write_text("one\ntwo\n")
    assert as_owner.get(f"/runs/{run.pk}/log", {"after": "4"}).json()["text"] == "two\n"
    assert as_owner.get(f"/runs/{lab.runs_in_order(study)[3].pk}/log").json()["active"] is True


def test_the_spec_comes_as_yaml(as_owner: Client, run: Run) -> None:
    answer = as_owner.get(f"/runs/{run.pk}/files/spec.yaml")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="run-{run.pk}.yaml"'
    assert answer.content.decode().startswith("dataset: {name: digits")


def downloaded(path: str, person: User) -> tuple[int, bytes]:
    client = AsyncClient()

    async def read() -> tuple[int, bytes]:
        await client.aforce_login(person)
        answer: Any = await client.get(path)
        streams = isinstance(answer, StreamingHttpResponse)
        return answer.status_code, b"".join([part async for part in answer.streaming_content]) if streams else b""

    return async_to_sync(read)()


@pytest.mark.django_db(transaction=True)
def test_files_come_byte_for_byte_and_nothing_else_does(run: Run, owner: User) -> None:
    run.artifact = f"runs/{run.pk}/artifacts/t/model.safetensors"
    run.save()
    path = home() / run.artifact
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(range(256)) * 8192)
    (home() / "secret").write_text("key")
    assert downloaded(f"/runs/{run.pk}/files/model.safetensors", owner) == (200, path.read_bytes())
    for name in ("secret", "..%2F..%2Fsecret", "artifacts"):
        assert downloaded(f"/runs/{run.pk}/files/{name}", owner)[0] == 404


def test_a_run_page_asks_a_bounded_number_of_questions(
    as_owner: Client, run: Run, django_assert_max_num_queries: object
) -> None:
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        as_owner.get(f"/runs/{run.pk}")
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        as_owner.get(f"/runs/{run.pk}/clients")


def test_while_it_waits_it_says_what_will_come(as_owner: Client, study: Study) -> None:
    run = lab.moved(lab.runs_in_order(study)[5], RunState.QUEUED)
    said = page(as_owner, run)
    assert "No worker has taken this run yet." in said
    assert "written down when the run has ended" in said


def test_it_begins_with_where_it_ended_where_it_was_best_and_what_it_took(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[5]
    lab.record(run, {"accuracy": [0.1, 0.9, 0.8], "loss": [2.0, 0.5, 0.75], "seconds": [0.0, 1.5, 2.0]})
    values_write([(run.pk, 1, "bytes_up", 2_000_000)])
    values_write([(run.pk, 1, "bytes_down", 500_000)])
    head = page(as_owner, run).partition('id="run-headlines"')[2].partition("</dl>")[0]
    words = " ".join(re.sub(r"<[^>]+>", " ", head).split())
    assert words.startswith("> Test accuracy, final 80.00 % round 2 Best 90.00 % round 1 Test loss 0.7500 round 2")
    assert words.endswith("Traffic 2.5 MB all rounds together Time 3.5 s in its rounds")


def test_a_diverged_value_is_never_the_best(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[5]
    lab.record(run, {"accuracy": [0.1, math.inf, math.nan]})
    head = page(as_owner, run).partition('id="run-headlines"')[2].partition("</dl>")[0]
    assert "not finite" in head
    assert "10.00 %" in head


def test_the_chosen_metric_has_the_large_chart(as_owner: Client, run: Run) -> None:
    said = page(as_owner, run)
    assert said.count('class="chart "') == 1
    assert said.count('class="chart small"') == 1
