from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

# What computed a run is in its provenance once it is done; before that its last worker knows, if it is still there.
DEVICE_TYPES = """
UPDATE experiments_run SET device_type = split_part(COALESCE(provenance->>'device', 'cpu'), ':', 1)
WHERE state = 'done';
UPDATE experiments_run AS run SET device_type = COALESCE((
    SELECT split_part(worker.device, ':', 1)
    FROM experiments_attempt AS attempt JOIN experiments_worker AS worker ON worker.name = attempt.worker
    WHERE attempt.run_id = run.id ORDER BY attempt.number DESC LIMIT 1
), 'cpu')
WHERE run.state <> 'done' AND run.engine <> '';
"""
# Runs that only studies for GPUs hold; what a CPU computed for one of them all the same stays what it is.
REQUIREMENTS = """
UPDATE experiments_run AS run SET requires = 'gpu'
WHERE run.device_type <> 'cpu' AND (
    SELECT bool_and(study.requires = 'gpu')
    FROM experiments_membership AS membership JOIN experiments_study AS study ON study.id = membership.study_id
    WHERE membership.run_id = run.id
);
"""
# Of rows that were changed twice the foreign keys are checked at the end, and until then no index can be made.
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE"


class Migration(migrations.Migration):
    dependencies: ClassVar = [("experiments", "0006_validation_in_specs")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="run",
            name="requires",
            field=models.CharField(choices=[("cpu", "CPU"), ("gpu", "GPU")], default="cpu", max_length=8),
        ),
        migrations.AddField(
            model_name="run",
            name="device_type",
            field=models.CharField(blank=True, default="", max_length=16),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="attempt",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                    ("released", "released: its worker was asked to leave"),
                    ("crashed", "crashed: its process died"),
                    ("lost", "lost: its worker fell silent"),
                    ("accelerator", "accelerator: its GPU failed"),
                ],
                max_length=16,
            ),
        ),
        migrations.RunSQL([DEVICE_TYPES, REQUIREMENTS, CHECK_NOW], migrations.RunSQL.noop),
        migrations.RemoveConstraint(model_name="run", name="run_live_hash_once"),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("shared", True), ("state__in", ["queued", "running", "done"])),
                fields=("hash", "requires"),
                name="run_live_hash_once",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("device_type__gt", ""), ("state", "queued")),
                fields=["device_type"],
                name="run_queued_device",
            ),
        ),
    ]
