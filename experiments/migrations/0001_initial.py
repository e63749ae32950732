"""The first schema.

Not as makemigrations orders it: a composite key needs its columns when its table is made, so Study comes before
Membership and takes its runs after it. Regenerated files must keep that order (`manage.py migrate` fails otherwise).
"""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hash", models.CharField(max_length=64)),
                ("cell", models.CharField(db_index=True, max_length=64)),
                ("spec", models.JSONField()),
                ("seed", models.BigIntegerField()),
                ("shared", models.BooleanField(default=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("rounds_done", models.IntegerField(default=0)),
                ("rounds_total", models.IntegerField()),
                ("engine", models.CharField(blank=True, max_length=16)),
                ("provenance", models.JSONField(default=dict)),
                ("artifact", models.TextField(blank=True)),
                ("reason", models.TextField(blank=True)),
                ("crashes", models.IntegerField(default=0)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("lease_token", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("started", models.DateTimeField(blank=True, null=True)),
                ("finished", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True)),
                ("host", models.CharField(max_length=200)),
                ("device", models.CharField(max_length=100)),
                ("threads", models.IntegerField(default=1)),
                ("started", models.DateTimeField()),
                ("heartbeat", models.DateTimeField(db_index=True)),
                ("rounds_per_second", models.FloatField(default=0)),
                ("draining", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer: reads everything"),
                            ("member", "Member: launches, manages own studies"),
                            ("admin", "Admin: manages everything and everyone"),
                        ],
                        default="member",
                        max_length=16,
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Round",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id", "round", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("round", models.IntegerField()),
                (
                    "cohort",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), default=list, size=None
                    ),
                ),
                ("clients", models.JSONField(default=dict)),
                ("committed", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rounds",
                        to="experiments.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Metric",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id", "name", "round", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("round", models.IntegerField()),
                ("name", models.CharField(max_length=100)),
                ("value", models.FloatField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metrics",
                        to="experiments.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=50), blank=True, default=list, size=None
                    ),
                ),
                ("blocks", models.JSONField()),
                ("origin", models.CharField(default="own", max_length=64)),
                ("priority", models.IntegerField(default=0)),
                ("requires", models.CharField(choices=[("cpu", "CPU"), ("gpu", "GPU")], default="cpu", max_length=8)),
                ("paused", models.BooleanField(default=False)),
                ("cancelled", models.BooleanField(default=False)),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="studies", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "study_id", "run_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.IntegerField()),
                ("turn", models.IntegerField()),
                ("reused", models.BooleanField(default=False)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="experiments.run"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="experiments.study"
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.AddField(
            model_name="study",
            name="runs",
            field=models.ManyToManyField(
                related_name="studies", through="experiments.Membership", to="experiments.run"
            ),
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.IntegerField()),
                ("token", models.UUIDField(unique=True)),
                ("worker", models.CharField(max_length=200)),
                ("started", models.DateTimeField()),
                ("ended", models.DateTimeField(blank=True, null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("released", "released: its worker was asked to leave"),
                            ("crashed", "crashed: its process died"),
                            ("lost", "lost: its worker fell silent"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("checkpoint", models.TextField(blank=True)),
                ("checkpoint_round", models.IntegerField(blank=True, null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="experiments.run"
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="worker",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="experiments.worker",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["viewer", "member", "admin"])), name="user_role_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(fields=("run", "number"), name="attempt_number_once"),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("requires__in", ["cpu", "gpu"])), name="study_device_known"
            ),
        ),
        migrations.AddIndex(
            model_name="round",
            index=django.contrib.postgres.indexes.BrinIndex(fields=["committed"], name="round_committed"),
        ),
        migrations.AddIndex(
            model_name="membership",
            index=models.Index(fields=["study", "turn"], name="membership_turn"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("state", "queued")), fields=["id"], name="run_queued"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("state", "running")), fields=["lease_until"], name="run_lease"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["hash"], name="run_hash"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed", "cancelled"])),
                name="run_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lease_token__isnull", False), ("lease_until__isnull", False), ("state", "running")),
                    models.Q(
                        models.Q(("state", "running"), _negated=True),
                        ("lease_token__isnull", True),
                        ("lease_until__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="run_lease_exactly_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("shared", True), ("state__in", ["queued", "running", "done"])),
                fields=("hash",),
                name="run_live_hash_once",
            ),
        ),
        migrations.CreateModel(
            name="DatasetJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("dataset", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(
                        choices=[("fetch", "Fetch"), ("import", "Import"), ("verify", "Verify")], max_length=16
                    ),
                ),
                ("path", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("share", models.FloatField(default=0)),
                ("text", models.TextField(blank=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("started", models.DateTimeField(blank=True, null=True)),
                ("heartbeat", models.DateTimeField(blank=True, null=True)),
                ("finished", models.DateTimeField(blank=True, null=True)),
                (
                    "person",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["dataset", "-id"], name="dataset_job_latest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "failed"])),
                        name="dataset_job_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["fetch", "import", "verify"])), name="dataset_job_kind_known"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=("dataset", "path"),
                        name="dataset_job_active_once",
                    ),
                ],
            },
        ),
    ]
