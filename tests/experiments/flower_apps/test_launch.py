"""Studies of a lab's own Flower app: launched, kept apart by version, tried again, estimated."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments.models import Run, RunState, Study, User
from experiments.queue.services import leases
from experiments.queue.services.claim import run_claim
from experiments.queue.services.rehash import queued_runs_rehash
from experiments.queue.services.retry import run_retry
from experiments.queue.services.workers import worker_enlist
from experiments.results.selectors.identity import runs_that_change
from experiments.studies.services.launch import study_launch, study_plan
from tests.experiments import lab
from tests.experiments.conftest import EXAMPLES
from workers.apps.library import find_app, find_version
from workers.apps.package import AppError
from workers.engine.records import RoundRecord
from workers.errors import SpecError


@pytest.fixture
def copied(apps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app in a folder where it can be changed."""
    folder = tmp_path / "apps" / "numpy-least-squares"
    shutil.copytree(EXAMPLES / "numpy-least-squares", folder)
    monkeypatch.setenv("TRIBUTARY_APPS", str(folder.parent))
    return folder


def change(folder: Path) -> None:
    (folder / "NOTES.txt").write_text("Something else by now.")


def test_a_grid_of_an_apps_config_becomes_runs_with_all_of_its_config(apps: Path, owner: User) -> None:
    runs = lab.runs_in_order(lab.launched_app(owner))
    assert len(runs) == 9
    assert [(run.spec["app"]["config"]["learning-rate"], run.seed) for run in runs[:4]] == [
        (0.01, 0),
        (0.01, 1),
        (0.01, 2),
        (0.1, 0),
    ]
    assert runs[0].spec == {
        "app": {
            "name": "numpy-least-squares",
            "config": {"num-server-rounds": 2, "learning-rate": 0.01, "local-steps": 5, "num-examples": 40},
            "clients": 4,
            "metrics": {},
        },
        "seed": 0,
        "engine": "auto",
    }
    assert {run.rounds_total for run in runs} == {2}
    assert len({run.cell for run in runs}) == 3


def test_an_app_that_does_not_say_how_many_rounds_it_has_begins_with_one(apps: Path, owner: User) -> None:
    blocks = [{"app": {"name": "federated-analytics"}}]
    (run,) = lab.runs_in_order(study_launch(owner=owner, name="Analytics", blocks=blocks))
    assert run.rounds_total == 1


def test_a_launch_keeps_the_version_of_the_app(copied: Path, owner: User) -> None:
    version = find_app("numpy-least-squares").hash
    with pytest.raises(AppError, match="not in this TRIBUTARY_HOME"):
        find_version("numpy-least-squares", version)
    (run, *_) = lab.runs_in_order(lab.launched_app(owner))
    assert run.launch_sources["versions"] == {"app": version}
    change(copied)
    assert find_version("numpy-least-squares", version).hash == version


def test_a_newer_version_makes_new_runs_and_leaves_the_old_ones_as_they_are(copied: Path, owner: User) -> None:
    old = lab.runs_in_order(lab.launched_app(owner))
    lab.moved(old[0], RunState.FAILED, "It raised.")
    change(copied)
    assert runs_that_change([run.pk for run in old]) == set()
    assert queued_runs_rehash() == 0
    again = run_retry(run=old[0], actor=owner)
    assert (again.pk, again.state) == (old[0].pk, "queued")
    new = lab.runs_in_order(lab.launched_app(owner, "The same again"))
    assert not {run.pk for run in new} & {run.pk for run in old}


def test_a_run_whose_version_is_gone_is_launched_anew(copied: Path, apps: Path, owner: User) -> None:
    old = lab.runs_in_order(lab.launched_app(owner))[0]
    lab.moved(old, RunState.FAILED, "It raised.")
    change(copied)
    shutil.rmtree(apps)
    assert runs_that_change([old.pk]) == {old.pk}
    successor = run_retry(run=old, actor=owner)
    assert successor.pk != old.pk
    assert successor.launch_sources["versions"] == {"app": find_app("numpy-least-squares").hash}


