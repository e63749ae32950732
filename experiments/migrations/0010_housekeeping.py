"""Data-set jobs become jobs of any kind, and a study that is being deleted says since when."""

from django.db import migrations, models
from django.db.models import Q

ACTIVE = ["queued", "running"]
KINDS = ["fetch", "import", "verify", "deletion", "client data", "overview", "calibration"]


class Migration(migrations.Migration):
    dependencies = [("experiments", "0009_notes_and_bookmarks")]

    operations = [
        migrations.AddField("study", "deleting", models.DateTimeField(blank=True, null=True)),
        migrations.RemoveConstraint("datasetjob", "dataset_job_state_known"),
        migrations.RemoveConstraint("datasetjob", "dataset_job_kind_known"),
        migrations.RemoveConstraint("datasetjob", "dataset_job_active_once"),
        migrations.RemoveIndex("datasetjob", "dataset_job_latest"),
        migrations.RenameModel("DatasetJob", "Job"),
        migrations.RenameField("job", "dataset", "subject"),
        migrations.AddField("job", "request", models.JSONField(default=dict)),
        migrations.AddField("job", "attempt", models.IntegerField(default=0)),
        migrations.AlterField("job", "kind", models.CharField(choices=[(kind, kind.title()) for kind in KINDS], max_length=16)),
        migrations.AddIndex("job", models.Index(fields=["subject", "-id"], name="job_latest")),
        migrations.AddIndex("job", models.Index(condition=Q(state__in=ACTIVE), fields=["id"], name="job_active")),
        migrations.AddConstraint(
            "job", models.CheckConstraint(condition=Q(state__in=[*ACTIVE, "done", "failed"]), name="job_state_known")
        ),
        migrations.AddConstraint(
            "job", models.CheckConstraint(condition=Q(kind__in=KINDS), name="job_kind_known")
        ),
        migrations.AddConstraint(
            "job",
            models.UniqueConstraint(condition=Q(state__in=ACTIVE), fields=["subject", "path"], name="job_active_once"),
        ),
    ]
