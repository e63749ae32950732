"""The work of data-set jobs, in a process that parses and writes into the cache, without the platform's secrets."""

from __future__ import annotations

import time

from experiments.datasets.services.jobs import readable_folders
from experiments.housekeeping.services.attempts import JobAttempt
from experiments.housekeeping.services.jobs import job_keep_result
from workers.background import in_background
from workers.errors import DatasetError
from workers.store.datasets import datasets_publish
from workers.store.store import remote_store

LOOK_SECONDS = 0.2


def dataset_work(attempt: JobAttempt) -> str:
    """What is told when it is done."""
    job = attempt.job
    request = {
        "dataset": job.subject,
        "kind": job.kind,
        "path": job.path,
        "within": [str(folder) for folder in readable_folders()],
        "replace": bool(job.request.get("replace")),
        "options": job.request.get("options", {}),
        "dry_run": bool(job.request.get("dry_run")),
    }
    answer = attempt.ask_module("workers.datasets", request)
    if reason := answer.get("error"):
        raise DatasetError(reason)
    publish_datasets(attempt)
    if preview := answer.get("preview"):
        job_keep_result(job=job, preview=preview)
    return str(answer["text"])


def publish_datasets(attempt: JobAttempt) -> None:
    """Workers on other machines bring them from the store. The process that parsed has no keys to it."""
    if remote_store() is None:
        return
    publication = in_background(datasets_publish)
    while not publication.done():
        attempt.report(1.0, "into the store")
        time.sleep(LOOK_SECONDS)
    publication.result()
