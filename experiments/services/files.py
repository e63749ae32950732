"""What a run leaves on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress

from django.db import Error

from experiments.models import Run, RunState
from experiments.services.leases import Claim
from workers.home import artifact_folder, checkpoint_folder, run_folder


def remove_run_folders(runs: Iterable[int]) -> None:
    """Best effort: on a machine that did not compute the run there is nothing to remove."""
    for run in runs:
        shutil.rmtree(run_folder(run), ignore_errors=True)


def remove_stale_files(claim: Claim) -> None:
    """What an attempt wrote after it lost its run, once its process is dead. Best effort; whatever counts stays."""
    with suppress(Error):
        run = Run.objects.filter(pk=claim.run).first()
        if run is None:
            remove_run_folders([claim.run])
            return
        if claim.token.hex not in run.artifact:
            shutil.rmtree(artifact_folder(run.pk, claim.token), ignore_errors=True)
        if run.state == RunState.DONE:
            shutil.rmtree(checkpoint_folder(run.pk), ignore_errors=True)
