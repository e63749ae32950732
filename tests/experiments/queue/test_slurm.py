"""What is asked of Slurm, and how many jobs; a real cluster is in `slurm_cluster.py` (`make integration`)."""

from __future__ import annotations

import os
import sys
from io import StringIO
from pathlib import Path

import pytest
from config.env import ROOT
from config.worker_host import are_idle
from django.core.management import call_command
from pytest_django import Settings

from experiments.models import User, Worker
from experiments.queue.services.leases import run_finish
from experiments.queue.services.slurm import (
    SlurmError,
    SlurmJob,
    SlurmJobs,
    active_jobs,
    batch_command,
    batch_environment,
    batch_script,
    jobs_to_start,
    start_needed_jobs,
    waiting_runs,
)
from experiments.queue.services.workers import worker_beat, worker_enlist
from tests.experiments.queue.claims import Block, claimed, launch

JOBS = SlurmJobs(partition="gpu", gpus=2, cpus=8, minutes=90, workers=2, most=4, options=("--account=lab",))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs with Slurm's names: sbatch writes down what it was asked, squeue says what the file `queue` has."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    programs = {
        "sbatch": f'cat > {folder}/script; echo "$@" > {folder}/asked; env > {folder}/environment; echo "41;cluster"',
        "squeue": f"cat {folder}/queue",
    }
    for name, lines in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)
    (folder / "queue").write_text("")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    return folder


def test_a_job_is_asked_for_with_all_it_needs_and_nothing_secret(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    settings.DATABASE_URL = "postgresql://lab:secret@db/lab"
    assert batch_command(JOBS) == [
        "sbatch",
        "--parsable",
        "--job-name=tributary",
        "--time=90",
        "--cpus-per-task=8",
        "--signal=B:TERM@120",
        f"--output={tmp_path}/logs/slurm-%j.log",
        "--partition=gpu",
        "--gres=gpu:2",
        "--account=lab",
    ]
    assert batch_script(JOBS) == (
        f"#!/bin/sh\nexec {sys.executable} {ROOT}/manage.py workers --name slurm-$SLURM_JOB_ID --idle 60\n"
    )
    environment = batch_environment(JOBS)
    assert (environment["DATABASE_URL"], environment["WORKERS"]) == ("postgresql://lab:secret@db/lab", "2")
    assert environment["TRIBUTARY_HOME"] == str(tmp_path)
    assert batch_environment(SlurmJobs(home="/scratch/tributary"))["TRIBUTARY_HOME"] == "/scratch/tributary"


def test_a_job_that_would_only_hand_back_is_refused() -> None:
    with pytest.raises(SlurmError, match="must last longer"):
        SlurmJobs(minutes=2, drain_seconds=120)


@pytest.mark.parametrize(
    ("waiting", "idle", "active", "coming", "started"),
    [
        (0, 0, 0, 0, 0),
        (1, 0, 0, 0, 1),
        (3, 0, 0, 0, 2),  # two workers in each
        (3, 1, 0, 0, 1),  # one is idle and takes one
        (3, 0, 1, 1, 1),  # one job is on its way, for two runs
        (3, 0, 1, 0, 2),  # it is there and busy
        (100, 0, 0, 0, 4),  # at most four
        (100, 0, 4, 0, 0),
        (1, 5, 0, 0, 0),
    ],
)
def test_as_many_jobs_are_started_as_waiting_runs_need(
    waiting: int, idle: int, active: int, coming: int, started: int
) -> None:
    assert jobs_to_start(JOBS, waiting=waiting, idle=idle, active=active, coming=coming) == started


def test_jobs_are_read_as_squeue_tells_them(cluster: Path) -> None:
    (cluster / "queue").write_text("41 RUNNING\n42 PENDING\n")
    assert active_jobs(JOBS) == [SlurmJob("41", "RUNNING"), SlurmJob("42", "PENDING")]


@pytest.mark.django_db
def test_waiting_work_starts_jobs_and_those_that_are_coming_count(
    cluster: Path, owner: User, block: Block, settings: Settings
) -> None:
    one_each = SlurmJobs(most=3)
    launch(owner, {**block, "strategy": {"name": "fedavg"}, "seeds": 2})
    assert waiting_runs(one_each) == 2
    assert start_needed_jobs(one_each) == ["41", "41"]
    assert "--job-name=tributary" in (cluster / "asked").read_text()
    assert (cluster / "script").read_text() == batch_script(one_each)
    assert f"DATABASE_URL={settings.DATABASE_URL}\n" in (cluster / "environment").read_text()
    (cluster / "queue").write_text("41 RUNNING\n42 PENDING\n")
    assert start_needed_jobs(one_each) == []
    # 41 has come and is idle: it takes one, 42 the other. Once it takes no more, a third is needed.
    facts = {"slurm_job": "41"}
    worker = worker_enlist(name="slurm-41-1@node", host="node", device="cpu", threads=1, facts=facts)
    assert start_needed_jobs(one_each) == []
    Worker.objects.filter(pk=worker.pk).update(draining=True)
    assert start_needed_jobs(one_each) == ["41"]


def test_what_slurm_refuses_is_told_in_its_words(cluster: Path) -> None:
    (cluster / "squeue").write_text("#!/bin/sh\necho 'squeue: error: no such partition' >&2\nexit 1\n")
    with pytest.raises(SlurmError, match=r"^squeue: squeue: error: no such partition$"):
        active_jobs(JOBS)


def test_a_machine_without_slurm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SlurmError, match=r"run `manage.py slurm` where jobs are submitted"):
        active_jobs(JOBS)


def test_the_command_shows_what_it_would_submit() -> None:
    out = StringIO()
    call_command("slurm", "--partition", "long", "--minutes", "30", "--dry-run", stdout=out)
    first, _, shebang, script = out.getvalue().splitlines()
    assert "--time=30" in first
    assert "--partition=long" in first
    assert (shebang, script.endswith("--name slurm-$SLURM_JOB_ID --idle 60")) == ("#!/bin/sh", True)


@pytest.mark.django_db
def test_workers_of_a_job_are_idle_when_all_are_known_and_none_has_a_run(owner: User, block: Block) -> None:
    names = ["slurm-41-1@node", "slurm-41-2@node"]
    first = worker_enlist(name=names[0], host="node", device="cpu", threads=1)
    assert not are_idle(names)
    second = worker_enlist(name=names[1], host="node", device="cpu", threads=1)
    assert are_idle(names)
    launch(owner, {**block, "strategy": {"name": "fedavg"}, "seeds": 1})
    claim = claimed(first)
    assert not are_idle(names)
    run_finish(claim=claim, provenance={})
    assert are_idle(names)
    worker_beat(worker=second, rounds_per_second=0.5)
    assert not are_idle(names)
