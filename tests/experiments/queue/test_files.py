from pathlib import Path

import pytest

from experiments.models import Run, User, Worker
from experiments.queue.services.leases import Claim, run_finish, run_release
from experiments.queue.services.retention import remove_stale_files
from tests.experiments.queue.claims import Block, claimed, launch
from workers.home import artifact_folder, checkpoint_folder


@pytest.fixture
def claim(owner: User, worker: Worker, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Claim:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    launch(owner, block)
    claim = claimed(worker)
    checkpoint_folder(claim.run).mkdir(parents=True)
    artifact_folder(claim.run, claim.token).mkdir(parents=True)
    return claim


def left(claim: Claim) -> tuple[bool, bool]:
    return checkpoint_folder(claim.run).exists(), artifact_folder(claim.run, claim.token).exists()


def test_a_model_of_an_attempt_that_lost_its_run_goes_and_checkpoints_stay_for_the_next(claim: Claim) -> None:
    run_release(claim=claim)
    remove_stale_files(claim)
    assert left(claim) == (True, False)


def test_checkpoints_that_came_after_the_end_go_and_the_stored_model_stays(claim: Claim) -> None:
    run_finish(claim=claim, provenance={}, artifact=f"runs/{claim.run}/artifacts/{claim.token.hex}/model.safetensors")
    remove_stale_files(claim)
    assert left(claim) == (False, True)


def test_nothing_stays_of_a_run_that_was_deleted(claim: Claim) -> None:
    Run.objects.filter(pk=claim.run).delete()
    remove_stale_files(claim)
    assert left(claim) == (False, False)
