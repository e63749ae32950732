"""Jobs that bring data sets to the lab."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class JobKind(models.TextChoices):
    FETCH = "fetch"
    IMPORT = "import"
    VERIFY = "verify"


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


ACTIVE_STATES = (JobState.QUEUED, JobState.RUNNING)


class DatasetJob(models.Model):
    """Fetching, importing or verifying a data set, outside the web server; `share` and `text` say how far it is."""

    dataset = models.CharField(max_length=100)
    kind = models.CharField(max_length=16, choices=JobKind.choices)
    path = models.TextField(blank=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=16, choices=JobState.choices, default=JobState.QUEUED)
    share = models.FloatField(default=0)
    text = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="dataset_job_state_known"),
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="dataset_job_kind_known"),
            models.UniqueConstraint(
                fields=["dataset", "path"], condition=Q(state__in=ACTIVE_STATES), name="dataset_job_active_once"
            ),
        ]
        indexes = [models.Index(fields=["dataset", "-id"], name="dataset_job_latest")]

    def __str__(self) -> str:
        return f"{self.kind} {self.dataset}"

    @property
    def active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def percent(self) -> int:
        return int(self.share * 100)
