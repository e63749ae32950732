"""What a run needs on its machine before it can begin: its data set, its app, and a checkpoint to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.queue.attempt_files import AttemptFiles, Resumable
from workers.spec import is_app
from workers.store.apps import app_bring, is_app_here
from workers.store.datasets import dataset_bring, is_dataset_here
from workers.store.store import remote_store

if TYPE_CHECKING:
    from experiments.queue.services.leases import Claim


def inputs_are_here(claim: Claim) -> bool:
    """Whether the store need not be asked."""
    if remote_store() is None:
        return True
    if claim.resume:
        return False
    if is_app(claim.spec):
        return is_app_here(claim.spec["app"]["name"], claim.sources["versions"]["app"])
    return is_dataset_here(claim.spec, str(claim.sources.get("data", "")))


def bring_inputs(claim: Claim, files: AttemptFiles) -> Resumable:
    if is_app(claim.spec):
        app_bring(claim.spec["app"]["name"], claim.sources["versions"]["app"])
    else:
        dataset_bring(claim.spec, str(claim.sources.get("data", "")))
    return files.resumable(claim.resume)
