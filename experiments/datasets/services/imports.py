"""The work of data-set jobs, in a process that parses and writes into the cache, without the platform's secrets."""

from __future__ import annotations

from experiments.datasets.services.jobs import readable_folders
from experiments.housekeeping.services.attempts import JobAttempt
from workers.errors import DatasetError


def dataset_work(attempt: JobAttempt) -> str:
    """What is told when it is done."""
    job = attempt.job
    request = {
        "dataset": job.subject,
        "kind": job.kind,
        "path": job.path,
        "within": [str(folder) for folder in readable_folders()],
        "replace": bool(job.request.get("replace")),
    }
    answer = attempt.ask_module("workers.datasets", request)
    if reason := answer.get("error"):
        raise DatasetError(reason)
    return str(answer["text"])
