"""Curves as arrays of 64 rounds. Old rows stay where they are, and are read, until housekeeping has moved them."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

# A block is written 64 times at most and then never again: dead versions are cleared away by whoever writes the page
# next, and VACUUM comes early enough that none of them are left. Arrays of 64 are never compressed nor moved elsewhere.
STORAGE = """
ALTER TABLE experiments_curveblock
    ALTER numbers SET STORAGE PLAIN,
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
        autovacuum_analyze_scale_factor = 0.05),
    ADD CONSTRAINT curve_block_of_its_rounds CHECK (
        coalesce(
            array_ndims(numbers) = 1 AND array_lower(numbers, 1) >= block * 64
                AND array_upper(numbers, 1) < (block + 1) * 64,
            false
        ) AND block >= 0
    ),
    ADD CONSTRAINT curve_block_without_null_ends CHECK (
        numbers[array_lower(numbers, 1)] IS NOT NULL AND numbers[array_upper(numbers, 1)] IS NOT NULL
    )
"""
BLOCKS = "SELECT run_id, name, block, numbers FROM experiments_curveblock"
ROWS = "SELECT run_id, name, round / 64, array_fill(value, ARRAY[1], ARRAY[round]) FROM experiments_metricrow"
CURVES = "CREATE OR REPLACE VIEW experiments_curve AS {}"
VALUES = """
CREATE VIEW experiments_metric AS
SELECT curve.run_id, (array_lower(curve.numbers, 1) + each.place - 1)::int AS round, curve.name, each.value
FROM experiments_curve AS curve
CROSS JOIN LATERAL unnest(curve.numbers) WITH ORDINALITY AS each(value, place)
WHERE each.value IS NOT NULL
"""
BACK = """
INSERT INTO experiments_metricrow (run_id, round, name, value)
SELECT run_id, round, name, value FROM experiments_metric ON CONFLICT DO NOTHING;
DROP VIEW experiments_metric, experiments_curve;
"""


def create_views(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM experiments_metricrow)")
        old_rows = cursor.fetchone()[0]
        cursor.execute(CURVES.format(f"{BLOCKS} UNION ALL {ROWS}" if old_rows else BLOCKS))
        cursor.execute(VALUES)


def forget_views(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(BACK)


def key(*names):
    return models.CompositePrimaryKey(*names, blank=True, editable=False, primary_key=True, serialize=False)


def run(action, name, **options):
    return models.ForeignKey(
        db_index=False, on_delete=action, related_name=name, to="experiments.run", **options
    )


def numbers():
    return django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(null=True), size=None)


KINDS = ["fetch", "import", "verify", "deletion", "client data", "overview", "calibration", "curves"]
CASCADE, DO_NOTHING = django.db.models.deletion.CASCADE, django.db.models.deletion.DO_NOTHING


class Migration(migrations.Migration):
    dependencies = [("experiments", "0011_provider_accounts")]

    operations = [
        migrations.RenameModel("Metric", "MetricRow"),
        migrations.AlterField("metricrow", "run", run(CASCADE, "metric_rows")),
        migrations.CreateModel(
            "CurveBlock",
            [
                ("pk", key("run_id", "name", "block")),
                ("name", models.CharField(max_length=100)),
                ("block", models.IntegerField()),
                ("numbers", numbers()),
                ("run", run(CASCADE, "curve_blocks")),
            ],
        ),
        migrations.CreateModel(
            "Curve",
            [
                ("pk", key("run_id", "name", "block")),
                ("name", models.CharField(max_length=100)),
                ("block", models.IntegerField()),
                ("numbers", numbers()),
                ("run", run(DO_NOTHING, "curves", db_constraint=False)),
            ],
            options={"managed": False, "db_table": "experiments_curve"},
        ),
        migrations.CreateModel(
            "Metric",
            [
                ("pk", key("run_id", "name", "round")),
                ("round", models.IntegerField()),
                ("name", models.CharField(max_length=100)),
                ("value", models.FloatField()),
                ("run", run(DO_NOTHING, "metrics", db_constraint=False)),
            ],
            options={"managed": False, "db_table": "experiments_metric"},
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunPython(create_views, forget_views),
        migrations.RemoveConstraint("job", "job_kind_known"),
        migrations.AlterField(
            "job", "kind", models.CharField(choices=[(kind, kind.title()) for kind in KINDS], max_length=16)
        ),
        migrations.AddConstraint(
            "job", models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="job_kind_known")
        ),
    ]
