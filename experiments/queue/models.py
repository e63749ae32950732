"""Workers, and what they used over time."""

from __future__ import annotations

from django.db import models


class Device(models.TextChoices):
    """What a study may require of the workers that compute it: a GPU, or nothing (any worker has a CPU)."""

    CPU = "cpu", "CPU"
    GPU = "gpu", "GPU"


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
    store_errors = models.PositiveIntegerField(default=0)
    """How often the store for files did not answer it since it started."""
    facts = models.JSONField(default=dict)
    """What it is made of; `trouble` is why it takes no runs although nobody asked it to leave."""

    def __str__(self) -> str:
        return self.name

    @property
    def device_type(self) -> str:
        """`cuda` of `cuda:1`."""
        return str(self.device).partition(":")[0]


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
