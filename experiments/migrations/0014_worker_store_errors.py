"""How often the store did not answer a worker."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0013_clients_dropped")]

    operations = [
        migrations.AddField("worker", "store_errors", models.PositiveIntegerField(default=0)),
    ]
