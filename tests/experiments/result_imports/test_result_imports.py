"""Results of elsewhere over REST: looked at first, in once however often, and out again."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from experiments.models import AuditEntry, Job, Metric, Run, RunState, Study, User
from tests.experiments import lab

API = "/api/v1/imports"
ROUNDS = [{"round": 1, "metrics": {"accuracy": 0.5, "loss": "NaN"}}, {"round": 2, "metrics": {"accuracy": 0.75}}]


def source_run(name: str, **changes: Any) -> dict[str, Any]:
    return {"study": "Old", "name": name, "config": {"mu": 0.1}, "rounds": ROUNDS, **changes}


def bring(client: Client, *runs: dict[str, Any], status: int = 200, query: str = "") -> Any:
    body = {"kind": "csv", "source": "old.csv", "runs": runs}
    answer = client.post(f"{API}{query}", body, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_runs_come_in_whole_and_once(as_owner: Client) -> None:
    runs = [source_run("a", seed=3), source_run("b", failed=True)]
    plan = bring(as_owner, *runs, query="?dry_run=true")
    assert (plan["new"], plan["known"], [each["outcome"] for each in plan["runs"]]) == (2, 0, ["new", "new"])
    assert not Study.objects.exists()
    first = bring(as_owner, *runs)
    assert (first["new"], first["known"]) == (2, 0)
    again = bring(as_owner, *runs)
    assert (again["new"], again["known"]) == (0, 2)
    assert [each["id"] for each in again["runs"]] == [each["id"] for each in first["runs"]]

    study = Study.objects.get()
    assert (study.name, study.origin, study.runs.count()) == ("Old", "logged", 2)
    a, b = study.runs.order_by("pk")
    assert (a.state, a.seed, a.rounds_done, a.rounds_total) == (RunState.DONE, 3, 2, 2)
    assert (b.state, b.reason) == (RunState.FAILED, "It did not finish where it was computed.")
    assert a.cell == b.cell
    values = {(each.round, each.name): str(each.value) for each in Metric.objects.filter(run=a)}
    assert values == {(1, "accuracy"): "0.5", (1, "loss"): "nan", (2, "accuracy"): "0.75"}
    told = a.provenance["logged"]
    assert (told["imported"], told["source"], told["run"]) == ("csv", "old.csv", "a")
    (entry,) = AuditEntry.objects.filter(action="study.import")
    assert (entry.subject, entry.detail) == (f"study {study.pk}", {"source": "old.csv", "runs": 2})


def test_a_run_whose_source_has_changed_is_told_and_nothing_of_its_request_comes_in(as_owner: Client) -> None:
    bring(as_owner, source_run("a"))
    changed = source_run("a", rounds=[{"round": 1, "metrics": {"accuracy": 0.6}}])
    plan = bring(as_owner, changed, source_run("b"), query="?dry_run=true")
    assert [each["outcome"] for each in plan["runs"]] == ["changed", "new"]
    answer = bring(as_owner, changed, source_run("b"), status=422)
    assert [each["path"] for each in answer["errors"]] == ["runs.0"]
    assert Run.objects.count() == 1


def test_seeds_are_those_of_the_config_or_made_of_names(as_owner: Client) -> None:
    seeded = source_run("a", config={"mu": 0.1, "seed": 7})
    answer = bring(as_owner, seeded, source_run("b"), source_run("c"), source_run("d", config={}))
    seeds = [each["seed"] for each in answer["runs"]]
    assert (seeds[0], seeds[3]) == (7, 0)
    # One cell: runs of one config without a seed are repetitions of each other.
    assert len({seeds[1], seeds[2]}) == 2
    cells = list(Run.objects.order_by("pk").values_list("cell", flat=True))
    assert (cells[0] == cells[1] == cells[2], cells[3] in cells[:3]) == (True, False)
    assert [run.spec["app"]["config"] for run in Run.objects.order_by("pk")] == [{"mu": 0.1}] * 3 + [{"run": "d"}]


@pytest.mark.parametrize(
    ("runs", "path"),
    [
        ([], "runs"),
        ([source_run(" ")], "runs.0.name"),
        ([source_run("a"), source_run("a")], "runs.1.name"),
        ([source_run("a", study=" ")], "runs.0.study"),
        ([source_run("a"), source_run("b", config={" ": 1})], "runs.1.config. "),
        ([source_run("a", rounds=[{"round": 1, "metrics": {" ": 1.0}}])], "runs.0.rounds.0.metrics. "),
        ([source_run("a", rounds=[{"round": -1, "metrics": {}}])], "runs.0.rounds.0.round"),
        ([source_run("a", seed=-1)], "runs.0.seed"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(as_owner: Client, runs: list[dict[str, Any]], path: str) -> None:
    answer = bring(as_owner, *runs, status=422)
    assert path in [each["path"] for each in answer["errors"]], answer
    assert not Run.objects.exists()


def test_letters_that_a_database_does_not_take_are_replaced(as_owner: Client) -> None:
    bring(as_owner, source_run("a\x00b", study="O\x00ld", config={"mu\x00": "x\x00"}))
    run = Run.objects.get()
    assert (run.provenance["logged"]["run"], run.spec["app"]["config"]) == (
        "a\N{REPLACEMENT CHARACTER}b",
        {"mu\N{REPLACEMENT CHARACTER}": "x\N{REPLACEMENT CHARACTER}"},
    )


def test_an_import_is_taken_back_whole(as_owner: Client, browsers: dict[str, Client]) -> None:
    study = bring(as_owner, source_run("a"), source_run("b"))["runs"][0]["study_id"]
    assert browsers["stranger"].delete(f"{API}/{study}").status_code == 403
    answer = as_owner.delete(f"{API}/{study}")
    assert (answer.status_code, answer.json()) == (202, {"runs": 2})
    assert Job.objects.get().kind == "deletion"
    assert not Study.objects.exists()
    # Until it is gone the same runs wait; afterwards they are new.
    assert "still being deleted" in bring(as_owner, source_run("a"), status=409)["detail"]


def test_what_was_computed_or_logged_is_no_import(as_owner: Client, owner: User) -> None:
    computed = lab.launched(owner)
    assert as_owner.delete(f"{API}/{computed.pk}").status_code == 409
    bring(as_owner, source_run("a"))
    start = {"study": "Old", "config": {}}
    assert as_owner.post("/api/v1/logged-runs", start, content_type="application/json").status_code == 201
    answer = as_owner.delete(f"{API}/{Study.objects.get(name='Old').pk}")
    assert (answer.status_code, "was not imported. Nothing was deleted" in answer.json()["detail"]) == (409, True)


def test_a_long_run_is_one_request_and_more_values_are_refused(as_owner: Client) -> None:
    def rounds(count: int) -> list[dict[str, Any]]:
        return [{"round": number, "metrics": dict.fromkeys("abcdefghij", 0.5)} for number in range(count)]

    bring(as_owner, source_run("a", rounds=rounds(5_500)))
    assert Metric.objects.count() == 55_000
    answer = bring(as_owner, source_run("b", rounds=rounds(10_001)), status=422)
    assert answer["errors"] == [
        {"path": "runs", "message": "At most 100,000 values at once: send the others after them."}
    ]


def test_a_study_of_imported_runs_has_no_more_runs_than_others(as_owner: Client, settings: Any) -> None:
    settings.MAX_RUNS = 2
    bring(as_owner, source_run("a"))
    answer = bring(as_owner, source_run("b"), source_run("c"), status=422)
    assert answer["detail"] == "A study has at most 2 runs: give another name."
    assert bring(as_owner, source_run("b"), source_run("c", study="Another"))["new"] == 2


def test_the_runs_of_one_config_are_one_block(as_owner: Client) -> None:
    bring(as_owner, source_run("a", seed=1), source_run("b", seed=0), source_run("c", config={"mu": 1.0}, seed=0))
    bring(as_owner, source_run("d", seed=5))
    assert Study.objects.get().blocks == [
        {"app": {"name": "Old", "config": {"mu": 0.1}}, "seeds": [0, 1, 5]},
        {"app": {"name": "Old", "config": {"mu": 1}}, "seeds": [0]},
    ]
