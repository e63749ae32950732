"""Studies, the runs they hold, and the keys of launches."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from experiments.queue.models import Device
from experiments.results.models import Run


class ListedStudies(models.Manager["Study"]):
    def get_queryset(self) -> models.QuerySet[Study]:
        return super().get_queryset().filter(deleting=None)


class Study(models.Model):
    """What a person launches: a list of blocks and the runs they expand to.

    `source` is the YAML as it was written (jsonb forgets the order of keys); `parent` is what it varies. One that is
    being deleted, since `deleting`, is in no list and takes no changes: `every` has it too.
    """

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    blocks = models.JSONField()
    source = models.TextField(blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="variations")
    origin = models.CharField(max_length=64, default="own")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="studies")
    priority = models.IntegerField(default=0)
    requires = models.CharField(max_length=8, choices=Device.choices, default=Device.CPU)
    paused = models.BooleanField(default=False)
    cancelled = models.BooleanField(default=False)
    archived = models.DateTimeField(null=True, blank=True)
    deleting = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    runs: models.ManyToManyField[Run, Membership] = models.ManyToManyField(
        Run, through="Membership", related_name="studies"
    )
    objects = ListedStudies()
    every: models.Manager[Study] = models.Manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(condition=models.Q(requires__in=Device.values), name="study_device_known")
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A run belongs to every study that asked for it: `position` is its place in the grid, `turn` in the queue.

    `waiting` says that the run is queued. Triggers of the database keep it true to the run's state, so that a claim
    finds the studies that wait, and the first run of each, without reading the others.
    """

    pk = models.CompositePrimaryKey("study_id", "run_id")
    study = models.ForeignKey(Study, models.CASCADE, related_name="memberships", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="memberships")
    position = models.IntegerField()
    turn = models.IntegerField()
    reused = models.BooleanField(default=False)
    waiting = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["position"]
        indexes = [
            models.Index(fields=["study", "turn"], name="membership_turn"),
            models.Index(fields=["study", "turn"], condition=models.Q(waiting=True), name="membership_waiting"),
        ]


class LaunchKey(models.Model):
    """A launch that was sent with a key of its sender's: sent again, it answers with the same study."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    study = models.ForeignKey(Study, models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="launch_key_once")]
