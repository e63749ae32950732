"""Workers alone, as a further machine or a container starts them."""

import signal
import subprocess
import sys
import time

import psutil
import pytest
from config.env import ROOT
from django.db import connection

from experiments.models import Attempt, User, Worker
from experiments.studies.services.launch import study_launch
from tests.live import eventually

PATIENCE = 120


@pytest.fixture
def owner(transactional_db):
    return User.objects.create(username="owner", role="member")


@pytest.fixture
def without_workers(live_platform):
    """Those of the platform may have ended for the test before."""
    if "worker-1" in live_platform.processes:
        live_platform.stop("worker-1")
    return live_platform


def command(*arguments):
    return [sys.executable, str(ROOT / "manage.py"), "workers", *arguments]


def test_workers_alone_join_the_platform_and_leave_it(without_workers):
    environment = without_workers.environment | {"WORKERS": "1"}

    def check():
        return subprocess.run(command("--check"), env=environment, capture_output=True, text=True, check=False)

    absent = check()
    assert absent.returncode == 1
    assert absent.stderr == "CommandError: No worker of this machine has been heard of lately.\n"

    with subprocess.Popen(command("--name", "spare"), env=environment, stderr=subprocess.DEVNULL) as host:
        deadline = time.monotonic() + PATIENCE
        while check().returncode:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        family = psutil.Process(host.pid).children(recursive=True)
        host.send_signal(signal.SIGTERM)
        assert host.wait(PATIENCE) == 0
        assert psutil.wait_procs(family, timeout=0)[1] == []
    assert check().returncode == 1


def test_several_workers_write_by_an_agent_and_outlast_its_death(without_workers, owner):
    """Runs notice nothing: each has one attempt. While they are at work nobody but the agent has a connection."""
    environment = without_workers.environment | {"WORKERS": "2", "PGAPPNAME": "pair"}
    block = {"dataset": {"name": "digits"}, "model": {"name": "mlp-50"}, "strategy": {"name": "fedavg"}}
    study = study_launch(owner=owner, name="By an agent", blocks=[{**block, "clients": 20, "rounds": 1000, "seeds": 2}])
    with subprocess.Popen(command("--name", "pair"), env=environment, stderr=subprocess.DEVNULL) as host:
        eventually(lambda: study.runs.filter(rounds_done__gt=3).count() == 2)
        (agent,) = [each for each in psutil.Process(host.pid).children() if "agent" in each.cmdline()]
        assert connections() == 1
        agent.kill()
        assert study.runs.filter(state="running", rounds_done__lt=1000).count() == 2
        eventually(lambda: study.runs.filter(state="done").count() == 2)
        host.send_signal(signal.SIGTERM)
        assert host.wait(PATIENCE) == 0
    assert list(Attempt.objects.values_list("number", "outcome")) == [(1, "done")] * 2
    assert not Worker.objects.filter(name__startswith="pair").exists()


def connections():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pair'")
        return cursor.fetchone()[0]
