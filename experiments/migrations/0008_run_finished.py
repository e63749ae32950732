"""What ended this week is found without reading every run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0007_device_type")]

    operations = [
        migrations.AddIndex(model_name="run", index=models.Index(fields=["finished"], name="run_finished")),
    ]
