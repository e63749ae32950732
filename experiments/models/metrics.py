from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from experiments.models.runs import Run


class Metric(models.Model):
    """One number of one round of one run; NaN and infinity are stored as such."""

    pk = models.CompositePrimaryKey("run_id", "name", "round")
    run = models.ForeignKey(Run, models.CASCADE, related_name="metrics", db_index=False)
    round = models.IntegerField()
    name = models.CharField(max_length=100)
    value = models.FloatField()


class Round(models.Model):
    """A committed round: who took part, and the per-client numbers."""

    pk = models.CompositePrimaryKey("run_id", "round")
    run = models.ForeignKey(Run, models.CASCADE, related_name="rounds", db_index=False)
    round = models.IntegerField()
    cohort = ArrayField(models.IntegerField(), default=list)
    clients = models.JSONField(default=dict)
    committed = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [BrinIndex(fields=["committed"], name="round_committed")]
