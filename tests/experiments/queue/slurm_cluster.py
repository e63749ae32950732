"""Workers as jobs of a real Slurm cluster of one node, started here. Part of `make integration`.

Its controller, its node and munge run from a folder of their own, on free ports, and are gone afterwards.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from config.services.server import port_of, reserve_port
from django.db import connection
from django.test import Client
from pytest_django import Settings

from experiments.models import Attempt, Outcome, Role, Round, Run, RunState, User, Worker
from experiments.queue.selectors.workers import living_workers
from experiments.queue.services.slurm import SlurmJobs, active_jobs, start_needed_jobs
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, database_url, eventually
from tests.workers.queue.runs import block, far_enough, state_of

pytestmark = pytest.mark.django_db(transaction=True)
CONFIGURATION = """
ClusterName=tributary
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder, host = tmp_path_factory.mktemp("slurm"), socket.gethostname().partition(".")[0]
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o755)
    key, configuration = folder / "munge" / "key", folder / "slurm.conf"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    with reserve_port() as first, reserve_port() as second:
        ports = {"controller": port_of(first), "node": port_of(second)}
    configuration.write_text(CONFIGURATION.format(folder=folder, host=host, **ports))
    places = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    munge = ["munged", "--foreground", "--force", *(f"--{flag}={folder}/munge/{name}" for flag, name in places.items())]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(configuration))
        for name, command in (("munge", munge), ("controller", ["slurmctld", "-D"]), ("node", ["slurmd", "-D"])):
            log = stack.enter_context((folder / f"{name}.out").open("wb"))
            stack.callback(end, subprocess.Popen(command, stdout=log, stderr=log))
            if name == "munge":
                eventually((folder / "munge" / "socket").exists, 20)
        eventually(node_is_idle, 60)
        yield folder
        subprocess.run(["scancel", "--me", "--full"], check=False)
        eventually(node_is_idle, 60)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def node_is_idle() -> bool:
    done = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, check=False)
    return done.stdout.strip() == "idle"


@pytest.fixture
def jobs(
    cluster: Path, live_platform: LivePlatform, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SlurmJobs:
    live_platform.stop("worker-1")
    settings.DATABASE_URL = database_url(connection.settings_dict["NAME"])
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)
    home = str(live_platform.home.path)
    return SlurmJobs(partition="main", minutes=30, drain_seconds=60, idle_seconds=5, home=home)


def test_runs_go_from_job_to_job_and_the_last_one_ends(
    jobs: SlurmJobs, client: Client, live_platform: LivePlatform
) -> None:
    owner = User.objects.create(username="owner", role=Role.MEMBER)
    client.force_login(owner)
    study = study_launch(owner=owner, name="Long", blocks=[block(rounds=100_000, local={"epochs": 20})])
    run = study.runs.get()
    (first,) = start_needed_jobs(jobs)
    # It is on its way, and then at the run: no other is needed.
    assert start_needed_jobs(jobs) == []
    eventually(lambda: far_enough(run.pk, 5), 400)
    assert start_needed_jobs(jobs) == []
    (worker,) = living_workers()
    assert worker.name == f"slurm-{first}-1@{socket.gethostname()}"
    assert worker.facts["slurm_job"] == first
    assert f"Slurm job {first}" in client.get("/workers").content.decode()

    # Some time before its limit it hands the run back; its place is free for the next job once it is gone.
    subprocess.run(["scontrol", "update", f"JobId={first}", "EndTime=now+2minutes"], check=True)
    eventually(lambda: Attempt.objects.filter(run=run, number=1).exclude(ended=None).exists(), 300)
    handed_back = Attempt.objects.get(run=run, number=1)
    assert handed_back.outcome == Outcome.RELEASED
    assert handed_back.checkpoint_round
    assert state_of(run.pk) == RunState.QUEUED
    started: list[str] = []
    eventually(lambda: bool(started.extend(start_needed_jobs(jobs)) or started), 120)
    assert started == [str(int(first) + 1)]
    eventually(lambda: far_enough(run.pk, handed_back.checkpoint_round + 5), 400)
    again = Attempt.objects.get(run=run, number=2)
    assert again.worker == f"slurm-{started[0]}-1@{socket.gethostname()}"

    # With nothing left to do the job ends by itself, and every round was stored once.
    study_cancel(study=study, actor=owner)
    eventually(lambda: active_jobs(jobs) == [], 120)
    assert not Worker.objects.exists()
    numbers = list(Round.objects.filter(run=run).order_by("round").values_list("round", flat=True))
    assert numbers == list(range(len(numbers)))
    assert Run.objects.get(pk=run.pk).state == RunState.CANCELLED
    assert start_needed_jobs(jobs) == []
