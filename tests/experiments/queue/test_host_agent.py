"""Workers of a host write by its agent what they would write themselves, over one connection."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from django.db import OperationalError, connection

from experiments.core.errors import StaleLeaseError
from experiments.models import Attempt, Metric, Run, User, Worker
from experiments.queue.services import host_agent, leases
from experiments.queue.services.claim import run_claim
from experiments.queue.services.host_agent import AgentClient, HostAgent, host_perform, perform
from experiments.queue.services.leases import Claim, rounds_record, run_finish, run_heartbeat
from experiments.queue.services.workers import worker_beat, worker_drain, worker_enlist, worker_leave
from experiments.studies.services.launch import study_launch
from tests.experiments import lab
from workers.engine.records import RoundRecord

pytestmark = pytest.mark.django_db(transaction=True)
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@contextmanager
def agent(address: Path, connections: int = 1) -> Iterator[AgentClient]:
    stop, server = Event(), HostAgent(address, connections)
    thread = Thread(target=server.run, args=[stop])
    thread.start()
    while not address.exists():
        time.sleep(0.01)
    client = AgentClient(str(address))
    try:
        yield client
    finally:
        client.close()
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_an_agent_that_has_left_leaves_no_thread_behind(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with agent(tmp_path / "agent") as client:
        client.perform([partial(worker_enlist, name="one@here", host="here", device="cpu", threads=1)])
        assert len(set(threading.enumerate()) - before) >= 3
    deadline = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


@pytest.fixture
def runs(owner: User) -> int:
    study_launch(owner=owner, name="By an agent", blocks=[{**lab.BLOCK, "seeds": 4}])
    return 8


def records(*numbers: int) -> list[RoundRecord]:
    return [RoundRecord(number, {"accuracy": number / 4}, (0, 1), {0: {"loss": float("nan")}}) for number in numbers]


def work(client: AgentClient, number: int) -> int:
    """One worker: its name, a run, its rounds and its end."""
    facts = {"name": f"w{number}@lab", "host": "lab", "device": "cpu", "threads": 1}
    (worker,) = client.perform([partial(worker_enlist, **facts)])
    (claim,) = client.perform([partial(run_claim, worker=worker)])
    assert isinstance(claim, Claim)
    first = partial(rounds_record, claim=claim, records=records(0, 1))
    last = partial(rounds_record, claim=claim, records=records(2))
    answers = client.perform([first, partial(leases.checkpoint_record, claim=claim, path="p", round_number=1)])
    assert (answers[0].cancel, answers[0].drain, answers[1]) == (False, False, None)
    client.perform([last, partial(run_finish, claim=claim, provenance={"torch": "2"}, artifact="a")])
    client.perform([partial(worker_leave, worker=worker)])
    client.close()
    return claim.run


def test_eight_workers_share_one_connection(runs: int, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(CONNECTIONS)
        (before,) = cursor.fetchone()
        with agent(tmp_path / "a") as client, ThreadPoolExecutor(runs) as pool:
            assert len(set(pool.map(partial(work, client), range(runs)))) == runs
            cursor.execute(CONNECTIONS)
            assert cursor.fetchone() == (before + 1,)
    assert Run.objects.filter(state="done", rounds_done=2).count() == runs
    assert list(Attempt.objects.values_list("number", "outcome").distinct()) == [(1, "done")]
    assert Metric.objects.filter(name="accuracy", round=2, value=0.5).count() == runs
    assert not Worker.objects.exists()


def test_a_call_that_waits_opens_a_further_connection_for_as_long_as_there_is_need(
    runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three calls come at once; the first two are held up for half a second each."""
    monkeypatch.setattr(host_agent, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(host_agent, "SERVICES", {hold_up})
    with agent(tmp_path / "a", connections=2) as client, ThreadPoolExecutor(3) as pool:
        lanes = list(pool.map(lambda _: client.perform([partial(hold_up)])[0], range(3)))
        assert len(set(lanes)) == 2
        time.sleep(0.5)
        after = [client.perform([partial(hold_up)])[0] for _ in range(2)]
        assert after[0] == after[1]
        pool.map(lambda _: client.close(), range(3))


def hold_up() -> int:
    """The connection that it is made on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), pg_sleep(0.5)")
        return int(cursor.fetchone()[0])


@pytest.fixture
def claim(runs: int, worker: Worker) -> Claim:
    claim = run_claim(worker=worker)
    assert claim
    return claim


def test_a_run_that_went_elsewhere_is_told_as_such_and_nothing_of_the_call_counts(
    claim: Claim, worker: Worker, tmp_path: Path
) -> None:
    lost = Claim(**{**vars(claim), "token": "0" * 32})
    with agent(tmp_path / "a") as client:
        with pytest.raises(StaleLeaseError):
            client.perform([partial(run_heartbeat, claim=lost)])
        with pytest.raises(StaleLeaseError):
            client.perform([partial(rounds_record, claim=each, records=records(0)) for each in (claim, lost)])
        assert not Metric.objects.exists()
        assert client.perform([partial(worker_beat, worker=worker, rounds_per_second=2.5)]) == [True]


def test_it_does_nothing_but_what_workers_do(claim: Claim, worker: Worker, admin: User, tmp_path: Path) -> None:
    drain = partial(worker_drain, worker=worker, actor=admin)
    with agent(tmp_path / "a") as client, pytest.raises(RuntimeError, match="worker_drain is not for workers"):
        client.perform([partial(run_heartbeat, claim=claim), drain])
    assert not Worker.objects.get().draining


def test_an_agent_that_is_away_is_a_database_that_is_away(claim: Claim, tmp_path: Path) -> None:
    beat = partial(run_heartbeat, claim=claim)
    address = tmp_path / "a"
    with agent(address) as client:
        client.perform([beat])
    with pytest.raises(OperationalError, match="The agent of this host does not answer"):
        client.perform([beat])
    with agent(address) as first:
        assert client.perform([beat])[0].cancel is False
        first.close()
        client.close()


def test_a_worker_that_was_idle_while_the_agent_was_replaced_notices_nothing(claim: Claim, tmp_path: Path) -> None:
    beat = partial(run_heartbeat, claim=claim)
    with agent(tmp_path / "a") as client:
        client.perform([beat])
        with socket.socket(fileno=os.dup(client.own.agent.fileno())) as idle:
            idle.shutdown(socket.SHUT_RDWR)
        assert client.perform([beat])[0].cancel is False


def test_without_an_agent_a_worker_has_its_own_connection(claim: Claim) -> None:
    assert host_perform("") is perform
    with pytest.raises(StaleLeaseError):
        perform([partial(run_heartbeat, claim=each) for each in (claim, Claim(**{**vars(claim), "token": "0" * 32}))])
