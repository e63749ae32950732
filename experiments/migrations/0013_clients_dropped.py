"""Whether a run has lost the numbers of its single clients, but for the last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0012_curve_blocks")]

    operations = [
        migrations.AddField("run", "clients_dropped", models.BooleanField(default=False, editable=False)),
    ]
