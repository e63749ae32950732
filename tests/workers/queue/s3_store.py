"""Two machines and a store that speaks S3, over a cable that can be cut. Part of `make integration`.

The server is moto's, a process of its own; the client is fsspec's. The machines share three addresses and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from config.services.server import port_of, reserve_port

from benchmarks.faults.proxy import Proxy
from experiments.models import Outcome, Role, Run, RunState, User
from experiments.results.selectors.files import kept_files
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from tests.workers.apps.driver import example, run_app
from tests.workers.apps.reference import EXAMPLES
from tests.workers.queue.runs import block, expected, state_of, stored, undisturbed
from tests.workers.queue.two_homes import check_that_the_other_goes_on, two_homes
from workers.catalog import load_catalog
from workers.datasets.npz import Npz
from workers.store.datasets import datasets_publish
from workers.store.store import Store, StoreAwayError, remote_store

pytestmark = pytest.mark.django_db(transaction=True)
BUCKET = "lab"


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """Its port."""
    with reserve_port() as holder:
        port = port_of(holder)
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: has_bucket(port), 60)
        yield port
    finally:
        process.terminate()
        process.wait()


def has_bucket(port: int) -> bool:
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
        with urllib.request.urlopen(request, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def cable(server: int) -> Iterator[Proxy]:
    cable = Proxy(("127.0.0.1", server))
    yield cable
    cable.close()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@pytest.fixture(scope="module")
def store(cable: Proxy) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{cable.port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "lab")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nobody's")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("TRIBUTARY_STORE", f"s3://{BUCKET}/tributary")
        store = remote_store()
        assert store is not None
        with pytest.raises(StoreAwayError, match=r"is no store of Tributary"):
            store.check()
        store.create()
        yield store


@pytest.fixture(scope="module")
def platform(live_platform: LivePlatform, store: Store, machines: Path) -> Iterator[LivePlatform]:
    with two_homes(live_platform, machines):
        yield live_platform


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


def test_runs_go_on_while_the_cable_is_cut_and_end_when_it_is_whole(
    platform: LivePlatform, store: Store, cable: Proxy, owner: User
) -> None:
    cable.cut()
    try:
        run = study_launch(owner=owner, name="Cut off", blocks=[block(rounds=25)]).runs.get()
        # All its rounds are told; it is not over before its model is where another machine finds it.
        eventually(lambda: Run.objects.filter(pk=run.pk, rounds_done=25).exists())
        time.sleep(2)
        assert state_of(run.pk) == RunState.RUNNING
        assert run.attempts.get().checkpoint == ""
    finally:
        cable.heal()
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    run.refresh_from_db()
    assert stored(run.pk) == expected(undisturbed(run))
    assert run.attempts.get().outcome == Outcome.DONE
    assert store.has_bundle(run.artifact.rpartition("/")[0])


def test_one_is_killed_and_the_other_goes_on_with_data_that_came_by_themselves(
    platform: LivePlatform, store: Store, owner: User, machines: Path, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    flowers = tmp_path / "flowers.npz"
    np.savez(flowers, x=random.normal(size=(600, 16)).astype("float32"), y=np.arange(600) % 3)
    npz = load_catalog().datasets["npz"]
    assert isinstance(npz, Npz)
    npz.import_from(flowers)
    assert datasets_publish() == ["npz-flowers"]
    own = {"dataset": {"name": "npz", "file": "flowers"}, "evaluation": {"on": "clients"}}
    check_that_the_other_goes_on(platform, store, owner, machines, rounds=400, **own)
    here = [(machine / "datasets" / "npz-flowers" / "manifest.json").exists() for machine in sorted(machines.iterdir())]
    assert here == [True, True]


def test_an_app_comes_by_its_hash_and_its_files_go_to_the_store(
    platform: LivePlatform, store: Store, owner: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_APPS", str(EXAMPLES))
    own = {"app": {"name": "writes-files", "config": {}, "clients": 5}, "seed": 3}
    run = study_launch(owner=owner, name="An app", blocks=[own]).runs.get()
    assert store.folders("apps/writes-files") == [example("writes-files").hash]
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    run.refresh_from_db()
    alone = run_app(example("writes-files"), tmp_path, seed=3)
    told = {
        (number, name): value for number, (metrics, _, _) in alone.numbers.items() for name, value in metrics.items()
    }
    assert {key: repr(value) for key, value in stored(run.pk).items()} == told
    files = kept_files(run)
    assert "files/model.npz" in files
    assert files["files/history.csv"].path().read_text().startswith("round")
