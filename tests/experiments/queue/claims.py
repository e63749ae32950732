"""Launching and claiming in one line, for tests of the queue."""

from __future__ import annotations

from typing import Any

from experiments.models import Study, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim
from experiments.studies.services.launch import study_launch

Block = dict[str, Any]


def launch(owner: User, block: Block, **more: Any) -> Study:
    return study_launch(owner=owner, name="A study", blocks=[block], **more)


def claimed(worker: Worker) -> Claim:
    claim = run_claim(worker=worker)
    assert claim is not None
    return claim
