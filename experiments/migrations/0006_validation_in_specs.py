from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

# FedLoss, the only strategy then that needed validation, kept a tenth of each client's data without saying so where its
# spec said none: the stored specs now say what was and will be trained on. Hashes stay as they are.
STRATEGY, NEEDED_VALIDATION = "fedloss", 0.1


def write_down_validation(apps: Any, schema_editor: Any) -> None:
    runs = apps.get_model("experiments", "Run").objects
    for run in runs.filter(spec__strategy__name=STRATEGY, spec__evaluation__validation=0).iterator():
        evaluation = run.spec["evaluation"]
        evaluation["validation"] = min(NEEDED_VALIDATION, (1 - evaluation["held_out"]) / 2)
        run.save(update_fields=["spec"])


class Migration(migrations.Migration):
    dependencies: ClassVar = [("experiments", "0005_metric_covering")]
    operations: ClassVar = [migrations.RunPython(write_down_validation, migrations.RunPython.noop)]
