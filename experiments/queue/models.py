"""Workers, and what they used over time."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """One slot that runs one run at a time: a Celery process with its CPU threads or its GPU."""

    name = models.CharField(max_length=200, unique=True)
    host = models.CharField(max_length=200)
    device = models.CharField(max_length=100)
    threads = models.IntegerField(default=1)
    started = models.DateTimeField()
    heartbeat = models.DateTimeField(db_index=True)
    rounds_per_second = models.FloatField(default=0)
    draining = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name


class WorkerSample(models.Model):
    """What a slot used at one moment: `cpu` is the share of its threads, `gpu` of its device."""

    worker = models.ForeignKey(Worker, models.CASCADE, related_name="samples", db_index=False)
    at = models.DateTimeField()
    rounds_per_second = models.FloatField()
    cpu = models.FloatField()
    memory = models.BigIntegerField()
    gpu = models.FloatField(null=True, blank=True)
    gpu_memory = models.BigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["worker", "at"], name="worker_sample_at")]
