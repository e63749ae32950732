"""Jobs of the Celery queue `housekeeping`. The rows are the queue; a message only says that there is one."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class JobKind(models.TextChoices):
    FETCH = "fetch"
    IMPORT = "import"
    VERIFY = "verify"
    DELETION = "deletion"
    CLIENT_DATA = "client data"
    OVERVIEW = "overview"
    CALIBRATION = "calibration"
    CURVES = "curves"


DATASET_KINDS = (JobKind.FETCH, JobKind.IMPORT, JobKind.VERIFY)
PASSING_KINDS = (JobKind.DELETION, JobKind.CLIENT_DATA, JobKind.OVERVIEW, JobKind.CALIBRATION, JobKind.CURVES)
"""Nobody looks at these any more once they have ended."""


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


ACTIVE_STATES = (JobState.QUEUED, JobState.RUNNING)


class Job(models.Model):
    """`share` and `text` say how far it is; `attempt` tells one try from the next, and fences what it writes.

    `subject` is what it is about (a data set's name, `study 7`, a digest of what is computed) and `path` where an
    import reads: of one subject and path one job is at work. `request` is what its work needs besides.
    """

    kind = models.CharField(max_length=16, choices=JobKind.choices)
    subject = models.CharField(max_length=100)
    path = models.TextField(blank=True)
    request = models.JSONField(default=dict)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=16, choices=JobState.choices, default=JobState.QUEUED)
    attempt = models.IntegerField(default=0)
    share = models.FloatField(default=0)
    text = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known"),
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="job_kind_known"),
            models.UniqueConstraint(
                fields=["subject", "path"], condition=Q(state__in=ACTIVE_STATES), name="job_active_once"
            ),
        ]
        indexes = [
            models.Index(fields=["subject", "-id"], name="job_latest"),
            models.Index(fields=["id"], condition=Q(state__in=ACTIVE_STATES), name="job_active"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"

    @property
    def active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def percent(self) -> int:
        return int(self.share * 100)
