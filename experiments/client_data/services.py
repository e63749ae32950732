"""What is not in the store is computed in the background: who asks is told to ask again, or waits where that is his."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from experiments.client_data.selectors import ClientDataError, client_distribution, dataset_overview
from experiments.core.errors import PendingError
from experiments.housekeeping.services.attempts import JobAttempt
from experiments.housekeeping.services.jobs import is_crowded, job_add
from experiments.models import Job, JobKind, JobState
from workers.catalog.component import Dataset
from workers.client_data.assignment import federation_fields
from workers.client_data.distribution import ClientDistribution
from workers.client_data.overviews import DatasetOverview, overview_key
from workers.client_data.store import distribution_key
from workers.spec import RunSpec

PATIENCE_SECONDS = 120
POLL_SECONDS = 0.5
FAILURE_KEPT = timedelta(minutes=10)
"""For so long the reason is told again; then it is tried once more."""
PENDING = "It is being computed: look again in some seconds."
CROWDED = "Many others are being computed already: look again in a minute."


def distribution_or_request(spec: RunSpec) -> ClientDistribution:
    """A `PendingError` where it is being computed, and the reason where that failed."""
    if distribution := client_distribution(spec):
        return distribution
    request_job(JobKind.CLIENT_DATA, distribution_key(spec), {"spec": federation_fields(spec)})
    raise PendingError(PENDING)


def distribution_or_wait(spec: RunSpec) -> ClientDistribution:
    """For exports, which take as long as they take."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return distribution_or_request(spec)
        except PendingError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL_SECONDS)


def overview_or_request(dataset: Dataset, params: Any) -> DatasetOverview | None:
    """None where the data set is not here."""
    if dataset.available(params):
        return None
    if overview := dataset_overview(dataset, params):
        return overview
    request_job(JobKind.OVERVIEW, overview_key(dataset, params), {"dataset": params.model_dump(mode="json")})
    raise PendingError(PENDING)


def request_job(kind: JobKind, key: str, request: dict[str, Any]) -> None:
    """Once, however many ask."""
    failed = Job.objects.filter(kind=kind, subject=key, state=JobState.FAILED, finished__gt=Now() - FAILURE_KEPT)
    if failure := failed.order_by("-id").first():
        raise ClientDataError(failure.text)
    if is_crowded(kind):
        raise ClientDataError(CROWDED)
    job_add(kind=kind, subject=key, request=request)


def client_data_work(attempt: JobAttempt) -> str:
    """Of one federation, or one data set: the result is in the store."""
    answer = attempt.ask_module("workers.client_data", attempt.job.request, timeout=PATIENCE_SECONDS)
    if reason := answer.get("error"):
        raise ClientDataError(reason)
    return ""
