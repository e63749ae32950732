"""Two machines that share nothing but addresses: each worker has a home of its own, and the store is a third folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.models import Attempt, Outcome, Role, RunState, User
from experiments.queue.services.retry import run_retry
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from tests.workers.queue.runs import block, expected, state_of, stored, undisturbed
from tests.workers.queue.two_homes import check_that_the_other_goes_on, kill, name_of, two_homes
from workers.store.store import Store, remote_store

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@pytest.fixture(scope="module")
def store(machines: Path) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIBUTARY_STORE", str(machines / "store"))
        store = remote_store()
        assert store is not None
        store.create()
        yield store


@pytest.fixture(scope="module")
def platform(live_platform: LivePlatform, store: Store, machines: Path) -> Iterator[LivePlatform]:
    with two_homes(live_platform, machines):
        yield live_platform


def test_a_checkpoint_that_is_gone_fails_the_run_and_it_begins_anew_only_when_told(
    platform: LivePlatform, store: Store, owner: User
) -> None:
    run = study_launch(owner=owner, name="Gone", blocks=[block(rounds=800, local={"epochs": 2})]).runs.get()
    eventually(lambda: Attempt.objects.filter(run=run, checkpoint_round__gte=10).exists())
    attempt = Attempt.objects.get(run=run)
    # With all that it knows of the run on its disk; the other machine has nothing but the store.
    kill(platform, name_of(attempt))
    shutil.rmtree(Path(store.address) / "runs" / str(run.pk))
    eventually(lambda: state_of(run.pk) == RunState.FAILED)
    run.refresh_from_db()
    attempt.refresh_from_db()
    first_line, *refusals = run.reason.splitlines()
    assert first_line.startswith("None of the run's checkpoints can be used, and it does not begin anew by itself.")
    assert refusals == [f"{attempt.checkpoint}.json is not in the store {store.label}."]
    run_retry(run=run, actor=owner, from_start=True)
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    assert stored(run.pk) == expected(undisturbed(run))
    assert [each.outcome for each in run.attempts.all()] == [Outcome.LOST, Outcome.FAILED, Outcome.DONE]


def test_one_is_killed_and_the_other_goes_on_from_its_checkpoint_to_the_bit(
    platform: LivePlatform, store: Store, owner: User, machines: Path
) -> None:
    gone = next(name for name in ("worker-1", "worker-2") if name not in platform.processes)
    home = machines / f"machine-{gone.removeprefix('worker-')}"
    platform.start_worker(int(gone.removeprefix("worker-")), TRIBUTARY_HOME=str(home), TRIBUTARY_LEASE="5")
    check_that_the_other_goes_on(platform, store, owner, machines)
