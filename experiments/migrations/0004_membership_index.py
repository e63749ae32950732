"""The primary key (study, run) and the index of turns serve every search by study: a third index only cost writes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0003_queue")]

    operations = [
        migrations.AlterField(
            "membership",
            "study",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to="experiments.study",
            ),
        ),
    ]