def test_equal_runs_of_an_app_are_shared(apps: Path, owner: User, stranger: User) -> None:
    first = lab.launched_app(owner)
    second = lab.launched_app(stranger)
    assert lab.runs_in_order(first) == lab.runs_in_order(second)


def test_every_mistake_is_told_at_its_place(apps: Path, owner: User) -> None:
    app = {"name": "numpy-least-squares", "config": {"learning-rate": ["fast"], "epochs": 3, "seed": 4}}
    with pytest.raises(SpecError) as refusal:
        study_launch(owner=owner, name="Wrong", blocks=[{"app": app, "strategy": {"name": "fedavg"}, "seeds": 1}])
    assert {problem.path: problem.message for problem in refusal.value.errors} == {
        "blocks.0.app.config.epochs": "Unknown field. numpy-least-squares takes num-server-rounds, learning-rate, "
        "local-steps, num-examples, seed.",
        "blocks.0.app.config.learning-rate.0": "A number, as the app's default is, got 'fast'.",
        "blocks.0.app.config.seed": "The run's own seed is put there: give `seeds` instead.",
        "blocks.0.strategy": "A run of an app has app, seed and engine only: the app brings its own data, model "
        "and strategy.",
    }


def test_a_plan_of_an_app_that_nobody_ran_is_a_guess(apps: Path, owner: User) -> None:
    plan = study_plan(owner=owner, blocks=[lab.APP_BLOCK])
    assert (plan.runs, plan.cells, plan.reused, plan.bytes, plan.missing) == (9, 3, 0, 0, ())
    # 2 rounds x 4 clients x 0.02 s + 1 s to start, from a fifth to five times as long, 9 times over.
    assert plan.estimate.basis == "guessed"
    assert (plan.estimate.low_seconds, plan.estimate.high_seconds) == (2.1, 52.2)


def test_a_plan_of_an_app_that_was_run_follows_its_rounds(app_study: Study, owner: User) -> None:
    app = {**lab.APP_BLOCK["app"], "config": {"num-server-rounds": 20}}
    plan = study_plan(owner=owner, blocks=[{"app": app}])
    # 2 s in 2 rounds: 20 s in 20 rounds, and 28 of the 30 s outside of rounds.
    assert plan.estimate.basis == "measured"
    assert (plan.estimate.low_seconds, plan.estimate.high_seconds) == (40.8, 57.6)


def test_the_rounds_of_an_app_are_counted_as_they_come(apps: Path, owner: User) -> None:
    blocks = [{"app": {"name": "federated-analytics"}}]
    study_launch(owner=owner, name="Analytics", blocks=blocks)
    worker = worker_enlist(name="worker-1@lab", host="lab", device="cpu", threads=1)
    claim = run_claim(worker=worker)
    assert claim is not None
    leases.rounds_record(claim=claim, records=[RoundRecord(5, {"mean": 1.5}, (0, 1), {})])
    run = Run.objects.get(pk=claim.run)
    assert (run.rounds_done, run.rounds_total) == (5, 5)
    leases.run_finish(claim=claim, provenance={}, artifact=None)
    run.refresh_from_db()
    assert (run.state, run.rounds_done, run.rounds_total, run.artifact) == ("done", 5, 5, "")


def test_an_app_that_ends_earlier_than_its_config_says_is_done_nevertheless(apps: Path, owner: User) -> None:
    blocks = [{"app": {"name": "numpy-least-squares", "config": {"num-server-rounds": 50}}}]
    study_launch(owner=owner, name="Early", blocks=blocks)
    claim = run_claim(worker=worker_enlist(name="worker-1@lab", host="lab", device="cpu", threads=1))
    assert claim is not None
    leases.rounds_record(claim=claim, records=[RoundRecord(7, {"loss": 0.5}, (0,), {})])
    leases.run_finish(claim=claim, provenance={}, artifact=None)
    run = Run.objects.get(pk=claim.run)
    assert (run.rounds_done, run.rounds_total) == (7, 7)
