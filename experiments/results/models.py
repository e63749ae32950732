"""Runs, their attempts, and the numbers of every round."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q

from experiments.queue.models import Device, Worker

LAUNCHED_WITH = "launched_with"


class RunState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(models.TextChoices):
    """How an attempt ended. `crashed`, `lost` and `accelerator` count towards the limit of automatic attempts."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RELEASED = "released", "released: its worker was asked to leave"
    CRASHED = "crashed", "crashed: its process died"
    LOST = "lost", "lost: its worker fell silent"
    ACCELERATOR = "accelerator", "accelerator: its GPU failed"


class Run(models.Model):
    """One resolved spec with one seed. `hash` is its identity; a done run is never changed.

    A `shared` run is the only live one with its hash for what it `requires`: every study that asks for the same holds
    it. A launch without reuse makes runs of its own that are not shared. `device_type` (cpu, cuda, mps) is that of the
    worker which started it, kept for every later attempt; empty before the first one. `findings` is what it found
    beyond its curves: the confusion matrix of its last evaluation (a row for each true class), and whatever its
    strategy has to tell. `clients_dropped`: of single clients only the last numbers are left.
    """

    hash = models.CharField(max_length=64)
    cell = models.CharField(max_length=64, db_index=True)
    spec = models.JSONField()
    seed = models.BigIntegerField()
    shared = models.BooleanField(default=True)
    state = models.CharField(max_length=16, choices=RunState.choices, default=RunState.QUEUED)
    rounds_done = models.IntegerField(default=0)
    rounds_total = models.IntegerField()
    engine = models.CharField(max_length=16, blank=True)
    requires = models.CharField(max_length=8, choices=Device.choices, default=Device.CPU)
    device_type = models.CharField(max_length=16, blank=True)
    provenance = models.JSONField(default=dict)
    findings = models.JSONField(default=dict)
    artifact = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    crashes = models.IntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    worker = models.ForeignKey(Worker, models.SET_NULL, null=True, blank=True, related_name="runs")
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    clients_dropped = models.BooleanField(default=False, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(state=RunState.RUNNING, lease_token__isnull=False, lease_until__isnull=False)
                | (~Q(state=RunState.RUNNING) & Q(lease_token__isnull=True, lease_until__isnull=True)),
                name="run_lease_exactly_while_running",
            ),
            models.UniqueConstraint(
                fields=["hash", "requires"],
                condition=Q(shared=True, state__in=["queued", "running", "done"]),
                name="run_live_hash_once",
            ),
        ]
        indexes = [
            # Nothing that a round or a heartbeat writes is in an index, so that PostgreSQL rewrites the row in place.
            models.Index(fields=["state", "id"], name="run_state"),
            models.Index(fields=["hash"], name="run_hash"),
            models.Index(fields=["finished"], name="run_finished"),
            models.Index(
                fields=["device_type"], condition=Q(state="queued", device_type__gt=""), name="run_queued_device"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def launch_sources(self) -> dict[str, Any]:
        """The data's checksum, the components' stamps and the engine's version at its launch, where written down."""
        sources: dict[str, Any] = self.provenance.get(LAUNCHED_WITH, {})
        return sources


class Attempt(models.Model):
    """One try at a run: who, when, and how it ended."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts")
    number = models.IntegerField()
    token = models.UUIDField(unique=True)
    worker = models.CharField(max_length=200)
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True)
    reason = models.TextField(blank=True)
    checkpoint = models.TextField(blank=True)
    checkpoint_round = models.IntegerField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="attempt_number_once")]


BLOCK_ROUNDS = 64
"""Rounds of a block; `block` is `round / 64`. Another number would need all blocks written anew."""


class CurveBlock(models.Model):
    """Some rounds of one metric of one run, written in place as they are told: `numbers[round]` to PostgreSQL.

    The array begins with the first round that has a value and ends with the last; null where one between has none. NaN
    and infinity are stored as such. Only `results.services.curves` writes here.
    """

    pk = models.CompositePrimaryKey("run_id", "name", "block")
    run = models.ForeignKey(Run, models.CASCADE, related_name="curve_blocks", db_index=False)
    name = models.CharField(max_length=100)
    block = models.IntegerField()
    numbers = ArrayField(models.FloatField(null=True))


class MetricRow(models.Model):
    """A value as it was stored before there were blocks; housekeeping moves them, and then there are none."""

    pk = models.CompositePrimaryKey("run_id", "name", "round")
    run = models.ForeignKey(Run, models.CASCADE, related_name="metric_rows", db_index=False)
    round = models.IntegerField()
    name = models.CharField(max_length=100)
    value = models.FloatField()


class Curve(models.Model):
    """What is stored of curves, wherever it is: a view of all blocks and, where there are any, old rows.

    A round's value is in exactly one array, but old rows of one block are arrays of their own.
    """

    pk = models.CompositePrimaryKey("run_id", "name", "block")
    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="curves", db_constraint=False, db_index=False)
    name = models.CharField(max_length=100)
    block = models.IntegerField()
    numbers = ArrayField(models.FloatField(null=True))

    class Meta:
        managed = False
        db_table = "experiments_curve"


class Metric(models.Model):
    """One number of one round of one run: a view of the curves. Whoever reads many reads `Curve`."""

    pk = models.CompositePrimaryKey("run_id", "name", "round")
    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="metrics", db_constraint=False, db_index=False)
    round = models.IntegerField()
    name = models.CharField(max_length=100)
    value = models.FloatField()

    class Meta:
        managed = False
        db_table = "experiments_metric"


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
